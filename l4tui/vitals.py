"""How a job is doing, read from the end of a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from l4tui.engine.model import NO_TIME, Flag, Level, LineClass

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

TAIL = 100_000  # entries in which iterations are timed
END = 300  # entries in which the job's end is looked for
SECOND = 1e9
SILENT_MIN_S = 30.0  # nothing is called silent before
SILENT_ITERATIONS = 5.0  # and not before this many usual iterations


class Vitals(NamedTuple):
    """Where the job has got to; nothing here depends on the clock on the wall."""

    heard: int = 0
    iteration: int = -1
    stage: int = -1
    durations: tuple[float, ...] = ()  # seconds of the last iterations, oldest first
    ends_badly: bool = False  # an exception or a fatal line stands at the very end

    @property
    def patience_s(self) -> float:
        """Seconds without a line after which the job counts as silent."""
        usual = float(np.median(self.durations)) if self.durations else 0.0
        return max(SILENT_MIN_S, SILENT_ITERATIONS * usual)


def vitals_of(snapshot: Snapshot) -> Vitals:
    """Read the vitals of a snapshot."""
    counts = snapshot.counts()
    if snapshot.length == 0:
        return Vitals(len(counts.per_rank))
    tail = slice(max(snapshot.length - TAIL, 0), snapshot.length)
    iterations = snapshot.iteration_of(np.arange(tail.start, tail.stop))
    clock = snapshot.clock[tail]
    marked = np.flatnonzero(snapshot.flags[tail] & Flag.MARKED)
    markers = _commonest(snapshot.plans.event[snapshot.plan[tail][marked]], marked)
    known = np.flatnonzero(iterations >= 0)
    stages = snapshot.stage[tail]
    staged = np.flatnonzero(stages >= 0)
    plans = snapshot.plan[max(snapshot.length - END, 0) : snapshot.length]
    classes, levels = snapshot.plans.line_class[plans], snapshot.plans.level[plans]
    return Vitals(
        heard=len(counts.per_rank),
        iteration=int(iterations[known[-1]]) if len(known) else -1,
        stage=int(stages[staged[-1]]) if len(staged) else -1,
        durations=iteration_durations(iterations[markers], clock[markers]),
        ends_badly=bool(((levels == Level.FATAL) | (classes == LineClass.RAISED)).any()),
    )


def _commonest(events: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Keep the entries of the commonest event: lines of one kind are an iteration apart, lines of several are not."""
    if not len(events):
        return entries
    kinds, counts = np.unique(events, return_counts=True)
    return np.asarray(entries[events == kinds[np.argmax(counts)]])


def iteration_durations(iterations: np.ndarray, clock: np.ndarray, most: int = 48) -> tuple[float, ...]:
    """Measure iterations between their first marker lines; seconds, oldest first.

    iterations, clock: of the marker lines, in any order.
    """
    timed = (iterations >= 0) & (clock != NO_TIME)
    iterations, clock = iterations[timed], clock[timed]
    if not len(iterations):
        return ()
    numbers, which = np.unique(iterations, return_inverse=True)
    starts = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(starts, which, clock)
    steps = np.diff(starts) / SECOND
    valid = (np.diff(numbers) == 1) & (steps >= 0)
    valid[:1] = False  # the first one seen may have begun before the tail
    return tuple(steps[valid][-most:].tolist())
