"""Charts: what the telemetry pane does, and what is typed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l4tui.handlers import answers, handles, typing

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@handles("zoom_in", "zoom_out", "log_scale", "smooth")
def _only_there(screen: JobScreen, _: str) -> None:
    """Say where the action belongs to."""
    screen.say("that is for charts: 6 opens the telemetry")


@typing("series")
def series_typed(screen: JobScreen, text: str) -> None:
    """List what matches while it is typed."""
    search = getattr(screen.pane, "search", None)
    if search is not None:
        search(text)


@answers("series")
def search_series(screen: JobScreen, text: str) -> None:
    """Keep the list; the keys go back to the pane."""
    series_typed(screen, text)
    if screen.pane is not None:
        screen.pane.focus()
