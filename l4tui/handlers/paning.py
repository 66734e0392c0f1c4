"""Panes: open, close, focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l4tui.handlers import handles
from l4tui.panes import PANES

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@handles(*(f"pane_{entry.name}" for entry in PANES))
def open_pane(screen: JobScreen, _: str) -> None:
    """Open the pane that the action names, or close it."""
    screen.open_pane(screen.acting.removeprefix("pane_"))


@handles("log")
def to_log(screen: JobScreen, _: str) -> None:
    """Close the pane: the log alone."""
    screen.close_pane()


@handles("focus")
def focus(screen: JobScreen, _: str) -> None:
    """Give the keys to the pane, or back to the log."""
    screen.switch_focus()
