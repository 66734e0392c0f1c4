"""Series and events that do not come from the job's log lines: event files, hardware monitors, kernel logs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN


class Curve(NamedTuple):
    """One series of an outside source; arrays of equal length in the order of the file."""

    name: str
    unit: str
    node: str | None
    device: int  # of the node; −1: the node itself
    time: NDArray[np.int64]  # ns UTC, NO_TIME
    step: NDArray[np.int64]  # −1: the source knows none
    value: NDArray[np.float64]


class Mark(NamedTuple):
    """One event of an outside source."""

    time: int  # ns UTC; NO_TIME where the source has no date
    node: str | None
    kind: str  # xid sxid oom link ecc thermal power nvlink fs hang mce segv nic other
    text: str
    device: str = ""  # as the source names it: PCI address, interface, disk


class Outside(NamedTuple):
    """What one outside file holds."""

    path: str
    source: str  # which program wrote it
    curves: tuple[Curve, ...] = ()
    marks: tuple[Mark, ...] = ()


class Gathering:
    """Collects rows of a table into curves."""

    def __init__(self, node: str | None) -> None:
        self._node = node
        self._rows: dict[tuple[str, str, str | None, int], tuple[list[int], list[float]]] = {}

    def add(
        self, name: str, unit: str, value: float, time: int = NO_TIME, device: int = UNKNOWN, node: str | None = None
    ) -> None:
        """Add one sample; `node`: another one than the file's."""
        times, values = self._rows.setdefault((name, unit, node or self._node, device), ([], []))
        times.append(time)
        values.append(value)

    def curves(self) -> tuple[Curve, ...]:
        """Return what was collected, a curve per name and device."""
        return tuple(
            Curve(
                name, unit, node, device, np.array(times, np.int64), np.full(len(times), UNKNOWN, np.int64),
                np.array(values, np.float64),
            )
            for (name, unit, node, device), (times, values) in self._rows.items()
        )  # fmt: skip
