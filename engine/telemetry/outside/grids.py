"""Curves of one quantity on a common grid of times, so that devices can be compared with their peers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.telemetry.curves import Curve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_BINS = 20_000
HELD = 2  # bins that a value is taken to hold where the next sample is late

Device = tuple[str | None, int]  # node, index on it


@dataclass(frozen=True, slots=True)
class Grid:
    """Values by device and time; NaN where nothing was measured."""

    devices: list[Device]
    begin: int  # ns UTC of the first bin
    step: int  # ns
    value: Floats  # devices × bins
    line: Ints  # of the file, likewise; 0: none

    def times(self) -> Ints:
        """Return the time of each bin, ns UTC."""
        return self.begin + np.arange(self.value.shape[1], dtype=np.int64) * self.step


def grid_of(curves: Sequence[Curve]) -> Grid | None:
    """Lay curves out; None where none of them has times. The longest usual interval of a device is the step."""
    timed = [(c, np.flatnonzero(c.time != NO_TIME)) for c in curves if c.device != UNKNOWN]
    timed = [(c, rows) for c, rows in timed if len(rows)]
    if not timed:
        return None
    begin = min(int(c.time[rows].min()) for c, rows in timed)
    end = max(int(c.time[rows].max()) for c, rows in timed)
    gaps = [int(np.median(np.diff(np.unique(c.time[rows])))) for c, rows in timed if len(np.unique(c.time[rows])) > 1]
    step = max([*gaps, (end - begin) // MOST_BINS + 1, 10**6])
    bins = (end - begin) // step + 1
    devices = list(dict.fromkeys((c.node, c.device) for c, _ in timed))
    value = np.full((len(devices), bins), np.nan)
    line = np.zeros((len(devices), bins), np.int64)
    for curve, rows in timed:
        at = devices.index((curve.node, curve.device))
        bin_of = (curve.time[rows] - begin) // step
        value[at, bin_of] = curve.value[rows]
        if len(curve.line):
            line[at, bin_of] = curve.line[rows]
    return Grid(devices, begin, step, _held(value), line)


def _held(value: Floats) -> Floats:
    """Carry values over bins that a late sample left empty."""
    out = value.copy()
    for _ in range(HELD):
        gap = np.isnan(out[:, 1:]) & ~np.isnan(out[:, :-1])
        out[:, 1:][gap] = out[:, :-1][gap]
    out[np.arange(value.shape[1]) > last_bins(value)[:, None]] = np.nan
    return out


def last_bins(value: Floats) -> Ints:
    """Return the last bin of each device that holds a value; −1: none."""
    known = ~np.isnan(value)
    last = value.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    return np.where(known.any(axis=1), last, -1).astype(np.int64)


def runs(flags: NDArray[np.bool_], least: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of runs of True that are long enough."""
    edges = np.diff(np.concatenate(([0], flags.astype(np.int8), [0])))
    for first, end in zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True):
        if end - first >= least:
            yield first, end - 1
