"""Rankings to measure against: the paper's two baselines and its own method."""

from __future__ import annotations

from l4tui.engine.blame import SHOWN, Blame, Candidate
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.errors import error_count, error_time
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.l4.ranker import Ranked, rank
from l4tui.engine.model import UNKNOWN

BASELINES = {"error_time": error_time, "error_count": error_count}
NAMES = ("blame", "l4", *BASELINES)


def rank_by(name: str, case: Case) -> Ranked:
    """Rank by one method alone: it accuses whom it puts first, and never nobody unless it ranks nobody."""
    return rank(case) if name == "l4" else Ranked(_by_errors(name, case))


def _by_errors(name: str, case: Case) -> Blame:
    ranks = [_candidate(case, name, rank, score) for rank, score in BASELINES[name](case)[:SHOWN]]
    if not ranks:
        return Blame((), (), (), "none", 0.0)
    nodes: dict[str, Candidate] = {}
    for c in ranks:
        if c.node is not None and c.node not in nodes:
            nodes[c.node] = Candidate(UNKNOWN, c.node, c.decibans, c.parts)
    return Blame(tuple(ranks), tuple(nodes.values()), (), "ranks", 0.5, (ranks[0].rank,))


def _candidate(case: Case, kind: str, rank: int, score: float) -> Candidate:
    finding = Finding(kind, Strength.WEAK, f"{kind}: {score:.3g}", rank, None, (), False, case.iteration_of(rank))
    return Candidate(rank, case.node_of(rank), 10.0 * score, ((10.0 * score, finding),))
