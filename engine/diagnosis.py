"""Diagnose a job: match, assign roles, judge each attempt, decide which one tells the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from l4tui.engine.blame import Blame, combine, gather, shipped_weights
from l4tui.engine.evidence.case import Baseline, Case, Suspicion
from l4tui.engine.evidence.finding import Strength
from l4tui.engine.evidence.record import Journal
from l4tui.engine.evidence.roots import EventSeen, events_of
from l4tui.engine.homes import Homes, find_homes
from l4tui.engine.library.loading import Library
from l4tui.engine.library.matching import scan
from l4tui.engine.library.pattern import Role
from l4tui.engine.outcome import Outcome, is_completed, outcome_of
from l4tui.engine.rankers import rank_by
from l4tui.engine.roles import Sighting, sight
from l4tui.engine.telemetry.curves import Outside
from l4tui.engine.verdict import Verdict, conclude


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that reports and panes show; rows index the journal of `case`."""

    case: Case
    blame: Blame
    verdict: Verdict
    outcome: Outcome
    events: tuple[EventSeen, ...]
    attempts: tuple[int, ...]
    removed: int = 0  # events that the baseline explains
    ranker: str = "blame"


def diagnose(
    journal: Journal,
    library: Library,
    *,
    baseline: Baseline | None = None,
    suspicions: Sequence[Suspicion] = (),
    outside: Sequence[Outside] = (),
    ranker: str = "blame",
) -> Diagnosis:
    """Diagnose a job; of several attempts the last one that accuses somebody is told."""
    sightings = sight(journal, scan(journal, library).hits)
    attempts = tuple(int(a) for a in np.unique(journal.era)) or (0,)
    homes = find_homes(journal, sightings)
    given = baseline, tuple(suspicions), tuple(outside)
    found = [_judge(journal, sightings, homes, a, *given) for a in reversed(attempts)]
    outcome = outcome_of(found[0][0])
    case, blame = next((f for f in found if _decides(*f, only=len(found) == 1)), found[0])
    shown = None
    if ranker != "blame":
        blame, shown = rank_by(ranker, case)
    told = outcome if case is found[0][0] else Outcome.FAILED
    removed = int(baseline.usual(journal).sum()) if baseline is not None else 0
    return Diagnosis(
        case=case,
        blame=blame,
        verdict=conclude(case, blame, told),
        outcome=outcome,
        events=tuple(events_of(case, blame)) if shown is None else shown,
        attempts=attempts,
        removed=removed,
        ranker=ranker,
    )


def _judge(
    journal: Journal,
    sightings: list[Sighting],
    homes: Homes,
    attempt: int,
    baseline: Baseline | None,
    suspicions: tuple[Suspicion, ...],
    outside: tuple[Outside, ...],
) -> tuple[Case, Blame]:
    mine = tuple(s for s in sightings if journal.era[s.row] == attempt)
    completed = is_completed(journal, sightings, attempt)
    case = Case(
        journal=journal,
        sightings=tuple(_quiet(s) for s in mine) if completed else mine,
        attempt=attempt,
        completed=completed,
        baseline=baseline,
        suspicions=suspicions,
        outside=outside,
        homes=homes,
    )
    found, job = gather(case)
    return case, combine(case, found, job, shipped_weights())


def _quiet(s: Sighting) -> Sighting:
    """In an attempt that reached its end an error of a rank was survived."""
    survived = s.role in (Role.INITIATING, Role.CASCADE) and s.pattern.cause != "numerics" and not s.pattern.lasting
    return replace(s, role=Role.CONTEXT) if survived else s


def _decides(case: Case, blame: Blame, *, only: bool) -> bool:
    """Tell whether an attempt accuses somebody by more than what an earlier failure leaves behind."""
    if only:
        return True
    if blame.scope == "none":
        return False
    began = any(life.marked >= 0 for life in case.lives.values())
    if not began and not case.roles(Role.INITIATING):
        return False
    return any(
        f.strength is Strength.STRONG
        for f in (*blame.job, *(f for c in blame.ranks[:1] + blame.nodes[:1] for f in c.findings))
    )
