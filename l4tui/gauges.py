"""All series that can be charted: those of the log's lines, and those of hardware monitors beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN, Flag
from l4tui.engine.telemetry import TelemetryIndex, Type
from l4tui.engine.telemetry.curves import Mark, Outside

if TYPE_CHECKING:
    from l4tui.config import Config
    from l4tui.engine.iterations import Timeline
    from l4tui.engine.job import Job
    from l4tui.engine.snapshot import Snapshot

SLICE_S = 0.06  # of reading, between two pictures
SECOND = 1e9
LOOKED_AT = 1 << 20  # entries that tell how iterations are counted
EPOCHS = 4  # times that a rank begins to count anew before time is the better axis
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Gauge(NamedTuple):
    """A series in the list."""

    name: str
    unit: str
    samples: int
    low: float
    high: float
    odd: int  # samples that are not finite
    is_outside: bool  # measured beside the job


class Samples(NamedTuple):
    """What is charted of a series; equal lengths. `who`: ranks, or for outside series numbers of `names`."""

    who: Ints
    x: Floats
    y: Floats
    entry: Ints  # −1: of no line
    names: tuple[str, ...] = ()


class Axis(NamedTuple):
    """What x is: iterations, or seconds since the job's first moment."""

    by_iteration: bool
    begin: int  # ns UTC
    timeline: Timeline

    @property
    def label(self) -> str:
        """Name it."""
        return "iteration" if self.by_iteration else "seconds"

    def of_times(self, times: Ints) -> Floats:
        """Place moments on it."""
        if not self.by_iteration:
            return np.asarray((times - self.begin) / SECOND)
        begins, numbers = self.timeline.begins()
        if not len(begins):
            return np.full(len(times), np.nan)
        reached = np.maximum.accumulate(numbers.astype(np.float64))
        return np.interp(times.astype(np.float64), begins.astype(np.float64), reached)

    def of_entry(self, snapshot: Snapshot, entry: int) -> float:
        """Place a line on it; NaN where it stands nowhere."""
        if self.by_iteration:
            number = snapshot.iteration_at(entry)
            return float(number) if number >= 0 else float("nan")
        clock = int(snapshot.clock[entry])
        return float("nan") if clock == NO_TIME else (clock - self.begin) / SECOND


def telling(names: Sequence[str], verdict: str) -> int:
    """Find the series that a verdict is about ("rank 5 in train: forward takes …"), else a loss, else the first."""
    told = verdict.partition(": ")[2].removeprefix("the ").lower()
    about = [name for name in names if told.startswith(f"{name.lower()} ")]
    return names.index(max(about, key=len) if about else next((n for n in names if "loss" in n.lower()), names[0]))


