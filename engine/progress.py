"""How far every rank has come: its last line, time and iteration, kept up with as the log grows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, Kind
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.speakersets import roomy

Ints = NDArray[np.int64]


class Ranks(NamedTuple):
    """One row per known rank, ascending."""

    rank: Ints
    node: Ints  # into snapshot.nodes, −1 unknown
    lines: Ints
    last: Ints  # entry of the last line
    time: Ints  # of it, ns UTC; NO_TIME
    iteration: Ints  # highest one; −1


CHUNK = 1 << 18  # entries between two moments in which other threads may run: a few milliseconds


class Progress:
    """Follows snapshots of one job; the cost of an update is that of its new entries."""

    def __init__(self) -> None:
        self._generation = -1
        self._start_anew()

    def _start_anew(self) -> None:
        self._seen = 0
        self._lines = np.zeros(64, np.int64)  # all per speaker
        self._last = np.full(64, -1, np.int64)
        self._time = np.full(64, NO_TIME, np.int64)
        self._iteration = np.full(64, -1, np.int64)

    def update(self, snap: Snapshot) -> Ranks:
        """Take what is new and return how far every rank has come."""
        if snap.generation != self._generation or snap.length < self._seen:
            self._generation = snap.generation
            self._start_anew()
        n = len(snap.ranks.rank)
        self._lines, self._last = roomy(self._lines, n), roomy(self._last, n, -1)
        self._time, self._iteration = roomy(self._time, n, NO_TIME), roomy(self._iteration, n, -1)
        for begin in range(self._seen, snap.length, CHUNK):
            new = slice(begin, min(begin + CHUNK, snap.length))
            speaker = snap.speaker[new]
            self._lines[:n] += np.bincount(speaker, minlength=n)
            self._last[speaker] = np.arange(new.start, new.stop)  # the last assignment stays
            np.maximum.at(self._time, speaker, snap.clock[new])
            np.maximum.at(self._iteration, speaker, snap.columns["iteration"][new])
        self._seen = snap.length
        return self._by_rank(snap, n)

    def _by_rank(self, snap: Snapshot, n: int) -> Ranks:
        rank, attempt = snap.ranks.rank, snap.ranks.attempt
        known = np.flatnonzero((snap.ranks.kind == Kind.RANK) & (rank >= 0) & (self._lines[:n] > 0))
        if len(known):  # of a job that was started again, the last attempt counts
            known = known[attempt[known] == attempt[known].max()]
        numbers, place = np.unique(rank[known], return_inverse=True)
        lines = np.zeros(len(numbers), np.int64)
        np.add.at(lines, place, self._lines[known])
        out = {}
        for name, values, lowest in (
            ("node", snap.ranks.node[known], -1),
            ("last", self._last[known], -1),
            ("time", self._time[known], NO_TIME),
            ("iteration", self._iteration[known], -1),
        ):
            out[name] = np.full(len(numbers), lowest, np.int64)
            np.maximum.at(out[name], place, values)
        return Ranks(numbers.astype(np.int64), lines=lines, **out)
