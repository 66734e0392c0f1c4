"""Temporal comparison: iterations whose events are unlike those of the iterations before them.

The distance of two iterations is DTW over their events (Sakoe-Chiba band, dtaidistance's C code); similarity is 1 less
their distance over the largest one, a scale that cancels below, so that distances are kept. An iteration is judged by
its mean over up to `WINDOW` iterations before it and flagged where that lies more than `SIGMA` standard deviations on
the unlike side of the middle. Ours, where the paper leaves it open: the middle is the median and the deviation the MAD
(with few iterations the odd one would inflate both), at least `LEAST_SPREAD`; and a flagged iteration must say how it
differs (`Kind`), else it is one of a habit, as every tenth with its checkpoint. Sequences keep the events that healthy
jobs write, for without them nothing is usual; such an event alone never makes an iteration odd.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.record import Ints, Journal
from l4tui.engine.l4.counts import Floats, Mask
from l4tui.engine.l4.sequences import Sequences, sequences_of, values_of

WINDOW = 10
SIGMA = 3.0
LEAST_BEFORE = 3  # iterations that must precede: fewer are no habit
LEAST_SPREAD = 1.0  # one event a place further, or with twice the lines
MAD = 1.4826
BAND = 16  # places by which DTW may shift
RARE = 0.05  # share of the iterations up to which an event is extra
ALWAYS = 0.9  # share from which on its absence is missed
REPEATED = 3.0  # doublings above the event's most in all other iterations
SLOW, SLOW_SIGMA = 1.5, 8.0  # times the median duration, and deviations above it
MOST_SHOWN = 64  # flagged iterations, least similar first
MOST_ROWS = 200  # lines of one


class Kind(StrEnum):
    """How an iteration differs from those before it."""

    EXTRA = "extra_lines"
    MISSING = "missing_lines"
    REPEATED = "repeated"
    SLOW = "slow"


class Odd(NamedTuple):
    """A flagged iteration: how many deviations it lies out, how, which events, whose lines."""

    iteration: int
    score: float
    kind: Kind
    events: tuple[int, ...]
    ranks: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Temporal:
    """Mean distance of each iteration to those before it (NaN where too few precede), and the flagged ones."""

    iterations: Ints
    distance: Floats
    flagged: tuple[Odd, ...]  # in order of iteration
    deviations: Floats  # by how many the distance lies above the middle; 0 where it is not judged
    seconds: Floats  # durations by the clock, NaN where unknown
    first: Ints  # journal row of each iteration's first line


def compare(case: Case, rows: Ints, usual: Mask) -> Temporal:
    """Return what is odd in an attempt's iterations; `usual` tells which events healthy jobs write."""
    found = sequences_of(case, rows)
    distance = distances(values_of(found))
    judge = _Judge(case, rows, found, usual)
    scores = _scores(distance)
    order = np.argsort(-scores, kind="stable")
    odd: list[Odd] = []
    for at in order[scores[order] > SIGMA].tolist():
        if len(odd) < MOST_SHOWN and (one := judge.differs(at, float(scores[at]))) is not None:
            odd.append(one)
    taken = {o.iteration for o in odd}
    odd += [o for o in judge.slow() if o.iteration not in taken]
    flagged = tuple(sorted(odd, key=lambda o: o.iteration))
    first = found.first[found.bounds()[:-1]]
    return Temporal(found.iterations, distance, flagged, scores, found.seconds, first)


def distances(values: list[Floats]) -> Floats:
    """Return the mean distance of each sequence to up to `WINDOW` before it, NaN where too few precede."""
    ids: dict[bytes, int] = {}
    same = [ids.setdefault(v.tobytes(), at) for at, v in enumerate(values)]  # most iterations are alike: compared once
    known: dict[tuple[int, int], float] = {}
    out = np.full(len(values), np.nan)
    for at in range(LEAST_BEFORE, len(values)):
        total = 0.0
        before = range(max(0, at - WINDOW), at)
        for other in before:
            pair = (min(same[at], same[other]), max(same[at], same[other]))
            if pair not in known:
                a, b = values[pair[0]], values[pair[1]]
                known[pair] = 0.0 if pair[0] == pair[1] else _distance(a, b)
            total += known[pair]
        out[at] = total / len(before)
    return out


def _distance(one: Floats, other: Floats) -> float:
    from dtaidistance import dtw_cc  # C code; 10 ms of CPU

    if not len(one) or not len(other):
        return float(np.sqrt(np.square(np.concatenate((one, other)) + 1.0).sum()))  # every event has no counterpart
    return float(dtw_cc.distance(one, other, window=BAND + abs(len(one) - len(other))))


