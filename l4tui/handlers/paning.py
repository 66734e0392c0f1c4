"""Panes: open, close, focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l4tui.handlers import answers, handles
from l4tui.panes import PANES

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@answers("compare")
def compare(screen: JobScreen, text: str) -> None:
    """Compare the ranks that are typed; `all` is what most said."""
    from l4tui.panes.compare import Shown, read_columns  # with the engine's alignment

    try:
        columns = read_columns(text)
    except ValueError as error:
        screen.say(str(error), "error")
        return
    if not isinstance(screen.pane, Shown):
        screen.open_pane("compare")
    if isinstance(screen.pane, Shown):
        screen.pane.compare(columns)
        screen.pane.focus()


@handles(*(f"pane_{entry.name}" for entry in PANES))
def open_pane(screen: JobScreen, text: str) -> None:
    """Open the pane that the action names, or close it."""
    if text and screen.acting == "pane_compare":
        compare(screen, text)
        return
    screen.open_pane(screen.acting.removeprefix("pane_"))


@handles("log")
def to_log(screen: JobScreen, _: str) -> None:
    """Close the pane: the log alone."""
    screen.close_pane()


@handles("focus")
def focus(screen: JobScreen, _: str) -> None:
    """Give the keys to the pane, or back to the log."""
    screen.switch_focus()
