"""The panes beside the log. A new one is a module with a class `Shown` and a row of PANES."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from l4tui.panes.pane import Pane
    from l4tui.screens.job import JobScreen


class PaneEntry(NamedTuple):
    """A pane that can be opened: its action is `pane_` and the name."""

    name: str  # module in this package
    key: str
    words: str


PANES: tuple[PaneEntry, ...] = (
    PaneEntry("ranks", "2", "ranks: who is silent, behind, suspect"),
    PaneEntry("diagnosis", "3", "diagnosis: who, why, what to read"),
    PaneEntry("iterations", "4", "iterations: how long, how odd"),
    PaneEntry("sites", "5", "call sites by rank: who left the herd"),
    PaneEntry("telemetry", "6", "telemetry: series of numbers, charted"),
    PaneEntry("compare", "|", "ranks side by side"),
)


def make(name: str, screen: JobScreen) -> Pane:
    """Build a pane; its module is imported when it is first opened."""
    pane: Pane = importlib.import_module(f"l4tui.panes.{name}").Shown(screen)
    return pane
