"""The paper's two baselines: who complained first, and who complained most."""

from __future__ import annotations

import numpy as np

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.record import Ints
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import NO_TIME, Level, LineClass


def _error_rows(case: Case) -> Ints:
    j = case.journal
    loud = (j.level >= Level.ERROR) | (j.line_class == LineClass.RAISED)
    loud[[s.row for s in case.sightings if s.role in {Role.INITIATING, Role.CASCADE}]] = True
    return np.flatnonzero(case.mask & (j.rank >= 0) & loud).astype(np.int64)


def error_time(case: Case) -> list[tuple[int, float]]:
    """Rank by the time of the first error line, earliest first; scores fall from 1."""
    j = case.journal
    first: dict[int, tuple[int, int]] = {}
    for row in _error_rows(case).tolist():
        when = int(j.clock[row])
        first.setdefault(int(j.rank[row]), (when if when != NO_TIME else 0, row))
    ranked = sorted(first, key=lambda r: first[r])
    return [(r, 1.0 / (at + 1)) for at, r in enumerate(ranked)]


def error_count(case: Case) -> list[tuple[int, float]]:
    """Rank by the number of error lines, most first; scores are shares."""
    ranks, counts = np.unique(case.journal.rank[_error_rows(case)], return_counts=True)
    total = max(1, int(counts.sum()))
    order = np.argsort(-counts, kind="stable")
    return [(int(ranks[i]), float(counts[i] / total)) for i in order]


def judge(case: Case) -> list[Finding]:
    """Accuse, weakly and as a last resort, the rank whose error came first."""
    if case.completed:
        return []
    ranked = error_time(case)
    if not ranked or not (case.ends_in_errors or case.roles(Role.INITIATING, Role.CASCADE, Role.TEARDOWN)):
        return []
    rank = ranked[0][0]
    rows = [r for r in _error_rows(case).tolist() if case.journal.rank[r] == rank][:1]
    return [
        Finding(
            "error_time",
            Strength.WEAK,
            f"{word_ranks([rank])} wrote the first error line",
            rank,
            None,
            tuple(rows),
            False,
            int(case.journal.iteration[rows[0]]),
        )
    ]
