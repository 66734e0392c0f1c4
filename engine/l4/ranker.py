"""`--ranker l4`: nodes and ranks by anomaly degree, and the events that the method calls failure-indicating.

Those are the events left after the filter that made the oddest ranks and nodes anomalous (of a degree of at least
`NEAR` times the highest), that ranks wrote more of in the last flagged iteration than in others, or that the failure
library knows; the library alone tells what is cascade and teardown. Nothing of the evidence kinds is used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from l4tui.engine.blame import Blame, Candidate
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.record import Journal
from l4tui.engine.evidence.roots import EventSeen
from l4tui.engine.l4.counts import nodes_of_rows
from l4tui.engine.l4.pipeline import Analysis
from l4tui.engine.l4.spatial import Anomaly, Cause, Spatial
from l4tui.engine.l4.temporal import Kind
from l4tui.engine.l4.words import sentence
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import UNKNOWN, LineClass

MOST_ROWS = 200  # lines of one cause
NEAR = 0.5
DECIBANS = 10.0  # of a degree of 1: what the sum of a suspect shows
INSIDE = (LineClass.TRACEBACK, LineClass.BODY, LineClass.CHAIN)
ROLES = (Role.INITIATING, Role.CASCADE, Role.TEARDOWN)


class Ranked(NamedTuple):
    """A method's ranking and, where it has its own, the events it shows."""

    blame: Blame
    events: tuple[EventSeen, ...] | None = None


def rank(case: Case) -> Ranked:
    """Rank an attempt by the statistical method alone; nobody where nothing is above the threshold."""
    found = case.l4
    if case.completed:  # the method is run on failures: of a job that ended well it says nothing
        return Ranked(Blame((), (), (), "none", 0.0), ())
    ranks = tuple(_candidate(case, found, a) for a in found.ranks.flagged)
    nodes = tuple(_candidate(case, found, a) for a in found.nodes.flagged)
    scope = "ranks" if ranks else "nodes" if nodes else "none"
    blame = Blame(ranks, nodes, (), scope, 0.5 if scope != "none" else 0.0, tuple(c.rank for c in ranks[:1]))
    return Ranked(blame, tuple(_events(case, found)))


def rows_of(case: Case, found: Anomaly, causes: Iterable[Cause]) -> list[int]:
    """Return the lines of events that a flagged rank or node wrote, at most `MOST_ROWS` of each."""
    j = case.journal
    events = [c.event for c in causes]
    mine = np.flatnonzero(case.mask & np.isin(j.event, events)).astype(np.int64)
    if isinstance(found.unit, int):
        mine = mine[j.rank[mine] == found.unit]
    else:
        node, names = nodes_of_rows(case, mine)
        mine = mine[node == names.index(found.unit)] if found.unit in names else mine[:0]
    kept = [mine[j.event[mine] == e][:MOST_ROWS] for e in events]
    return sorted(np.concatenate(kept).tolist()) if kept else []


def more(found: Anomaly) -> list[Cause]:
    """Return the causes of which a flagged unit wrote more than its peers."""
    return [c for c in found.causes if c.lines > c.usual]


def _candidate(case: Case, analysis: Analysis, found: Anomaly) -> Candidate:
    rows = rows_of(case, found, more(found))
    unit = found.unit
    rank, node = (unit, case.node_of(unit)) if isinstance(unit, int) else (UNKNOWN, unit)
    known = [s for s in case.sightings if s.pattern.role is Role.INITIATING and s.row in set(rows)]
    finding = Finding(
        kind="spatial",
        strength=Strength.STRONG,
        sentence=sentence(case, found),
        rank=rank,
        node=None if rank >= 0 else node,
        rows=tuple(rows),
        root=True,
        iteration=_iteration(case, analysis, rank),
        stage=_stage(case, rows),
        cause=known[0].pattern.cause if known else "unknown",
        actions=known[0].pattern.actions if known else (),
    )
    value = DECIBANS * found.degree
    return Candidate(rank, node, value, ((value, finding),))


def _iteration(case: Case, analysis: Analysis, rank: int) -> int:
    """The last iteration that was flagged for its lines, else where the rank stood."""
    odd = [o.iteration for o in analysis.temporal.flagged if o.kind is not Kind.SLOW]
    return odd[-1] if odd else case.iteration_of(rank) if rank >= 0 else UNKNOWN


def _stage(case: Case, rows: Sequence[int]) -> str:
    j = case.journal
    known = [int(s) for s in j.stage[list(rows)] if s >= 0]
    return j.stages[Counter(known).most_common(1)[0][0]] if known else ""


def _events(case: Case, analysis: Analysis) -> list[EventSeen]:
    """Return the events that the method calls failure-indicating, and what the library tells of the rest."""
    j = case.journal
    known = {s.row: s.pattern for s in case.sightings if s.pattern.role in ROLES and not analysis.usual[j.event[s.row]]}
    score = dict.fromkeys(known, 0.5)
    for found in (*_oddest(analysis.ranks), *_oddest(analysis.nodes)):
        for row in rows_of(case, found, more(found)):
            score[row] = max(score.get(row, 0.0), found.degree)
    for odd in [o for o in analysis.temporal.flagged if o.kind in (Kind.EXTRA, Kind.REPEATED)][-1:]:
        for row in odd.rows if not case.ranks else [r for r in odd.rows if j.rank[r] >= 0]:
            score[row] = max(score.get(row, 0.0), min(1.0, odd.score / 10.0))
    grouped: dict[tuple[int, Role, str | None], list[int]] = defaultdict(list)
    score = _raised(j, score)
    for row in score:
        pattern = known.get(row)
        role = pattern.role if pattern else Role.INITIATING
        grouped[int(j.event[row]), role, pattern.id if pattern else None].append(row)
    seen = [_seen(case, key, sorted(rows), max(score[r] for r in rows)) for key, rows in grouped.items()]
    return sorted(seen, key=lambda e: (list(Role).index(e.role), -e.score, e.rows[0]))


def _oddest(found: Spatial) -> list[Anomaly]:
    return [a for a in found.flagged if a.degree >= NEAR * found.flagged[0].degree]


def _raised(journal: Journal, score: dict[int, float]) -> dict[int, float]:
    """Replace the frames of tracebacks by the line that their record raised, else by its first."""
    frames = [r for r in score if journal.line_class[r] in INSIDE]
    records = np.unique(journal.record[frames])
    ends = np.flatnonzero((journal.line_class == LineClass.RAISED) & np.isin(journal.record, records))
    raised = dict(zip(journal.record[ends].tolist(), ends.tolist(), strict=True))
    out = {r: v for r, v in score.items() if journal.line_class[r] not in INSIDE}
    for row in frames:
        head = int(journal.record[row])
        told = raised.get(head, head)
        out[told] = max(out.get(told, 0.0), score[row])
    return out


def _seen(case: Case, key: tuple[int, Role, str | None], rows: list[int], score: float) -> EventSeen:
    j = case.journal
    stage = int(j.stage[rows[0]])
    ranks = tuple(int(r) for r in np.unique(j.rank[rows]) if r >= 0)
    name = j.stages[stage] if stage >= 0 else ""
    event, role, pattern = key
    return EventSeen(
        event=event,
        role=role,
        rows=tuple(rows),
        count=len(rows),
        ranks=ranks,
        score=score,
        pattern=pattern,
        stage=name,
        iteration=int(j.iteration[rows[0]]),
    )
