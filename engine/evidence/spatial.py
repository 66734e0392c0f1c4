"""L4 spatial: a rank or node whose event counts are unlike those of its peers."""

from __future__ import annotations

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import STATISTICS, Finding, Strength
from l4tui.engine.l4.ranker import more, rows_of
from l4tui.engine.l4.spatial import LEAST_FOREST, LEAST_UNITS, Anomaly
from l4tui.engine.l4.words import sentence

KIND = "spatial"
WEAK_DEGREE, STRONG_DEGREE = 0.5, 0.8  # with few peers: a squared z of 16 or 64 above the median
STRONG_Z = 8.0  # of a forest's score
SHOWN = 20  # lines


def explain(case: Case, found: list[Finding]) -> list[Finding]:
    """Judge where something heavier speaks against somebody: alone it could not accuse, and a forest costs seconds."""
    return judge(case) if any(f.kind not in STATISTICS for f in found) else []


def judge(case: Case) -> list[Finding]:
    """Accuse the ranks and nodes that the spatial comparison flags; of two nodes neither."""
    if case.completed:
        return []
    found = case.l4
    out = [_finding(case, a, len(found.ranks.degrees)) for a in found.ranks.flagged]
    if len(found.nodes.degrees) >= LEAST_UNITS:
        out += [_finding(case, a, len(found.nodes.degrees)) for a in found.nodes.flagged]
    return [f for f in out if f.strength is not Strength.NONE]


def _finding(case: Case, found: Anomaly, peers: int) -> Finding:
    strength = _strength(found, peers)
    rows = tuple(rows_of(case, found, more(found))[:SHOWN])
    if isinstance(found.unit, int):
        return Finding(KIND, strength, sentence(case, found), found.unit, None, rows)
    return Finding(KIND, strength, sentence(case, found), node=found.unit, rows=rows)


def _strength(found: Anomaly, peers: int) -> Strength:
    if peers >= LEAST_FOREST:
        return Strength.STRONG if found.z >= STRONG_Z else Strength.WEAK
    if found.degree < WEAK_DEGREE:
        return Strength.NONE
    return Strength.STRONG if found.degree >= STRONG_DEGREE else Strength.WEAK
