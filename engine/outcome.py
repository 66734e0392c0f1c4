"""How the job ended, from its text alone."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.record import Journal
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.roles import Sighting


class Outcome(StrEnum):
    """The words of the report."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    HUNG = "hung"
    UNKNOWN = "unknown"


ENDED = 0.5  # share of the ranks that must have ended well, where ranks say so
ENDS = (
    "elastic.child-failed",
    "elastic.table",
    "slurm.task-died",
    "slurm.cancelled",
    "mpirun.rank-died",
    "mpirun.abort-code",
)


def is_completed(journal: Journal, sightings: list[Sighting], attempt: int) -> bool:
    """Tell whether this attempt reached its end: a success line, and no launcher that tells of a failure after it."""
    good = [s for s in sightings if s.pattern.id == "success.end" and journal.era[s.row] == attempt]
    if not good:
        return False
    last = max(s.row for s in good)
    raised = {s.rank for s in sightings if s.role is Role.INITIATING and s.row > last and journal.era[s.row] == attempt}
    if 2 * len(raised - {UNKNOWN}) > len(journal.ranks):
        return False
    failed = [s for s in sightings if s.pattern.id in ("elastic.child-failed", "slurm.task-died", "mpirun.rank-died")]
    return not any(
        journal.era[s.row] == attempt and s.row > min(g.row for g in good) and _same_end(journal, s, last)
        for s in failed
    )


def _same_end(journal: Journal, failed: Sighting, last: int) -> bool:
    """A failure in another source than the success line counts by time, else by place."""
    a, b = int(journal.clock[failed.row]), int(journal.clock[last])
    if journal.source[failed.row] == journal.source[last] or NO_TIME in (a, b):
        return True
    return abs(a - b) < 600 * 10**9


def outcome_of(case: Case) -> Outcome:
    """Judge the last attempt's end."""
    if case.completed:
        return Outcome.COMPLETED
    if _hangs(case):
        return Outcome.HUNG
    ended = [s for s in case.sightings if s.pattern.id in ENDS or s.role is Role.CASCADE or s.role is Role.TEARDOWN]
    begun = [s for s in case.roles(Role.INITIATING) if s.pattern.cause != "straggler"]  # who is slow ends nothing
    if ended or begun or case.ends_in_errors:
        return Outcome.FAILED
    return Outcome.RUNNING if any(life.marked >= 0 for life in case.lives.values()) else Outcome.UNKNOWN


def _hangs(case: Case) -> bool:
    """Something waits for ever: a launcher that only started while another failed, or waiting without an end."""
    j = case.journal
    failed_sources = {int(j.source[s.row]) for s in case.roles(Role.INITIATING) if s.pattern.blames is Blames.NODE}
    began = any(life.marked >= 0 for life in case.lives.values()) or len(case.ticks) > 0
    if failed_sources and not began and not case.ranks and len(j.sources) > 1:
        rest = set(np.unique(j.source).tolist()) - failed_sources
        told = {int(j.source[s.row]) for s in case.roles(Role.INITIATING, Role.CASCADE, Role.TEARDOWN)}
        return bool(rest - told)
    stalled = ("gang.no-progress", "horovod.stalled", "horovod.missing-row")
    waits = [s for s in case.sightings if s.pattern.id in stalled]
    ends = [s for s in case.sightings if s.pattern.id in ENDS]
    return bool(waits) and not ends
