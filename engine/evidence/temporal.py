"""L4 temporal: ranks that wrote what makes the last odd iteration odd."""

from __future__ import annotations

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.l4.temporal import Kind, Odd
from l4tui.engine.l4.words import iteration_sentence

KIND = "temporal"
FEW = 3  # a third of the ranks at most: what most write befalls them all
STRONG = 8.0  # deviations, and one rank alone


def judge(case: Case) -> list[Finding]:
    """Accuse the few ranks whose lines make the last odd iteration unlike those before it."""
    if case.completed:
        return []
    told = [o for o in case.l4.temporal.flagged if o.kind in (Kind.EXTRA, Kind.REPEATED) and o.ranks]
    return [f for o in told[-1:] if FEW * len(o.ranks) <= len(case.ranks) for f in _findings(case, o)]


def _findings(case: Case, odd: Odd) -> list[Finding]:
    alone = len(odd.ranks) == 1 and odd.score >= STRONG
    words = iteration_sentence(case, odd)
    rank = case.journal.rank
    return [
        Finding(
            kind=KIND,
            strength=Strength.STRONG if alone else Strength.WEAK,
            sentence=words,
            rank=r,
            rows=tuple(row for row in odd.rows if rank[row] == r)[:20],
            iteration=odd.iteration,
        )
        for r in odd.ranks
    ]
