"""Iterations of sources that never say one: what the job's other sources were doing at that time.

Typical: one file a node, and only the last rank prints the iteration line. A source with a marker of its own is left
alone: the merge has carried its markers to all of its lines.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN, Flag, Marker

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

Ints = NDArray[np.int64]

CHUNK = 1 << 22  # entries looked at together: bounds the memory of what is computed on the way
AT_ONCE = 1 << 19  # entries learnt from while somebody waits: 10 ms
_SHIFT = 32  # attempt above it, iteration below
_NEVER = int(np.iinfo(np.int64).max)


class Timeline:
    """When each iteration of the job began: the earliest time at which any line says so."""

    def __init__(self) -> None:
        self.marked: set[int] = set()  # sources that say iterations
        self._begins: dict[int, int] = {}  # attempt << 32 | iteration → ns
        # one attribute, replaced as a whole: threads read it while another one learns
        self._reached = np.empty(0, np.int64), np.empty(0, np.int64)  # times, ascending, and the iteration each began
        self.latest = NO_TIME  # time of the last marker

    def update(self, snap: Snapshot, begin: int) -> int:
        """Learn from entries `begin`…; return the earliest time whose iteration is now another, else _NEVER."""
        ends = range(begin + CHUNK, snap.length + CHUNK, CHUNK)
        return min((self._learn(snap, end - CHUNK, min(end, snap.length)) for end in ends), default=_NEVER)

    def _learn(self, snap: Snapshot, begin: int, end: int) -> int:
        none = _NEVER
        rows = begin + np.flatnonzero(snap.flags[begin:end] & Flag.MARKED)
        if not len(rows):
            return none
        held = np.diff(np.append(np.searchsorted(rows, snap.blocks.first), len(rows)))
        self.marked.update(np.unique(snap.blocks.source[held > 0]).tolist())
        times = snap.clock[rows]
        rows, times = rows[times != NO_TIME], times[times != NO_TIME]
        if not len(rows):
            return none
        self.latest = max(self.latest, int(times.max()))
        closes = snap.plans.marker[snap.plan[rows]] == Marker.CLOSE
        attempt = np.maximum(snap.ranks.attempt[snap.speaker[rows]], 0).astype(np.int64)
        keys = (attempt << _SHIFT) + snap.columns["iteration"][rows] + closes
        runs = np.flatnonzero(np.diff(keys, prepend=-1))  # ranks that share a file say the same one after the other
        keys, times = keys[runs], np.minimum.reduceat(times, runs)
        order = np.lexsort((times, keys))
        keys, times = keys[order], times[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        changed = [
            (key, time)
            for key, time in zip(keys[first].tolist(), times[first].tolist(), strict=True)
            if time < self._begins.get(key, none)
        ]
        if not changed:
            return none
        self._begins.update(changed)
        begins = np.fromiter(self._begins.values(), np.int64, len(self._begins))
        values = np.fromiter(self._begins.keys(), np.int64, len(self._begins))
        order = np.lexsort((values, begins))
        self._reached = begins[order], values[order] & ((1 << _SHIFT) - 1)
        return min(time for _, time in changed)

    def begins(self) -> tuple[Ints, Ints]:
        """Return when iterations began (ns UTC, ascending) and their numbers."""
        return self._reached

    def at(self, times: Ints) -> Ints:
        """Return the iteration at times (ns UTC), −1 before the first and where there is no time."""
        begins, numbers = self._reached
        if not len(begins):
            return np.full(len(times), UNKNOWN, np.int64)
        at = np.searchsorted(begins, times, "right") - 1
        return np.where((at >= 0) & (times != NO_TIME), numbers[np.maximum(at, 0)], UNKNOWN)


def unmarked(snap: Snapshot, timeline: Timeline, entries: Ints) -> NDArray[np.bool_]:
    """Say which entries have no iteration and stand in a source that never says one."""
    out = snap.columns["iteration"][entries] < 0
    at = np.flatnonzero(out)
    if len(at) and timeline.marked:
        out[at] = ~np.isin(snap.source_of(entries[at]), list(timeline.marked))
    return out


class FillCache:
    """Gives entries their iterations; remembers the timeline from snapshot to snapshot of one job."""

    def __init__(self) -> None:
        self._timeline = Timeline()
        self._silent = np.empty(0, np.int32)  # sources that say no iteration
        self._seen = 0
        self._lock = threading.Lock()

    def of(self, snap: Snapshot) -> NDArray[np.int32]:
        """Return the iteration of every entry; costs nothing where every source says its own."""
        told = snap.columns["iteration"]
        timeline, silent = self._learnt(snap)
        if not timeline.marked or not len(silent):
            return told
        ends = np.append(snap.blocks.first[1:], snap.length)
        filled = told.copy()
        for block in np.flatnonzero(np.isin(snap.blocks.source, silent)).tolist():
            here = slice(int(snap.blocks.first[block]), int(ends[block]))
            part, clock = filled[here], snap.clock[here]
            open_ = np.flatnonzero(part < 0)
            part[open_] = timeline.at(clock[open_])
        return filled

    def some(self, snap: Snapshot, entries: Ints) -> NDArray[np.int32]:
        """Return the iterations of these entries only: their number is the cost, not the job's size."""
        told = snap.columns["iteration"][entries]
        open_ = np.flatnonzero(told < 0)
        if not len(open_):
            return told
        timeline, silent = self._learnt(snap)
        open_ = open_[np.isin(snap.source_of(entries[open_]), silent)]
        told[open_] = timeline.at(snap.clock[entries[open_]])
        return told

    def one(self, snap: Snapshot, entry: int) -> int:
        """Return the iteration of an entry without waiting: of a large job what `learn` has found so far."""
        told = int(snap.columns["iteration"][entry])
        if told >= 0:
            return told
        here = np.array([entry])
        if snap.length - self._seen <= AT_ONCE:
            return int(self.some(snap, here)[0])
        timeline = self._timeline
        if int(snap.source_of(here)[0]) in timeline.marked:
            return told
        return int(timeline.at(snap.clock[here])[0])

    def learn(self, snap: Snapshot) -> None:
        """Find out when iterations began, for those who will ask; takes a second for 40 million entries."""
        self._learnt(snap)

    def _learnt(self, snap: Snapshot) -> tuple[Timeline, NDArray[np.int32]]:
        """Return the timeline, and the sources that say no iteration."""
        with self._lock:
            if self._seen < snap.length:
                self._timeline.update(snap, self._seen)
                self._seen = snap.length
                self._silent = np.setdiff1d(snap.blocks.source, list(self._timeline.marked))
            return self._timeline, self._silent
