"""Stall watch: who has fallen silent, and which iteration is overdue."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.iterations import Timeline
from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.progress import Ranks

OVERDUE = 5.0  # usual iteration times without a new one
SILENT = 3.0  # usual iteration times behind the last of its peers, for a rank
LEAST_NS = 10_000_000_000  # less than this is no stall, whatever is usual
QUIET_NS = 60_000_000_000  # silence of a job that has no iterations
RECENT = 50  # iterations that tell what is usual

Ints = NDArray[np.int64]


class Pace(StrEnum):
    """What the job does."""

    RUNNING = "running"
    OVERDUE = "overdue"  # lines come, iterations do not
    SILENT = "silent"  # nothing comes


class Stall(NamedTuple):
    """The job's pace at a moment."""

    pace: Pace
    iteration: int  # the last one that began; −1
    since_ns: int  # since it began
    usual_ns: int  # median time of the last iterations; 0 unknown
    silent_ranks: tuple[int, ...]  # behind their peers, who fell silent first comes first


def pace_of(timeline: Timeline, ranks: Ranks, now: int) -> Stall:
    """Judge the pace at `now` (ns UTC, on the log's own clock)."""
    times = ranks.time[ranks.time != NO_TIME]
    last = int(times.max()) if len(times) else NO_TIME
    silence = max(now - last, 0) if last != NO_TIME else 0
    begins, numbers = timeline.begins()
    usual = _usual(begins)
    since = max(now - int(begins[-1]), 0) if len(begins) else 0
    limit = max(LEAST_NS, int(OVERDUE * usual)) if usual else QUIET_NS
    pace = Pace.RUNNING
    if silence > limit:
        pace = Pace.SILENT
    elif usual and since > limit:
        pace = Pace.OVERDUE
    iteration = int(numbers[-1]) if len(numbers) else UNKNOWN
    return Stall(pace, iteration, since, usual, silent_ranks(ranks, usual))


def _usual(begins: Ints) -> int:
    lasts = np.diff(begins[-RECENT - 1 :])
    return int(np.median(lasts)) if len(lasts) else 0


def silent_ranks(ranks: Ranks, usual_ns: int) -> tuple[int, ...]:
    """Return ranks whose last line is far before that of most peers, the first to fall silent first."""
    timed = np.flatnonzero(ranks.time != NO_TIME)
    if len(timed) < 3:
        return ()
    times = ranks.time[timed]
    behind = int(np.median(times)) - times
    limit = max(LEAST_NS if not usual_ns else 2_000_000_000, int(SILENT * usual_ns))
    found = timed[behind > limit]
    return tuple(ranks.rank[found[np.argsort(ranks.time[found], kind="stable")]].tolist())
