"""All series of a job: values by piece of the log as read, and what rank, iteration and time they have by now."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import UNKNOWN
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.telemetry.catalog import Catalog, SeriesInfo
from l4tui.engine.telemetry.extraction import Extractor
from l4tui.engine.telemetry.fields import Type
from l4tui.engine.telemetry.reading import EMPTY, Batch
from l4tui.engine.telemetry.rules import Rule

MOST_KEPT = 24_000_000  # samples held (16 bytes each); beyond it pieces are read again when asked for
WAYS = 8  # unread pieces are taken from so many places of the job, so that a chart has its outline first
SMALL, LARGE = 1024, 16_384  # entries read at a time: few at the beginning of a block, so that first points come soon


class Points(NamedTuple):
    """Samples of one series in the order of the log; equal lengths."""

    name: str
    entry: NDArray[np.int64]
    rank: NDArray[np.int32]  # −1 unknown
    iteration: NDArray[np.int32]  # −1 unknown
    time: NDArray[np.int64]  # ns UTC: the last time in the source up to the line; NO_TIME
    value: NDArray[np.float64]  # of text: codes into `TelemetryIndex.words`

    def chosen(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Points:
        """Return some of the samples."""
        return Points(
            self.name, self.entry[keep], self.rank[keep], self.iteration[keep], self.time[keep], self.value[keep]
        )


class Summary(NamedTuple):
    """A series in the list."""

    info: SeriesInfo
    samples: int
    low: float  # of the finite values; NaN without any, and for texts
    high: float
    odd: int  # values that are not finite
    spans: bool  # stands in several iterations: a metric, not a setting told once


class TelemetryIndex:
    """Series of one job. One thread updates or queries at a time; reading what is there needs no lock."""

    def __init__(self, rules: tuple[Rule, ...] = (), most: int = MOST_KEPT) -> None:
        self.catalog = Catalog()
        self._extractor = Extractor(self.catalog, rules)
        self._lock = threading.Lock()
        self._most = most
        self._start(UNKNOWN)

    def _start(self, generation: int) -> None:
        self._generation = generation
        self._extractor.forget()
        self._blocks = 0  # cut into pieces so far
        self._ends: dict[int, int] = {}  # piece (its first entry) → its end
        self._unread: dict[int, None] = {}  # pieces, in order
        self._batches: dict[int, Batch] = {}  # piece → values
        self._passed: dict[int, NDArray[np.int32]] = {}  # piece whose values are not held → its series
        self._held = 0
        self._totals = _Totals()

    def update(self, snap: Snapshot, stop: threading.Event | None = None) -> bool:
        """Read what is new in the snapshot; say whether anything was. Stops between two pieces."""
        news = False
        for piece in self._missing(snap):
            if stop is not None and stop.is_set():
                break
            self._read(snap, piece)
            news = True
        return news

    def _missing(self, snap: Snapshot) -> list[int]:
        """Return pieces that have not been read: first one of each part of the job, then the next ones."""
        with self._lock:
            if snap.generation != self._generation:
                self._start(snap.generation)
            first = snap.blocks.first
            ends = [*first[self._blocks + 1 :].tolist(), snap.length]
            for low, end in zip(first[self._blocks :].tolist(), ends, strict=False):
                if end > low:
                    bounds = [low, *range(low + SMALL, end, LARGE), end]
                    self._ends.update(pairwise(bounds))
                    self._unread.update(dict.fromkeys(bounds[:-1]))
            self._blocks = len(first)
            pieces = list(self._unread)
        stride = max(1, -(-len(pieces) // WAYS))
        return [piece for k in range(stride) for piece in pieces[k::stride]]

    def _read(self, snap: Snapshot, piece: int) -> Batch:
        with self._lock:
            known = self._batches.get(piece)
            if known is not None:
                return known
            batch = self._extractor.read(snap, piece, self._ends[piece])
            if piece in self._passed:
                return batch
            self._unread.pop(piece, None)
            if self._held + len(batch.value) > self._most:
                self._passed[piece] = np.unique(batch.series)
            else:
                self._batches[piece] = batch
                self._held += len(batch.value)
            self._totals.add(batch, snap.iteration, len(self.catalog.infos))
            return batch

    def names(self) -> list[Summary]:
        """Return the series so far: those over several iterations first, then those whose value changes, by name.

        What only counts the iterations is left out: it is the axis that the others stand on.
        """
        totals = self._totals  # another thread may begin anew
        infos = self.catalog.infos[: len(totals.count)]
        axes = {info.name for i, info in enumerate(infos) if totals.is_axis(i, info)}
        out = [
            totals.summary(i, info)
            for i, info in enumerate(infos)
            if totals.count[i] and info.name.removesuffix(" total") not in axes
        ]
        out.sort(key=lambda s: (not s.spans, not s.low < s.high, not s.info.keyed, s.info.name.lower()))
        return out

    @property
    def words(self) -> Sequence[str]:
        """The texts that values of text series are codes of."""
        return self.catalog.words

    def values(self, name: str, snap: Snapshot, ranks: Sequence[int] | None = None) -> Points:
        """Return all samples of a series read so far, in the order of the log; of these ranks or of all."""
        series = self.catalog.find(name)
        with self._lock:
            parts = [batch for _, batch in sorted(self._batches.items())] if series >= 0 else []
            again = [p for p, known in self._passed.items() if series in known]
        found = [(p.entry[s], p.value[s]) for p in parts if (s := p.of(series)).stop > s.start]
        for piece in again:
            batch = self._read(snap, piece)
            found.append((batch.entry[batch.of(series)], batch.value[batch.of(series)]))
        if not found:
            found = [(EMPTY.entry, EMPTY.value)]
        entry = np.concatenate([part[0] for part in found]).astype(np.int64)
        value = np.concatenate([part[1] for part in found])
        order = np.argsort(entry, kind="stable")
        return _points(name, snap, entry[order], value[order], ranks)

    def query(
        self, snap: Snapshot, names: Sequence[str] | None, ranks: Sequence[int] | None, stop: threading.Event
    ) -> Iterator[Points]:
        """Yield samples piece by piece, in any order of pieces, until all are read or `stop` is set.

        What has been read comes first; the others are read on the way and kept. names: unique names, None for all.
        """
        missing = self._missing(snap)
        with self._lock:
            ready = sorted({*self._batches, *self._passed})
        for piece in [*ready, *missing]:
            if stop.is_set():
                return
            batch = self._read(snap, piece)
            wanted = np.unique(batch.series) if names is None else [self.catalog.find(name) for name in names]
            for series in [int(s) for s in wanted]:
                at = batch.of(series)
                if series >= 0 and at.stop > at.start:
                    entry = batch.entry[at].astype(np.int64)
                    yield _points(self.catalog.infos[series].name, snap, entry, batch.value[at], ranks)

    def spark(self, name: str, snap: Snapshot, width: int) -> NDArray[np.float64]:
        """Return a series as `width` means over ranks along iterations (or the log where there are none); NaN: none."""
        points = self.values(name, snap)
        axis: NDArray[np.int64] = points.iteration.astype(np.int64)
        if not (axis >= 0).any():
            axis = points.entry
        keep = (axis >= 0) & np.isfinite(points.value)
        axis, value = axis[keep], points.value[keep]
        if not len(axis) or width < 1:
            return np.full(max(width, 0), np.nan)
        low, high = int(axis.min()), int(axis.max())
        slot = (axis - low) * width // (high - low + 1)
        count = np.bincount(slot, minlength=width)
        with np.errstate(invalid="ignore"):
            return np.bincount(slot, weights=value, minlength=width) / np.where(count, count, np.nan)


class _Totals:
    """What the list says of each series, kept while blocks are read."""

    def __init__(self) -> None:
        self.count = np.zeros(0, np.int64)
        self.odd = np.zeros(0, np.int64)
        self.low = np.zeros(0)
        self.high = np.zeros(0)
        self.first = np.zeros(0, np.int64)  # iterations
        self.last = np.zeros(0, np.int64)
        self.least = np.zeros(0)  # of the values, counted from their iterations
        self.most = np.zeros(0)

    def add(self, batch: Batch, iteration: NDArray[np.int32], series: int) -> None:
        """Add the values of a block; `series`: how many there are by now."""
        self._grow(series)
        if not len(batch.series):
            return
        at = np.flatnonzero(np.diff(batch.series, prepend=-1))
        which = batch.series[at]
        self.count[which] += np.diff(np.append(at, len(batch.series)))
        finite = np.isfinite(batch.value)
        self.odd[which] += np.add.reduceat(~finite, at)
        low = np.minimum.reduceat(np.where(finite, batch.value, np.inf), at)
        high = np.maximum.reduceat(np.where(finite, batch.value, -np.inf), at)
        step = iteration[batch.entry].astype(np.int64)
        first = np.minimum.reduceat(np.where(step < 0, _NEVER, step), at)
        self.low[which] = np.minimum(self.low[which], low)
        self.high[which] = np.maximum(self.high[which], high)
        self.first[which] = np.minimum(self.first[which], first)
        self.last[which] = np.maximum(self.last[which], np.maximum.reduceat(step, at))
        over, known = batch.value - step, finite & (step >= 0)
        self.least[which] = np.minimum(self.least[which], np.minimum.reduceat(np.where(known, over, np.inf), at))
        self.most[which] = np.maximum(self.most[which], np.maximum.reduceat(np.where(known, over, -np.inf), at))

    def _grow(self, series: int) -> None:
        more = series - len(self.count)
        if more > 0:
            for name, fill in _FILLS.items():
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.full(more, fill, old.dtype))))

    def is_axis(self, at: int, info: SeriesInfo) -> bool:
        """Tell whether a series counts iterations: by its name, or since it goes with them all along."""
        name = info.key.lower().replace("_", " ")
        if _COUNTERS.fullmatch(name):
            return True
        goes_along = self.first[at] < self.last[at] and self.most[at] - self.least[at] <= 1
        return bool(goes_along) and info.type is Type.INT and not info.unit and not _COUNTED.search(name)

    def summary(self, at: int, info: SeriesInfo) -> Summary:
        """Return the line of one series."""
        text = info.type is Type.TEXT or self.low[at] > self.high[at]
        low, high = (float("nan"),) * 2 if text else (float(self.low[at]), float(self.high[at]))
        return Summary(info, int(self.count[at]), low, high, int(self.odd[at]), bool(self.first[at] < self.last[at]))


_COUNTERS = re.compile(
    r"(?:(?:current|cur|global|train(?:ing)?|local|optimizer|total) )?"
    r"(?:iter(?:ation)?s?|steps?|epochs?|batch(?: idx| index))(?: #\d+)?"
)
_COUNTED = re.compile(r"sample|token")  # a batch of one
_NEVER = np.int64(2**62)
_FILLS: dict[str, float] = {"odd": 0, "low": np.inf, "high": -np.inf, "first": 2**62, "last": -1, "least": np.inf,
                            "most": -np.inf, "count": 0}  # fmt: skip -- count last: it tells readers how many there are


def _points(
    name: str, snap: Snapshot, entry: NDArray[np.int64], value: NDArray[np.float64], ranks: Sequence[int] | None
) -> Points:
    inside = entry < snap.length
    points = Points(
        name, entry[inside], snap.rank(entry[inside]), snap.iteration[entry[inside]], snap.clock[entry[inside]],
        value[inside],
    )  # fmt: skip
    return points if ranks is None else points.chosen(np.isin(points.rank, np.asarray(list(ranks), np.int32)))
