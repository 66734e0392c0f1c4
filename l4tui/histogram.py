"""How many lines came when."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from l4tui.engine.model import NO_TIME, Level
from l4tui.engine.view import CHUNK, Ids, Rows

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

SECOND = 1_000_000_000
STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800)
BINS_MAX = 400


class Histogram(NamedTuple):
    """Counts per span of time: arrays with a row per bin."""

    start: int  # ns UTC of the first bin
    step: int  # ns
    lines: np.ndarray  # int64
    warnings: np.ndarray
    errors: np.ndarray


def histogram_of(snapshot: Snapshot, rows: Rows, wanted: int, stop: Event) -> Histogram | None:
    """Count the rows of a view over time in about `wanted` bins; None where no row has a time."""
    clock, plan, level = snapshot.clock, snapshot.plan, snapshot.plans.level
    low, high = np.iinfo(np.int64).max, NO_TIME
    for part in _parts(rows, stop):
        times = clock[part]
        times = times[times != NO_TIME]
        if len(times):
            low, high = min(low, int(times.min())), max(high, int(times.max()))
    if high == NO_TIME or stop.is_set():
        return None
    step = _step(high - low, wanted)
    start = low // step * step
    size = int((high - start) // step) + 1
    counts = np.zeros((3, size), np.int64)
    for part in _parts(rows, stop):
        times, levels = clock[part], level[plan[part]]
        for row, chosen in enumerate((levels > -1, levels == Level.WARNING, levels >= Level.ERROR)):
            kept = times[chosen & (times != NO_TIME)]
            counts[row] += np.bincount((kept - start) // step, minlength=size)[:size]
    return Histogram(start, step, counts[0], counts[1], counts[2])


def _step(span: int, wanted: int) -> int:
    for seconds in STEPS_S:
        if span / (seconds * SECOND) <= wanted:
            return seconds * SECOND
    return (span // BINS_MAX // SECOND + 1) * SECOND


def _parts(rows: Rows, stop: Event) -> Iterator[Ids]:
    for at in range(0, rows.length, CHUNK):
        if stop.is_set():
            return
        yield rows.entries(rows.keys(at, at + CHUNK))