def _scores(distance: Floats) -> Floats:
    """Return by how many deviations each lies above the middle; 0 where it is not judged."""
    known = distance[~np.isnan(distance)]
    if not len(known):
        return np.zeros(len(distance))
    middle = float(np.median(known))
    spread = max(MAD * float(np.median(np.abs(known - middle))), LEAST_SPREAD)
    return np.nan_to_num((distance - middle) / spread)


class _Judge:
    """Says how an iteration differs, with the lines and ranks that show it."""

    def __init__(self, case: Case, rows: Ints, found: Sequences, usual: Mask) -> None:
        self.case, self.found, self.usual = case, found, usual
        j = case.journal
        mine = rows[j.iteration[rows] >= 0]
        order = np.argsort(j.iteration[mine], kind="stable")
        self.rows = mine[order]
        self.edges = np.searchsorted(j.iteration[self.rows], np.append(found.iterations, np.iinfo(np.int32).max))
        self.bounds = found.bounds()
        self.seen = np.bincount(found.event, minlength=found.events)
        self.last = len(found.iterations) - 1

    def differs(self, at: int, score: float) -> Odd | None:
        """Return what an iteration has more or less than the others, None where that is a habit."""
        s = self.found
        mine = slice(int(self.bounds[at]), int(self.bounds[at + 1]))
        rare = max(1.0, RARE * len(s.iterations))
        extra = s.event[mine][self.seen[s.event[mine]] <= rare]
        extra = extra[~self.usual[extra]]
        if len(extra):
            return self._odd(at, score, Kind.EXTRA, extra)
        lines = self._most_elsewhere(s.event[mine], at)
        often = s.event[mine][np.log2(s.lines[mine]) >= np.log2(np.maximum(lines, 1)) + REPEATED]
        often = often[~self.usual[often]]
        if len(often):
            return self._odd(at, score, Kind.REPEATED, often)
        always = np.flatnonzero(self.seen >= ALWAYS * (len(s.iterations) - 1))
        missing = np.setdiff1d(always, s.event[mine])
        if len(missing) and at < self.last:  # the last iteration may not be over
            return self._odd(at, score, Kind.MISSING, missing)
        return None

    def _most_elsewhere(self, events: Ints, at: int) -> Ints:
        s = self.found
        others = np.where(s.at == at, 0, s.lines)
        most = np.zeros(s.events, dtype=np.int64)
        np.maximum.at(most, s.event, others)
        return most[events]

    def _odd(self, at: int, score: float, kind: Kind, events: Ints) -> Odd:
        j = self.case.journal
        mine = self.rows[self.edges[at] : self.edges[at + 1]]
        shown = mine[np.isin(j.event[mine], events)] if kind is not Kind.MISSING else np.empty(0, np.int64)
        ranks = ranks_of(j, shown)
        return Odd(
            iteration=int(self.found.iterations[at]),
            score=score,
            kind=kind,
            events=tuple(events.tolist()),
            ranks=ranks,
            rows=tuple(shown[:MOST_ROWS].tolist()),
        )

    def slow(self) -> list[Odd]:
        """Return iterations that took much longer than the median of the attempt."""
        took = self.found.seconds
        known = took[~np.isnan(took)]
        if len(known) <= LEAST_BEFORE:
            return []
        middle = float(np.median(known))
        # clocks of whole seconds: a second more or less is nothing
        spread = max(MAD * float(np.median(np.abs(known - middle))), 0.02 * middle, self.found.tick)
        height = np.nan_to_num((took - middle) / max(spread, 1e-9))
        out = []
        for at in np.flatnonzero((height > SLOW_SIGMA) & (np.nan_to_num(took) > SLOW * middle)).tolist():
            mine = self.rows[self.edges[at] : self.edges[at + 1]]
            shown = mine[self.case.journal.marked[mine]][:MOST_ROWS]
            out.append(Odd(int(self.found.iterations[at]), float(height[at]), Kind.SLOW, (), (), tuple(shown.tolist())))
        return sorted(out, key=lambda o: -o.score)[:MOST_SHOWN]


def ranks_of(journal: Journal, rows: Ints) -> tuple[int, ...]:
    """Return the ranks that wrote rows, ascending."""
    found = np.unique(journal.rank[rows])
    return tuple(int(r) for r in found if r >= 0)
