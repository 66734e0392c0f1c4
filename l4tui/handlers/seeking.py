"""Finding lines: searches, errors, places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from l4tui.engine.model import Level, LineClass
from l4tui.engine.view import Bits, Ids, validate
from l4tui.handlers import answers, handles, typing
from l4tui.places import read_place, time_ends
from l4tui.widgets.gutter import clock

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@handles("search")
def search(screen: JobScreen, text: str) -> None:
    """Ask for a pattern, or search for the one that is given."""
    if text:
        search_for(screen, text)
    else:
        screen.search_from = screen.view.row
        screen.prompt.ask("search", "/", "regex; lower case ignores case")


@typing("search")
def search_typed(screen: JobScreen, text: str) -> None:
    """Count while the pattern is typed."""
    try:
        validate(text)
    except ValueError as error:
        screen.prompt.say(str(error), wrong=True)
        return
    screen.prompt.say("")
    screen.start_search(text)


@answers("search")
def search_for(screen: JobScreen, text: str) -> None:
    """Go to the first hit; an empty pattern ends the search."""
    try:
        validate(text)
    except ValueError as error:
        screen.say(f"/{text}: {error}", "error")
        return
    screen.start_search(text, jump=1 if text else 0)


@handles("next_hit")
def next_hit(screen: JobScreen, _: str) -> None:
    """To the next hit."""
    screen.jump_to_hit(1)


@handles("previous_hit")
def previous_hit(screen: JobScreen, _: str) -> None:
    """To the previous hit."""
    screen.jump_to_hit(-1)


@handles("next_error", "previous_error", "next_warning", "previous_warning")
def _by_level(screen: JobScreen, _: str) -> None:
    """To the next or previous record of a level, as the action says."""
    step = 1 if screen.acting.startswith("next") else -1
    error = screen.acting.endswith("error")
    snapshot = screen.snapshot
    rows = screen.view.rows
    levels = snapshot.plans.level
    wanted = levels >= Level.ERROR if error else levels == Level.WARNING
    raised = snapshot.plans.line_class == LineClass.RAISED
    word = "error" if error else "warning"

    def test(keys: Ids) -> Bits:
        entries = rows.entries(keys)
        heads = snapshot.record[entries]
        said = wanted[snapshot.plan[entries]] & (heads == entries)  # a record of many lines is one stop
        if error:  # an exception that nothing logged
            said |= raised[snapshot.plan[entries]] & ~wanted[snapshot.plan[heads]]
        return np.asarray(said)

    screen.jump(test, step, f"no {word} here", around=True)


@handles("next_same", "previous_same")
def _same(screen: JobScreen, _: str) -> None:
    """To another line of the same call site, or of the same event where there is none."""
    step = 1 if screen.acting.startswith("next") else -1
    entry = screen.cursor_entry
    if entry is None:
        return
    snapshot, rows = screen.snapshot, screen.view.rows
    plan = int(snapshot.plan[entry])
    site = int(snapshot.plans.site[plan])
    column = snapshot.plans.site if site >= 0 else snapshot.plans.event
    value = site if site >= 0 else int(snapshot.plans.event[plan])

    def test(keys: Ids) -> Bits:
        return np.asarray((column == value)[snapshot.plan[rows.entries(keys)]])

    screen.jump(test, step, "no other line like this one", around=True)


@handles("evidence")
def evidence(screen: JobScreen, _: str) -> None:
    """To the line that the verdict rests on, among all lines."""
    entry = screen.ruling.entry
    if entry < 0:
        screen.say("nobody is accused" if screen.ruling.outcome else "there is no verdict yet")
        return
    screen.show_entry(entry)


@handles("go_to")
def go_to(screen: JobScreen, text: str) -> None:
    """Ask for a time or an iteration, or go there."""
    if text:
        go_to_place(screen, text)
    else:
        screen.prompt.ask("go_to", "go to ", "12:03   -5m   i1200")


@answers("go_to")
def go_to_place(screen: JobScreen, text: str) -> None:
    """Go to the first line at or after a time or of an iteration."""
    if not text.strip():
        return
    try:
        place = read_place(text, screen.snapshot)
    except ValueError as error:
        screen.say(str(error), "error")
        return
    if place.is_iteration:
        screen.go_to_iteration(place.value)
        return
    first, last = time_ends(screen.snapshot)
    if first <= place.value <= last:
        screen.go_to_time(place.value)
    else:
        words = f"the log goes from {clock(first, 8)} to {clock(last, 8)}"
        screen.say(f"{text.strip()} is outside: {words}", "warning")
