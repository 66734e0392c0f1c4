"""What an outside source knows near a moment on a node: reasons for the job's anomalies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.telemetry.curves import Mark, Outside

BEFORE_S = 900  # a collective's time-out tells of a fault up to 10-15 minutes later
AFTER_S = 60  # clocks of a kernel and a job differ, and logs are written late


class Reason(NamedTuple):
    """A mark near a moment."""

    mark: Mark
    path: str
    distance: float  # seconds from the mark to the moment; negative: the mark came later


def reasons(
    outside: Iterable[Outside], node: str | None, time: int, before_s: float = BEFORE_S, after_s: float = AFTER_S
) -> tuple[Reason, ...]:
    """Return the marks on a node around a time (ns UTC), the nearest first.

    A mark whose node is not known counts for every node; a mark without a time never.
    """
    if time == NO_TIME:
        return ()
    out = []
    for source in outside:
        for mark in source.marks:
            distance = (time - mark.time) / 1e9
            here = mark.node is None or node is None or mark.node == node
            if mark.time != NO_TIME and here and -after_s <= distance <= before_s:
                out.append(Reason(mark, source.path, distance))
    return tuple(sorted(out, key=lambda reason: abs(reason.distance)))


def steps_of(snap: Snapshot, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the iteration the job was in at each time, −1 before the first and for NO_TIME."""
    rows = np.flatnonzero((snap.iteration >= 0) & (snap.clock != NO_TIME))
    if not len(rows):
        return np.full(len(times), UNKNOWN, np.int64)
    order = rows[np.argsort(snap.clock[rows], kind="stable")]
    reached = np.maximum.accumulate(snap.iteration[order].astype(np.int64))
    at = np.searchsorted(snap.clock[order], times, "right") - 1
    return np.where(at >= 0, reached[np.maximum(at, 0)], UNKNOWN)
