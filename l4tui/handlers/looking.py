"""Looking closer: fields, layout, counts over time, plain text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from l4tui.handlers import handles
from l4tui.screens import sheets

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@handles("fields")
def fields(screen: JobScreen, _: str) -> None:
    """Show what is known of the line."""
    if screen.cursor_entry is not None:
        sheets.open_fields(screen, screen.cursor_entry)


@handles("pretty")
def pretty(screen: JobScreen, _: str) -> None:
    """Show the whole record, laid out."""
    if screen.cursor_entry is not None:
        sheets.open_record(screen, screen.cursor_entry)


@handles("histogram")
def histogram(screen: JobScreen, _: str) -> None:
    """Show how many lines came when."""
    sheets.open_histogram(screen)


@handles("wrap")
def wrap(screen: JobScreen, _: str) -> None:
    """Wrap long lines, or cut them."""
    screen.view.set_wrapping(not screen.view.wrapping)


@handles("elapsed")
def elapsed(screen: JobScreen, _: str) -> None:
    """Show times as elapsed since the cursor's line, or of day again."""
    entry = screen.cursor_entry
    if screen.view.since is not None or entry is None:
        screen.view.set_since(None)
    else:
        screen.view.set_since(int(screen.snapshot.clock[entry]))


@handles("files")
def files(screen: JobScreen, _: str) -> None:
    """Show which files are read, which are mirrors, what is left out."""
    sheets.open_files(screen)


@handles("dump")
def dump(screen: JobScreen, _: str) -> None:
    """Leave the screen, print the page plainly, and come back on Enter."""
    view = screen.view
    lines = screen.lens.lines(screen.snapshot, view.rows, view.rows.keys(view.top, view.top + view.page))
    page = "\n".join(f"{line.who or line.sort:>6}  {line.text}" for line in lines)
    try:
        with screen.app.suspend():
            print(f"{page}\n\nEnter goes back to l4tui ", end="", file=sys.__stdout__, flush=True)
            if sys.__stdin__ is not None:
                sys.__stdin__.readline()
    except SuspendNotSupported:
        screen.say("this terminal cannot be left and come back to")
