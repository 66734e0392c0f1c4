"""The paper's pipeline on one attempt: cross-job filter, then spatial and temporal comparison of what is left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.record import Ints
from l4tui.engine.evidence.roots import line_ranges
from l4tui.engine.l4 import spatial, temporal
from l4tui.engine.l4.counts import Counts, Mask, Unit, by_node, by_rank, counted_rows, marking
from l4tui.engine.l4.spatial import Anomaly, Spatial
from l4tui.engine.l4.temporal import Temporal
from l4tui.engine.l4.words import iteration_sentence

MOST_LINES = 50  # line ranges of an iteration


@dataclass(frozen=True, slots=False)
class Analysis:
    """What the method finds in an attempt; each part when it is first asked for."""

    case: Case
    random_state: int = 0

    @cached_property
    def usual(self) -> Mask:
        """Events that the healthy jobs removed."""
        baseline, journal = self.case.baseline, self.case.journal
        return np.zeros(len(journal.templates), np.bool_) if baseline is None else baseline.usual(journal)

    @cached_property
    def _rows(self) -> Ints:
        return counted_rows(self.case, self.usual | marking(self.case))

    @cached_property
    def ranks(self) -> Spatial:
        """How anomalous each rank is."""
        return spatial.compare(by_rank(self.case, self._rows), random_state=self.random_state)

    @cached_property
    def nodes(self) -> Spatial:
        """How anomalous each node is."""
        return _nodes(self.case, by_node(self.case, self._rows), self.ranks, self.random_state)

    @cached_property
    def temporal(self) -> Temporal:
        """Which iterations are unlike those before them."""
        every = counted_rows(self.case, np.zeros(len(self.usual), np.bool_))
        return temporal.compare(self.case, every, self.usual)

    def degrees(self) -> dict[Unit, tuple[int, float]]:
        """Return place and anomaly degree of every rank (int) and node (str)."""
        return {**self.ranks.places(), **self.nodes.places()}


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
