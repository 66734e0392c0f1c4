"""The paper's pipeline on one attempt: cross-job filter, then spatial and temporal comparison of what is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.roots import line_ranges
from l4tui.engine.l4 import spatial, temporal
from l4tui.engine.l4.counts import Counts, Mask, Unit, by_node, by_rank, counted_rows, marking
from l4tui.engine.l4.spatial import Anomaly, Spatial
from l4tui.engine.l4.temporal import Temporal
from l4tui.engine.l4.words import iteration_sentence

MOST_LINES = 50  # line ranges of an iteration


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the method finds; `usual` marks the events that the healthy jobs removed."""

    usual: Mask
    ranks: Spatial
    nodes: Spatial
    temporal: Temporal

    def degrees(self) -> dict[Unit, tuple[int, float]]:
        """Return place and anomaly degree of every rank (int) and node (str)."""
        return {**self.ranks.places(), **self.nodes.places()}


def analyse(case: Case, *, random_state: int = 0) -> Analysis:
    """Run the method on an attempt."""
    j = case.journal
    nothing = np.zeros(len(j.templates), dtype=np.bool_)
    usual = nothing if case.baseline is None else case.baseline.usual(j)
    rows = counted_rows(case, usual | marking(case))
    ranks = spatial.compare(by_rank(case, rows), random_state=random_state)
    every = counted_rows(case, nothing)
    return Analysis(
        usual=usual,
        ranks=ranks,
        nodes=_nodes(case, by_node(case, rows), ranks, random_state),
        temporal=temporal.compare(case, every, usual),
    )


def _nodes(case: Case, counts: Counts, ranks: Spatial, random_state: int) -> Spatial:
    """Compare nodes; of two nodes neither is the majority: each is as odd as its oddest rank."""
    if len(counts.units) >= spatial.LEAST_UNITS:
        return spatial.compare(counts, random_state=random_state)
    degrees: dict[Unit, float] = dict.fromkeys(counts.units, 0.0)
    for rank, degree in ranks.degrees.items():
        node = case.node_of(int(rank))
        if node in degrees:
            degrees[node] = max(degrees[node], degree)
    flagged: dict[str, Anomaly] = {}
    for found in ranks.flagged:
        if (node := case.node_of(int(found.unit))) in degrees:
            flagged.setdefault(str(node), found._replace(unit=str(node)))
    return Spatial(degrees, tuple(flagged.values()))


def iteration_tables(case: Case) -> list[dict[str, object]]:
    """Return the flagged iterations as the report lists them."""
    names = case.journal.sources
    return [
        {
            "iteration": odd.iteration,
            "attempt": case.attempt,
            "score": round(odd.score, 2),
            "kind": str(odd.kind),
            "ranks": list(odd.ranks),
            "events": list(odd.events),
            "text": iteration_sentence(case, odd),
            "lines": [[names[source], first, last] for source, first, last in line_ranges(case, odd.rows[:MOST_LINES])],
        }
        for odd in case.l4.temporal.flagged
    ]
