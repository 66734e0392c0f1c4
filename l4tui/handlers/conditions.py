"""Conditions by kind: `:only stage train`, `:hide level debug`; chips that are taken away one by one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from l4tui.engine.model import Level
from l4tui.engine.rankset import RankSet, rank_items
from l4tui.engine.stages import NAMES
from l4tui.engine.view import Filter
from l4tui.handlers import answers, handles, typing
from l4tui.handlers.narrowing import LABEL_MAX
from l4tui.widgets.cells import clean
from l4tui.widgets.sheet import ListSheet

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot
    from l4tui.screens.job import JobScreen

KINDS = "stage train   iteration 100-200   level warning   site FILE   event WORDS   rank 0-7   node NAME"
MOST = 20  # call sites or events that one condition names
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


@handles("only", "hide")
def narrow(screen: JobScreen, text: str) -> None:
    """Ask for a condition, or use the one that is given."""
    kind = screen.acting
    if text:
        _use(screen, text, keep=kind == "only")
    else:
        screen.prompt.ask(kind, f"{kind} ", KINDS)


@answers("only")
def only(screen: JobScreen, text: str) -> None:
    """Show only what meets a condition."""
    _use(screen, text, keep=True)


@answers("hide")
def hide(screen: JobScreen, text: str) -> None:
    """Hide what meets a condition."""
    _use(screen, text, keep=False)


def _use(screen: JobScreen, text: str, *, keep: bool) -> None:
    kind, _, value = text.strip().partition(" ")
    value = value.strip()
    try:
        found = conditions(screen, kind, value, keep)
    except ValueError as error:
        screen.say(str(error), "error")
        return
    scope = screen.scope
    for condition in found:
        scope = scope.adding(condition)
    screen.set_scope(scope)


def conditions(screen: JobScreen, kind: str, value: str, keep: bool) -> list[Filter]:
    """Read a condition; raise ValueError with words where it is none."""
    if kind == "stage":
        name = value.replace(" ", "_").lower()
        if name not in NAMES:
            raise ValueError(f"no stage {value!r}: {', '.join(NAMES)}")
        return [Filter("stage", str(NAMES.index(name)), keep, value)]
    if kind == "iteration":
        if not (span := _SPAN.fullmatch(value.lstrip("i"))):
            raise ValueError(f"{value!r} is no iteration or range: 100 or 100-200")
        return [Filter("iteration", span[0], keep, span[0])]
    if kind == "level":
        if value.upper() not in Level.__members__:
            raise ValueError(f"no level {value!r}: {', '.join(level.name.lower() for level in Level)}")
        return [Filter("level", str(int(Level[value.upper()])), keep, f"{value.lower()}+")]
    if kind in ("site", "event") and value:
        return _named(screen.snapshot, kind, value, keep)
    if kind in ("rank", "ranks", "node") and value:
        return [_of_ranks(screen.snapshot, kind, value, keep)]
    raise ValueError(f"{kind or 'what'}? {KINDS}")


def _named(snapshot: Snapshot, kind: str, words: str, keep: bool) -> list[Filter]:
    """Find call sites or events by a part of their text, upper and lower case alike."""
    names = snapshot.sites if kind == "site" else snapshot.templates
    found = [(i, clean(name)) for i, name in enumerate(names) if words.lower() in name.lower()]
    if not found:
        raise ValueError(f"no {'call site' if kind == 'site' else 'event'} has {words!r} in it")
    if len(found) > MOST:
        raise ValueError(f"{len(found):,} have {words!r} in them: say more of it")
    return [Filter(kind, str(i), keep, name[:LABEL_MAX] if kind == "event" else name) for i, name in found]


def _of_ranks(snapshot: Snapshot, kind: str, value: str, keep: bool) -> Filter:
    """Read a set of ranks, or names of nodes."""
    is_node = kind == "node"
    text = ",".join(f"node:{item}" for item in rank_items(value)) if is_node else value
    if not RankSet.parse(text).select(snapshot.ranks, snapshot.nodes).any():
        raise ValueError(f"no line is of {kind} {value}")
    return Filter("node" if is_node else "rank", text, keep, value)


@handles("filters")
def list_filters(screen: JobScreen, _: str) -> None:
    """List what narrows the view; Enter takes one away."""
    words = screen.scope.conditions
    if not words:
        screen.say("nothing is hidden")
        return

    def remove(index: int | None) -> None:
        if index is not None:
            screen.set_scope(screen.scope.without(index))

    screen.app.push_screen(ListSheet("Filters", [Text(one) for one in words], "Enter removes   Esc closes"), remove)


@handles("drop_filter")
def drop_filter(screen: JobScreen, _: str) -> None:
    """Remove the condition that was added last."""
    if many := len(screen.scope.conditions):
        screen.set_scope(screen.scope.without(many - 1))


@handles("drop_one")
def drop_one(screen: JobScreen, text: str) -> None:
    """Remove a condition by the number on its chip; where there is one only, at once."""
    many = len(screen.scope.conditions)
    if not many:
        screen.say("nothing is hidden")
    elif text or many == 1:
        drop_numbered(screen, text or "1")
    else:
        screen.prompt.ask("drop_one", "remove ", f"1-{many}: the number on its chip, without Enter")


@typing("drop_one")
def number_typed(screen: JobScreen, text: str) -> None:
    """Remove it as soon as no other number begins like this."""
    many = len(screen.scope.conditions)
    is_one = text.isdecimal() and 1 <= int(text) <= many
    screen.prompt.say("" if is_one or not text else f"no chip: 1-{many}", wrong=bool(text) and not is_one)
    if is_one and int(text) * 10 > many:
        screen.prompt.close()
        screen.view.focus()
        drop_numbered(screen, text)


@answers("drop_one")
def drop_numbered(screen: JobScreen, text: str) -> None:
    """Remove the condition of a number."""
    many = len(screen.scope.conditions)
    if text.isdecimal() and 1 <= int(text) <= many:
        screen.set_scope(screen.scope.without(int(text) - 1))
    else:
        screen.say(f"{text!r} is no chip: 1-{many}" if text else "nothing is removed", "error" if text else "busy")
