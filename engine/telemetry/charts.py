"""From samples to what a chart draws: lines per rank, the band of all ranks, who leaves it, and what is under a cursor.

Pure functions over `Points`; run them in a worker thread. x is an iteration (float64) or a time (seconds UTC).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.telemetry.index import Points

Floats = NDArray[np.float64]
FAR = 4.0  # robust deviations from the median at which a value stands out
OFTEN = 0.3  # share of a rank's values that stand out for it to be named
FEWEST = 4  # ranks among which one can stand out


class Axis(StrEnum):
    """What runs to the right."""

    ITERATION = "iteration"
    TIME = "time"
    ENTRY = "line"  # neither is known: the order of the log


class Line(NamedTuple):
    """One rank's values, ascending in x."""

    rank: int
    x: Floats
    y: Floats  # finite
    odd_x: Floats  # where the value is nan or infinite
    odd: Floats


class Band(NamedTuple):
    """All ranks at each x."""

    x: Floats
    low: Floats
    middle: Floats
    high: Floats


class Outlier(NamedTuple):
    """A rank that leaves the band."""

    rank: int
    share: float  # of its values
    deviation: float  # the median of its robust deviations; negative: below


def best_axis(points: Points) -> Axis:
    """Choose iterations where most samples have one, else time, else the order of the log."""
    count = max(len(points.value), 1)
    if np.count_nonzero(points.iteration >= 0) * 2 >= count:
        return Axis.ITERATION
    return Axis.TIME if np.count_nonzero(points.time != NO_TIME) * 2 >= count else Axis.ENTRY


def x_of(points: Points, axis: Axis) -> Floats:
    """Return the place of every sample on the axis; NaN where it has none."""
    if axis is Axis.ITERATION:
        return np.where(points.iteration >= 0, points.iteration.astype(np.float64), np.nan)
    if axis is Axis.TIME:
        return np.where(points.time != NO_TIME, points.time / 1e9, np.nan)
    return points.entry.astype(np.float64)


def within(points: Points, axis: Axis, low: float, high: float) -> Points:
    """Return the samples of a zoomed part."""
    x = x_of(points, axis)
    with np.errstate(invalid="ignore"):
        return points.chosen((x >= low) & (x <= high))


def lines(points: Points, axis: Axis, ranks: Sequence[int] | None = None, smooth: float = 0.0) -> list[Line]:
    """Return a line per rank; `smooth` from 0 to below 1 is the weight of the past (an average without its bias)."""
    x = x_of(points, axis)
    out = []
    for rank in np.unique(points.rank).tolist():
        if ranks is not None and rank not in ranks:
            continue
        rows = np.flatnonzero((points.rank == rank) & np.isfinite(x))
        rows = rows[np.argsort(x[rows], kind="stable")]
        finite = np.isfinite(points.value[rows])
        y = points.value[rows[finite]]
        out.append(
            Line(
                int(rank), x[rows[finite]], smoothed(y, smooth) if smooth > 0 else y, x[rows[~finite]],
                points.value[rows[~finite]],
            )
        )  # fmt: skip
    return out


def smoothed(values: Floats, weight: float) -> Floats:
    """Return the exponential moving average, corrected for its start as TensorBoard does."""
    out = np.empty_like(values)
    last = 0.0
    scale = 1.0
    for i, value in enumerate(values.tolist()):
        last = last * weight + (1 - weight) * value
        scale *= weight
        out[i] = last / (1 - scale)
    return out


def thinned(line: Line, columns: int) -> Line:
    """Keep at most the first, lowest, highest and last value in each column of a chart: what would be drawn anyway."""
    if columns < 1 or len(line.x) <= 4 * columns:
        return line
    low, high = float(line.x[0]), float(line.x[-1])
    slot = ((line.x - low) / max(high - low, 1e-300) * columns).astype(np.int64)
    first = np.flatnonzero(np.diff(slot, prepend=-1))
    last = np.append(first[1:], len(slot)) - 1
    by_value = np.lexsort((line.y, slot))
    keep = np.unique(np.concatenate((first, last, by_value[first], by_value[last])))
    return line._replace(x=line.x[keep], y=line.y[keep])


def band(points: Points, axis: Axis, edge: float = 0.05) -> Band:
    """Return the spread over ranks at each x: quantiles `edge` and 1 − `edge` around the median."""
    x = x_of(points, axis)
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(points.value))
    order = rows[np.lexsort((points.value[rows], x[rows]))]
    place, value = x[order], points.value[order]
    first = np.flatnonzero(np.diff(place, prepend=np.nan) != 0)
    count = np.diff(np.append(first, len(place)))

    def quantile(q: float) -> Floats:
        at = first + np.round(q * (count - 1)).astype(np.int64)
        picked: Floats = value[at] if len(at) else np.empty(0)
        return picked

    return Band(place[first], quantile(edge), quantile(0.5), quantile(1 - edge))


def outliers(points: Points, axis: Axis, most: int = 8) -> list[Outlier]:
    """Name the ranks that are often far from the median of all ranks at the same x, the farthest first."""
    x = x_of(points, axis)
    rows = np.flatnonzero(np.isfinite(x) & (points.rank >= 0))
    if len(np.unique(points.rank[rows])) < FEWEST:
        return []
    places, at = np.unique(x[rows], return_inverse=True)
    value = points.value[rows]
    finite = np.isfinite(value)
    middle = _medians(at, value, finite, len(places))
    away = value - middle[at]
    spread = _medians(at, np.abs(away), finite, len(places)) * 1.4826
    floor = np.nanmedian(spread) if len(spread) else 0.0  # a moment in which most agree exactly accuses nobody
    scale = np.maximum(spread, max(float(floor), 1e-9 * float(np.nanmax(np.abs(middle), initial=1.0))))
    deviation = np.where(finite, away / scale[at], np.inf)
    out = []
    for rank in np.unique(points.rank[rows]).tolist():
        mine = deviation[points.rank[rows] == rank]
        share = float(np.mean(np.abs(mine) > FAR))
        if share >= OFTEN:
            out.append(Outlier(int(rank), share, float(np.median(mine))))
    out.sort(key=lambda one: (-one.share, -abs(one.deviation)))
    return out[:most]


def _medians(at: NDArray[np.int64], value: Floats, finite: NDArray[np.bool_], places: int) -> Floats:
    """Return the lower median of the finite values at each place; NaN where there is none."""
    rows = np.flatnonzero(finite)
    order = rows[np.lexsort((value[rows], at[rows]))]
    count = np.bincount(at[order], minlength=places)
    first = np.cumsum(count) - count
    out = np.full(places, np.nan)
    known = np.flatnonzero(count)
    out[known] = value[order][first[known] + (count[known] - 1) // 2]
    return out


def entry_near(points: Points, axis: Axis, x: float, rank: int | None = None) -> int:
    """Return the entry whose sample is nearest to x, of a rank or of any; −1 where there is none."""
    place = x_of(points, axis)
    keep = np.isfinite(place) if rank is None else np.isfinite(place) & (points.rank == rank)
    rows = np.flatnonzero(keep)
    if not len(rows):
        return UNKNOWN
    return int(points.entry[rows[int(np.argmin(np.abs(place[rows] - x)))]])


def x_near(points: Points, axis: Axis, entry: int) -> float:
    """Return where a chart's cursor stands when the log's stands on an entry: at the last sample up to it."""
    place = x_of(points, axis)
    rows = np.flatnonzero(np.isfinite(place))
    if not len(rows):
        return float("nan")
    before = np.flatnonzero(points.entry[rows] <= entry)
    return float(place[rows[before[-1] if len(before) else 0]])
