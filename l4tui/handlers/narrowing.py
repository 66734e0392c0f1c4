"""Showing less: filters, ranks, lenses, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from l4tui.engine.rankset import RankSet
from l4tui.engine.view import Filter, Scope, validate
from l4tui.handlers import answers, differing, handles, typing
from l4tui.widgets.cells import clean

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen

LABEL_MAX = 32  # characters of an event on a chip


@handles("filter")
def ask_filter(screen: JobScreen, text: str) -> None:
    """Ask for a pattern, or filter by the one that is given."""
    if text:
        add_filter(screen, text)
    else:
        screen.prompt.ask("filter", "&", "show only what matches; !regex hides; empty clears all")


@typing("filter")
def filter_typed(screen: JobScreen, text: str) -> None:
    """Say while it is typed whether the pattern is one."""
    try:
        validate(text.removeprefix("!"))
    except ValueError as error:
        screen.prompt.say(str(error), wrong=True)
    else:
        screen.prompt.say("hides what matches" if text.startswith("!") else "shows only what matches")


@answers("filter")
def add_filter(screen: JobScreen, text: str) -> None:
    """Filter in, filter out with `!` in front, or clear with nothing."""
    if not text:
        screen.set_scope(replace(screen.scope, filters=()))
        return
    keep = not text.startswith("!")
    pattern = text if keep else text[1:]
    try:
        validate(pattern)
    except ValueError as error:
        screen.say(f"&{text}: {error}", "error")
        return
    if pattern:
        screen.set_scope(screen.scope.adding(Filter("text", pattern, keep)))


@handles("toggle_filters")
def toggle_filters(screen: JobScreen, _: str) -> None:
    """Set all filters aside, or use them again."""
    if not screen.scope.filters:
        screen.say("there is no filter: & adds one")
        return
    screen.set_scope(replace(screen.scope, filtering=not screen.scope.filtering), keep=False)


@handles("hide_event", "only_event")
def by_event(screen: JobScreen, _: str) -> None:
    """Hide or show only the call site of this line, or its event where it has none."""
    entry = screen.cursor_entry
    if entry is None:
        return
    snapshot = screen.snapshot
    plan = int(snapshot.plan[entry])
    site, event = int(snapshot.plans.site[plan]), int(snapshot.plans.event[plan])
    keep = screen.acting == "only_event"
    if site >= 0:
        added = Filter("site", str(site), keep, clean(snapshot.sites[site]))
    else:
        template = snapshot.templates[event] if 0 <= event < len(snapshot.templates) else str(event)
        added = Filter("event", str(event), keep, clean(template)[:LABEL_MAX])
    screen.set_scope(screen.scope.adding(added))


@handles("next_rank", "previous_rank")
def other_rank(screen: JobScreen, _: str) -> None:
    """Show the next or previous rank alone; first that of the cursor's line."""
    known = screen.known_ranks
    if not known:
        screen.say("no rank is known in this log")
        return
    current = RankSet.parse(screen.scope.ranks).single if screen.scope.ranks else None
    step = 1 if screen.acting == "next_rank" else -1
    if current in known:
        chosen = known[(known.index(current) + step) % len(known)]
    else:
        here = screen.cursor_rank
        chosen = here if here in known else known[0 if step > 0 else -1]
    screen.set_scope(_of_ranks(screen.scope, str(chosen)), keep=current is None)


def _of_ranks(scope: Scope, ranks: str) -> Scope:
    """Narrow to ranks; one alone is read line by line: rows would tell what it said with all others."""
    single = RankSet.parse(ranks).single is not None
    return replace(scope, ranks=ranks, lens="lines" if single else scope.lens)


@handles("pick_ranks")
def pick_ranks(screen: JobScreen, text: str) -> None:
    """Ask for a set of ranks, or show the one that is given."""
    if text:
        show_ranks(screen, text)
        return
    counts = screen.snapshot.counts().per_rank
    known = f"{len(counts):,} ranks: {min(counts)}-{max(counts)}" if counts else "no rank is known"
    screen.prompt.ask("ranks", "ranks ", f"0-7,!3,node:n12   {known}; empty: all", screen.scope.ranks)


@typing("ranks")
def ranks_typed(screen: JobScreen, text: str) -> None:
    """Say while it is typed how much the set holds."""
    snapshot = screen.snapshot
    try:
        chosen = RankSet.parse(text).select(snapshot.ranks, snapshot.nodes)
    except ValueError as error:
        screen.prompt.say(str(error) if text.strip() else "all ranks", wrong=bool(text.strip()))
        return
    per_rank = snapshot.counts().per_rank
    ranks = set(snapshot.ranks.rank[chosen].tolist()) & set(per_rank)
    lines = sum(per_rank[rank] for rank in ranks)
    screen.prompt.say(f"{len(ranks):,} of {len(per_rank):,} ranks, {lines:,} lines")


@answers("ranks")
def show_ranks(screen: JobScreen, text: str) -> None:
    """Show a set of ranks; nothing shows all."""
    text = text.strip()
    if text in ("", "all", "*"):
        screen.set_scope(replace(screen.scope, ranks=""))
        return
    try:
        chosen = RankSet.parse(text)
    except ValueError as error:
        screen.say(str(error), "error")
        return
    if not chosen.select(screen.snapshot.ranks, screen.snapshot.nodes).any():
        screen.say(f"no line is of {text}", "warning")
        return
    screen.set_scope(_of_ranks(screen.scope, text))


@handles("lens")
def next_lens(screen: JobScreen, _: str) -> None:
    """Turn to the next lens, keeping the line."""
    screen.turn_lens()


@handles("open")
def open_line(screen: JobScreen, _: str) -> None:
    """A row of several lines: its lines, or not. In a narrowed view: this line among all. Else: its rank alone."""
    if differing.turn_row(screen):
        return
    if screen.scope.narrowed:
        screen.set_scope(Scope(lens=screen.scope.lens))
        return
    rank = screen.cursor_rank
    if rank is None:
        screen.say("this line is of no rank")
    else:
        screen.set_scope(replace(screen.scope, lens="lines", ranks=str(rank)))


@handles("back")
def back(screen: JobScreen, _: str) -> None:
    """Give up a selection, then a search's marks, then go back to what was shown before."""
    if screen.view.selected_from is not None:
        screen.view.select(None)
    elif screen.search_pattern:
        screen.start_search("")
    else:
        screen.go_back()
