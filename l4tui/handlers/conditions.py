"""Conditions by kind: `:only stage train`, `:hide level debug`; chips that are taken away one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from l4tui.engine.model import Level
from l4tui.engine.stages import NAMES
from l4tui.engine.view import Filter
from l4tui.handlers import answers, handles
from l4tui.handlers.narrowing import show_ranks
from l4tui.widgets.sheet import ListSheet

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen

KINDS = "stage train   iteration 100-200   level warning   site FILE   rank 0-7   node NAME"
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
    if kind in ("rank", "ranks", "node"):
        item = f"node:{value}" if kind == "node" else value
        away = ",".join(f"!{one}" for one in re.split(r"[,\s]+", item))
        known = f"{screen.scope.ranks}," if screen.scope.ranks else ""
        show_ranks(screen, item if keep else known + away)
        return
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
        return [Filter("level", str(int(Level[value.upper()])), keep, f"{value.lower()} and above")]
    if kind == "site" and value:
        sites = screen.snapshot.sites
        if found := [Filter("site", str(i), keep, site) for i, site in enumerate(sites) if value in site]:
            return found[:20]
        raise ValueError(f"no call site has {value!r} in it")
    raise ValueError(f"{kind or 'what'}? {KINDS}")


@handles("filters")
def list_filters(screen: JobScreen, _: str) -> None:
    """List what narrows the view; Enter takes one away."""
    scope = screen.scope
    words = [f"ranks {scope.ranks}"] if scope.ranks else []
    words += [f.words for f in scope.filters]
    if not words:
        screen.say("nothing is hidden")
        return

    def remove(index: int | None) -> None:
        if index is None:
            return
        at = index - bool(scope.ranks)
        if at < 0:
            screen.set_scope(replace(scope, ranks=""))
        else:
            screen.set_scope(replace(scope, filters=scope.filters[:at] + scope.filters[at + 1 :]))

    screen.app.push_screen(ListSheet("Filters", [Text(one) for one in words], "Enter removes   Esc closes"), remove)
