"""Rankings to measure against: the paper's two baselines and its own method."""

from __future__ import annotations

from importlib import import_module

from l4tui.engine.blame import SHOWN, Blame, Candidate
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.model import UNKNOWN

RANKERS = {
    "error_time": ("l4tui.engine.evidence.errors", "error_time"),
    "error_count": ("l4tui.engine.evidence.errors", "error_count"),
    "l4": ("l4tui.engine.l4.ranker", "rank"),
}
NAMES = ("blame", *RANKERS)


class RankerMissing(RuntimeError):
    """The ranking asked for is not installed."""


def rank_by(name: str, case: Case) -> Blame:
    """Rank by one method alone: it accuses whom it puts first, and never nobody unless it ranks nobody.

    Raises RankerMissing where the method's module cannot be imported.
    """
    module, function = RANKERS[name]
    try:
        ranked: list[tuple[int, float]] = getattr(import_module(module), function)(case)
    except ModuleNotFoundError as error:
        raise RankerMissing(f"ranker {name!r} is not available: {error}") from error
    kind = name if name != "l4" else "spatial"
    ranks = [_candidate(case, kind, rank, score) for rank, score in ranked[:SHOWN]]
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
