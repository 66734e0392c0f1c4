"""The event sequence of each iteration, as numbers that DTW can compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.record import Ints, Journal
from l4tui.engine.l4.counts import Floats, index_of
from l4tui.engine.model import NO_TIME, Level

LONGEST = 256  # events of one iteration that are compared: the first to appear
USUAL = 0.5  # share of the iterations that makes an event part of the usual sequence
APART = 8.0  # distance of an unusual event from the last usual one, in places of the sequence
TICKS = (10**9, 10**6)  # ns that a clock may count in
PASSING = ("checkpoint", "eval")  # what training is interrupted by
STEP = 1.0  # distance for each doubling of an event's count


@dataclass(frozen=True, slots=True)
class Sequences:
    """Events of iterations: one row per distinct (iteration, event), in order of first appearance in it."""

    iterations: Ints  # numbers, ascending
    at: Ints  # row → index into iterations
    event: Ints
    first: Ints  # row → journal row of the first such line
    lines: Ints  # how many lines
    seconds: Floats  # per iteration: duration by the clock, NaN where unknown
    tick: float  # what the clock can tell apart, in seconds
    events: int  # number of events there are

    def bounds(self) -> Ints:
        """Return where each iteration's rows begin, and the end."""
        return np.searchsorted(self.at, np.arange(len(self.iterations) + 1)).astype(np.int64)

    def share(self) -> Floats:
        """Return for each event in which share of the iterations it appears."""
        seen = np.bincount(self.event, minlength=self.events)
        return np.asarray(seen / max(1, len(self.iterations)), dtype=np.float64)


def sequences_of(case: Case, rows: Ints) -> Sequences:
    """Collect the sequences of an attempt; of all ranks together: an event counts where it first appears.

    An iteration's rows are those that carry its number, so a rank that lags behind still adds to its own iteration.
    """
    j = case.journal
    rows = rows[j.iteration[rows] >= 0]
    iterations = np.unique(j.iteration[rows]).astype(np.int64)
    events = len(j.templates)
    key = index_of(j.iteration[rows], iterations) * events + j.event[rows]
    cells, first, lines = np.unique(key, return_index=True, return_counts=True)
    at, event = np.divmod(cells, max(1, events))
    order = np.lexsort((first, at))
    seconds, tick = _seconds(j, rows, iterations)
    return Sequences(
        iterations=iterations,
        at=at[order].astype(np.int64),
        event=event[order].astype(np.int64),
        first=rows[first[order]],
        lines=lines[order].astype(np.int64),
        seconds=seconds,
        tick=tick,
        events=events,
    )


def _seconds(journal: Journal, rows: Ints, iterations: Ints) -> tuple[Floats, float]:
    """Return durations (in the median over ranks) and the clock's tick.

    An iteration lasts from the marker before it to its own. A checkpoint or an evaluation between the two is none of
    it: it then begins with the last line of that.
    """
    rows = rows[(journal.time[rows] != NO_TIME) & (journal.level[rows] < Level.ERROR)]
    marked = rows[journal.marked[rows]]
    if not len(marked):
        return np.full(len(iterations), np.nan), 0.0
    tick = next((t for t in TICKS if not (journal.time[marked] % t).any()), 0) / 1e9
    begin = int(journal.time[marked].min())
    ends = _middles(journal, marked, iterations, begin)
    since = np.append(np.nan, ends[:-1])
    between = _before(ends, _passing(journal, rows, begin))
    since = np.where(between > since, between, since)
    neighbours = np.diff(iterations, prepend=iterations[0] - 2) == 1
    took = ends - since
    return np.where(neighbours & (took >= 0), took, np.nan), tick


def _middles(journal: Journal, rows: Ints, iterations: Ints, begin: int) -> Floats:
    """Return the (upper) median of the times of each iteration's rows, in seconds since `begin`, NaN without any."""
    since = (journal.time[rows] - begin).astype(np.float64) / 1e9
    at = index_of(journal.iteration[rows], iterations)
    order = np.lexsort((since, at))
    edges = np.searchsorted(at[order], np.arange(len(iterations) + 1))
    known = edges[1:] > edges[:-1]
    out = np.full(len(iterations), np.nan)
    out[known] = since[order][((edges[:-1] + edges[1:]) // 2)[known]]
    return out


def _passing(journal: Journal, rows: Ints, begin: int) -> Floats:
    """Return the times of lines of checkpoints and evaluations, ascending, in seconds since `begin`."""
    stages = [journal.stages.index(name) for name in PASSING]
    mine = rows[np.isin(journal.stage[rows], stages) & ~journal.marked[rows]]
    return np.sort(journal.time[mine] - begin).astype(np.float64) / 1e9


def _before(ends: Floats, times: Floats) -> Floats:
    """Return the last of some ascending times before each end, −infinity where there is none."""
    return np.append(-np.inf, times)[np.searchsorted(times, ends, "left")]


def values_of(s: Sequences) -> list[Floats]:
    """Return each iteration as numbers: usual events by their usual place, unusual ones beyond them all.

    The place is the median over iterations; more or fewer lines than usual shift an event by `STEP` per doubling.
    """
    bounds = s.bounds()
    place = (np.arange(len(s.at)) - bounds[s.at]).astype(np.float64)
    share = s.share()
    usual = np.flatnonzero(share >= USUAL)
    typical = np.zeros(s.events)
    middle = _medians(s.event, place, s.events)
    ordered = usual[np.argsort(middle[usual], kind="stable")]
    typical[ordered] = np.arange(len(ordered))
    rest = np.flatnonzero((share > 0) & (share < USUAL))
    typical[rest] = len(ordered) + APART + np.arange(len(rest)) / max(1, len(rest))
    height = np.log2(np.maximum(s.lines, 1))
    shift = STEP * np.rint(height - _medians(s.event, height, s.events)[s.event])
    value = typical[s.event] + np.clip(shift, -APART, APART)
    return [value[a : min(b, a + LONGEST)] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]


def _medians(group: Ints, value: Floats, groups: int) -> Floats:
    """Return the (lower) median of each group's values, 0 for empty groups."""
    order = np.lexsort((value, group))
    edges = np.searchsorted(group[order], np.arange(groups + 1))
    known = edges[1:] > edges[:-1]
    out = np.zeros(groups)
    out[known] = value[order][((edges[:-1] + edges[1:] - 1) // 2)[known]]
    return out
