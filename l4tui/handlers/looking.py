"""Looking closer: fields, layout, counts over time, plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l4tui.handlers import handles

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@handles("fields")
def fields(screen: JobScreen, _: str) -> None:
    """Show what is known of the line."""
    if screen.cursor_entry is not None:
        screen.open_fields(screen.cursor_entry)


@handles("pretty")
def pretty(screen: JobScreen, _: str) -> None:
    """Show the whole record, laid out."""
    if screen.cursor_entry is not None:
        screen.open_record(screen.cursor_entry)


@handles("histogram")
def histogram(screen: JobScreen, _: str) -> None:
    """Show how many lines came when."""
    screen.open_histogram()


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
    screen.open_files()


@handles("dump")
def dump(screen: JobScreen, _: str) -> None:
    """Print the page plainly."""
    screen.dump_page()