class Gauges:
    """Reads series in slices; one thread reads, any thread asks."""

    def __init__(self, index: TelemetryIndex, outside: Callable[[], Sequence[Outside]]) -> None:
        self.index = index
        self._load = outside
        self._curves: tuple[Outside, ...] | None = None
        self._lock, self._loading = threading.Lock(), threading.Lock()

    def read(self, snapshot: Snapshot) -> bool:
        """Read for a moment; say whether there is more to read."""
        with self._lock:
            stop = threading.Event()
            timer = threading.Timer(SLICE_S, stop.set)
            timer.daemon = True
            timer.start()
            try:
                self.index.update(snapshot, stop)
            finally:
                timer.cancel()
            return stop.is_set()

    @property
    def outside(self) -> tuple[Outside, ...]:
        """What stands beside the logs; read once."""
        with self._loading:  # list and chart are made by two threads
            if self._curves is None:
                self._curves = tuple(self._load())
            return self._curves

    @property
    def marks(self) -> list[Mark]:
        """Events of the machines that have a time."""
        return [mark for one in self.outside for mark in one.marks if mark.time != NO_TIME]

    def names(self) -> list[Gauge]:
        """List the numeric series that vary, metrics first."""
        out = [
            Gauge(s.info.name, s.info.unit, s.samples, s.low, s.high, s.odd, False)
            for s in self.index.names()
            if s.info.type is not Type.TEXT and (s.spans or s.low < s.high or s.odd)
        ]
        return out + self._outside_names()

    def _outside_names(self) -> list[Gauge]:
        found: dict[str, list[float]] = {}
        units: dict[str, str] = {}
        for one in self.outside:
            for curve in one.curves:
                name = f"{curve.name} ({one.source})"
                finite = curve.value[np.isfinite(curve.value)]
                low, high = (float(finite.min()), float(finite.max())) if len(finite) else (np.nan, np.nan)
                known = found.setdefault(name, [0, np.inf, -np.inf, 0])
                found[name] = [
                    known[0] + len(curve.value), np.fmin(known[1], low), np.fmax(known[2], high),
                    known[3] + len(curve.value) - len(finite),
                ]  # fmt: skip
                units[name] = curve.unit
        return [Gauge(n, units[n], int(v[0]), v[1], v[2], int(v[3]), True) for n, v in sorted(found.items())]

    def axis(self, snapshot: Snapshot, timeline: Timeline) -> Axis:
        """Choose the axis: iterations where the job tells them, and does not begin anew with every epoch."""
        known = snapshot.clock[snapshot.clock != NO_TIME]
        by_iteration = len(timeline.begins()[0]) > 1 or _counts(snapshot)
        by_iteration &= not len(known) or not _begins_anew(snapshot)
        return Axis(by_iteration, int(known.min()) if len(known) else 0, timeline)

    def samples(self, gauge: Gauge, snapshot: Snapshot, axis: Axis, ranks: Sequence[int] | None = None) -> Samples:
        """Return a series on an axis."""
        if gauge.is_outside:
            return self._outside_samples(gauge, axis)
        points = self.index.values(gauge.name, snapshot, ranks)
        if axis.by_iteration:
            x = points.iteration.astype(np.float64)
            keep = points.iteration >= 0
        else:
            x, keep = (points.time - axis.begin) / SECOND, points.time != NO_TIME
        if not keep.any():
            x, keep = np.arange(len(points.value), dtype=np.float64), np.ones(len(points.value), np.bool_)
        return Samples(points.rank[keep].astype(np.int64), x[keep], points.value[keep], points.entry[keep])

    def _outside_samples(self, gauge: Gauge, axis: Axis) -> Samples:
        parts: list[tuple[int, Floats, Floats]] = []
        names: list[str] = []
        for one in self.outside:
            for curve in one.curves:
                if f"{curve.name} ({one.source})" == gauge.name:
                    by_step = axis.by_iteration and bool((curve.step >= 0).any())  # event files know theirs
                    known = curve.step >= 0 if by_step else curve.time != NO_TIME
                    x = curve.step[known].astype(np.float64) if by_step else axis.of_times(curve.time[known])
                    parts.append((len(names), x, curve.value[known]))
                    device = f":{curve.device}" if curve.device >= 0 else ""
                    names.append(f"{curve.node or PurePath(one.path).parent.name or 'here'}{device}")
        who = np.concatenate([np.full(len(x), n, np.int64) for n, x, _ in parts] or [np.empty(0, np.int64)])
        x = np.concatenate([x for _, x, _ in parts] or [np.empty(0)])
        y = np.concatenate([y for _, _, y in parts] or [np.empty(0)])
        return Samples(who, x, y, np.full(len(x), UNKNOWN, np.int64), tuple(names))


def job_gauges(job: Job, config: Config) -> Gauges:
    """Make the gauges of a job: the rules of the config file, and the machines' files beside its logs."""
    from l4tui.engine.telemetry.outside import Shelf
    from l4tui.opening import own_series

    def outside() -> tuple[Outside, ...]:
        return Shelf().outside(job.snapshot(), job.options.beside, job.options.utc_offset_s)

    return Gauges(TelemetryIndex(own_series(config)), outside)


def _begins_anew(snapshot: Snapshot) -> bool:
    """Tell whether iterations are counted from the start again and again, as within epochs; restarts are fewer."""
    rows = np.flatnonzero((snapshot.flags[:LOOKED_AT] & Flag.MARKED) != 0)
    if not len(rows):
        return False
    speaker = snapshot.speaker[rows]
    told = snapshot.iteration[rows[speaker == np.bincount(speaker).argmax()]]
    return int((np.diff(told) < 0).sum()) >= EPOCHS


def _counts(snapshot: Snapshot) -> bool:
    told = snapshot.iteration[snapshot.iteration >= 0]
    return bool(len(told)) and int(told.min()) != int(told.max())
