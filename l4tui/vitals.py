"""How a job is doing, read from the end of a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from l4tui.engine.model import NO_TIME, UNKNOWN, Flag, Kind, Level, LineClass

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

TAIL = 100_000  # entries in which iterations are timed, and that the ends of all sources share
LEAST = 16  # entries of a source's end
MOST_BLOCKS = 1 << 14  # merged blocks; who is in none of so many has long said nothing
PREAMBLE = 4096  # entries in which a source's first time is looked for
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
    tail = np.arange(max(snapshot.length - TAIL, 0), snapshot.length)
    ends = _ends(snapshot)
    last = tail if ends is None else ends[_latest(snapshot.clock[ends])]
    stages = snapshot.stage[tail]
    staged = np.flatnonzero(stages >= 0)
    plans = snapshot.plan[last[-END:]]
    classes, levels = snapshot.plans.line_class[plans], snapshot.plans.level[plans]
    return Vitals(
        heard=len(counts.per_rank),
        iteration=_reached(snapshot, tail if ends is None else ends),
        stage=int(stages[staged[-1]]) if len(staged) else -1,
        durations=_timed(snapshot, tail),
        ends_badly=bool(((levels == Level.FATAL) | (classes == LineClass.RAISED)).any()),
    )


def _ends(snapshot: Snapshot) -> np.ndarray | None:
    """Return the last entries of every source, ascending; None where there is only one source."""
    first, source = snapshot.blocks.first[-MOST_BLOCKS:], snapshot.blocks.source[-MOST_BLOCKS:]
    size = np.diff(first, append=snapshot.length)
    newest = np.argsort(source[::-1], kind="stable")  # the blocks of each source, the last one first
    newest = len(source) - 1 - newest
    starts = np.flatnonzero(np.diff(source[newest], prepend=-1))
    if len(starts) < 2:
        return None
    before = np.cumsum(size[newest]) - size[newest]
    behind = before - np.repeat(before[starts], np.diff(starts, append=len(newest)))  # entries of its source after it
    taken = np.minimum(size[newest], np.maximum(max(TAIL // len(starts), LEAST) - behind, 0))
    begins = (first + size)[newest] - taken
    at = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    return np.sort(np.repeat(begins, taken) + at)


def _latest(clock: np.ndarray) -> np.ndarray:
    """Return the places of the last END times, in their order."""
    bound = max(len(clock) - END, 0)
    late = np.flatnonzero(clock >= np.partition(clock, bound)[bound])
    return np.asarray(late[np.argsort(clock[late], kind="stable")])


def _reached(snapshot: Snapshot, entries: np.ndarray) -> int:
    """Return the highest iteration that any speaker of the newest attempt is in at its end, -1 unknown.

    Speakers that say no iterations stay behind in the last one that others told them of. What had ended before the
    source of the latest line began belongs to an earlier run.
    """
    ranks, clock, told = snapshot.ranks, snapshot.clock, snapshot.columns["iteration"]
    heard = ranks.attempt[ranks.kind == Kind.RANK]
    newest = int((heard if len(heard) else ranks.attempt).max(initial=UNKNOWN))
    known = entries[told[entries] >= 0]
    speaker = snapshot.speaker[known]
    last = np.full(len(ranks.attempt), UNKNOWN, np.int64)
    last[speaker] = known  # the last assignment stays
    last = last[(last >= 0) & (ranks.attempt == newest)]
    if not len(last):
        return UNKNOWN
    latest = last[np.argmax(clock[last])]
    begun = min(_begun(snapshot, latest), int(clock[latest]))  # ranks whose clocks differ share a source
    return int(told[last[clock[last] >= begun]].max())


def _begun(snapshot: Snapshot, entry: np.int64) -> int:
    """Return the first time of an entry's source, NO_TIME where it is not soon told."""
    blocks = snapshot.blocks
    block = int(np.searchsorted(blocks.first, entry, "right")) - 1
    first = int(blocks.first[np.argmax(blocks.source == blocks.source[block])])
    clock = snapshot.clock[first : first + PREAMBLE]
    return int(clock[np.argmax(clock != NO_TIME)])


def _timed(snapshot: Snapshot, tail: np.ndarray) -> tuple[float, ...]:
    """Measure the iterations of the newest attempt that the last entries mark."""
    marked = tail[np.flatnonzero(snapshot.flags[tail[0] : tail[-1] + 1] & Flag.MARKED)]
    attempts = snapshot.ranks.attempt[snapshot.speaker[marked]]
    marked = marked[attempts == attempts.max(initial=UNKNOWN)]
    marked = _commonest(snapshot.plans.event[snapshot.plan[marked]], marked)
    return iteration_durations(snapshot.columns["iteration"][marked], snapshot.clock[marked])


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
