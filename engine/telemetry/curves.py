"""Series and events that do not come from the job's log lines: event files, hardware monitors, kernel logs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN

_NOWHERE: NDArray[np.int64] = np.zeros(0, np.int64)


class Curve(NamedTuple):
    """One series of an outside source; arrays of equal length in the order of the file."""

    name: str
    unit: str
    node: str | None
    device: int  # of the node; −1: the node itself
    time: NDArray[np.int64]  # ns UTC, NO_TIME
    step: NDArray[np.int64]  # −1: the source knows none
    value: NDArray[np.float64]
    line: NDArray[np.int64] = _NOWHERE  # of the file, from 1; empty where it has no lines


class Mark(NamedTuple):
    """One event of an outside source."""

    time: int  # ns UTC; NO_TIME where the source has no date
    node: str | None
    kind: str  # of a kernel's line: those of outside/kernel.py; of a table: those of outside/signs.py
    text: str
    device: str = ""  # as the source names it: PCI address, interface, disk
    slot: int = UNKNOWN  # of a device on its node, as its driver counts
    until: int = NO_TIME  # ns UTC: when a state ended; NO_TIME for a moment
    line: int = 0  # of the file, from 1; 0: of none


class Outside(NamedTuple):
    """What one outside file holds."""

    path: str
    source: str  # which program wrote it
    curves: tuple[Curve, ...] = ()
    marks: tuple[Mark, ...] = ()


class Gathering:
    """Collects rows of a table into curves; `line` is the one that is being read."""

    def __init__(self, node: str | None) -> None:
        self.node = node
        self.line = 0
        self.marks: list[Mark] = []
        self._rows: dict[tuple[str, str, str | None, int], tuple[list[int], list[float], list[int]]] = {}

    def add(
        self, name: str, unit: str, value: float, time: int = NO_TIME, device: int = UNKNOWN, node: str | None = None
    ) -> None:
        """Add one sample; `node`: another one than the file's."""
        key = (name, unit, node or self.node, device)
        known = self._rows.get(key)
        times, values, lines = known or self._rows.setdefault(key, ([], [], []))
        times.append(time)
        values.append(value)
        lines.append(self.line)

    def mark(self, kind: str, text: str, time: int = NO_TIME, device: int = UNKNOWN, name: str = "") -> None:
        """Add an event; of several in a row that say the same of a device the first stays."""
        same = (m for m in reversed(self.marks) if (m.slot, m.device) == (device, name))
        before = next(same, None)
        if before is None or (before.kind, before.text) != (kind, text):
            self.marks.append(Mark(time, self.node, kind, text, name, device, line=self.line))

    def curves(self) -> tuple[Curve, ...]:
        """Return what was collected, a curve per name and device."""
        return tuple(
            Curve(
                name, unit, node, device, np.array(times, np.int64), np.full(len(times), UNKNOWN, np.int64),
                np.array(values, np.float64), np.array(lines, np.int64),
            )
            for (name, unit, node, device), (times, values, lines) in self._rows.items()
        )  # fmt: skip
