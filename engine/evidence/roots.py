"""Which events started the failure: the lines behind the accusation, and what only the accused said just before."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from l4tui.engine.blame import Blame
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.deaths import deaths
from l4tui.engine.evidence.finding import Finding
from l4tui.engine.evidence.finite import words_about
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN, Level, LineClass
from l4tui.engine.roles import HARMLESS, Sighting

RARE = 3  # lines of an event that only the accused wrote
GAP = 3  # rows that may lie between two lines of a flood: two kinds of lines that take turns
FLOOD = 10  # adjacent rows of one event that count once
NEAR = 2  # iterations before the accused's last in which such a line counts
LONGEST = 60  # rows of a traceback shown with what it raised
MEASURED = {"straggler", "value", "progress_gap", "silence"}  # kinds whose lines look usual: shown only when they lead
APART = {"progress_gap", "silence"}
ALL_THERE_IS = {"hint", "peer_vote"}  # kinds that lead where no process speaks of its own end
OWN_WAY = {"desync", "version", "config"}

Told = dict[int, tuple[Role, str | None]]


@dataclass(frozen=True, slots=True)
class EventSeen:
    """One event in one role: its rows, whom it concerns and how much it counts."""

    event: int
    role: Role
    rows: tuple[int, ...]  # of a flood, lines that follow each other, the first
    count: int
    ranks: tuple[int, ...]
    score: float
    pattern: str | None
    stage: str
    iteration: int


def events_of(case: Case, blame: Blame) -> list[EventSeen]:
    """Return what an engineer should read, initiating events first."""
    roles = _roles(case, blame)
    for row in (*_alone(case, blame, roles), *_numeric(case, blame)):
        roles[row] = (Role.INITIATING, None)
    grouped: dict[tuple[int, Role, str | None], list[int]] = defaultdict(list)
    for row, (role, pattern) in roles.items():
        if role is not Role.CONTEXT:
            grouped[int(case.journal.event[row]), role, pattern].append(row)
    seen = [_seen(case, key, sorted(rows)) for key, rows in grouped.items()]
    order = list(Role)
    return sorted(seen, key=lambda e: (order.index(e.role), -e.score, e.rows[0]))


def _seen(case: Case, key: tuple[int, Role, str | None], rows: list[int]) -> EventSeen:
    j = case.journal
    event, role, pattern = key
    ranks = sorted({int(r) for r in j.rank[rows] if r >= 0})
    base = {Role.INITIATING: 0.9, Role.CASCADE: 0.4, Role.TEARDOWN: 0.2, Role.CONTEXT: 0.1}[role]
    stage = int(j.stage[rows[0]])
    return EventSeen(
        event,
        role,
        tuple(_once(rows)),
        len(rows),
        tuple(ranks),
        base,
        pattern,
        j.stages[stage] if stage >= 0 else "",
        int(j.iteration[rows[0]]),
    )


def _once(rows: list[int]) -> list[int]:
    """Keep the first of each run of adjacent rows that is long enough to be a flood."""
    out: list[int] = []
    at = 0
    while at < len(rows):
        end = at
        while end + 1 < len(rows) and rows[end + 1] - rows[end] <= GAP:
            end += 1
        out += rows[at : at + 1] if end - at >= FLOOD else rows[at : end + 1]
        at = end + 1
    return out


def _roles(case: Case, blame: Blame) -> Told:
    """Role of each matched row, and of the rows behind the findings that decided."""
    accused, nodes = set(blame.accused), {c.node for c in blame.nodes[:1]}
    by_end = blame.lead is not None and blame.lead.kind == "explicit_blame"
    ends = {d.sighting.row: d.rank for d in deaths(case) if by_end and d.is_root and d.rank in accused}
    told_themselves = {s.rank for s in case.roles(Role.INITIATING) if s.pattern.blames is Blames.MINORITY} & accused
    hearsay = _hearsay(case, accused)
    out: Told = {}
    for s in case.sightings:
        role = s.role
        if role is Role.INITIATING and s.pattern.blames is Blames.JOB and blame.scope in ("ranks", "nodes"):
            role = Role.TEARDOWN  # the scheduler only ended what somebody had stalled
        if s.row in hearsay:
            role = Role.CASCADE
        if role is Role.INITIATING and not _concerns(case, s, accused, nodes, blame):
            role = Role.CASCADE if blame.scope != "none" else Role.CONTEXT
        if (
            role is Role.INITIATING
            and s.pattern.blames is Blames.MINORITY
            and told_themselves
            and s.rank not in accused
        ):
            role = Role.CASCADE  # a peer's copy of what the accused itself reports
        out[s.row] = (role, s.pattern.id)
    if blame.lead is not None and blame.lead.cause == "version":
        odd = [s for s in case.of("version.mismatch") if s.rank in accused]
        out |= {s.row: (Role.INITIATING, s.pattern.id) for s in odd}
    for row in _finding_rows(blame):
        pattern = out[row][1] if row in out else None
        if row not in hearsay and (row not in out or blame.scope == "job" or out[row][0] is not Role.TEARDOWN):
            out[row] = (Role.INITIATING, pattern)
    if blame.lead is not None and blame.lead.kind in ALL_THERE_IS:
        out |= {row: (Role.INITIATING, out[row][1] if row in out else None) for row in blame.lead.rows}
    for s in case.sightings:
        if s.row in ends:
            out[s.row] = (Role.INITIATING, s.pattern.id)
        elif s.pattern.id == "process.segfault" and s.rank in ends.values():
            out[s.row] = (Role.CONTEXT, s.pattern.id)  # the launcher's line tells the same end, and whose
    return out


def _hearsay(case: Case, accused: set[int]) -> set[int]:
    """Rows in which others tell of an end that the accused itself explains."""
    if not any(s.rank in accused and s.pattern.blames is Blames.WRITER for s in case.roles(Role.INITIATING)):
        return set()
    told = [s for s in case.sightings if s.pattern.secondhand and s.pattern.blames is Blames.SUBJECT]
    told += [s for s in case.sightings if s.pattern.blames is Blames.ABSENT]
    return {s.row for s in told if s.rank not in accused}


def _concerns(case: Case, s: Sighting, accused: set[int], nodes: set[str | None], blame: Blame) -> bool:
    """Tell whether an initiating line speaks of the accused, or of the whole job."""
    if blame.scope == "none":
        return False
    if blame.scope == "job":
        return any(s.row in f.rows for f in blame.job)
    if s.pattern.blames in {Blames.SUBJECT, Blames.MINORITY, Blames.COMPARED, Blames.ABSENT}:
        ranks = set(case.subjects(s)) | {int(v) for k, v in s.groups.items() if k == "other"}
        return not ranks or bool(ranks & accused)
    if s.rank >= 0:
        return s.rank in accused or s.pattern.blames is Blames.PROGRESS
    if blame.lead is not None and blame.lead.kind == "silence" and case.node_at(s.row) is None:
        return s.pattern.blames is Blames.WRITER  # all others told of something else
    return s.pattern.blames is Blames.NOBODY or case.node_at(s.row) in nodes or not nodes


def _finding_rows(blame: Blame) -> list[int]:
    """Rows of root findings against the accused; with the whole job accused, those of the job."""
    if blame.scope == "job":
        return [r for f in blame.job if f.root for r in f.rows]
    if blame.scope == "none":
        return []
    top = [c for c in blame.ranks if c.rank in blame.accused] or list(blame.nodes[:1])
    lead = blame.lead
    return [r for c in top for value, f in c.parts if _starts(f, value, lead) for r in f.rows]


def _starts(f: Finding, value: float, lead: Finding | None) -> bool:
    """Tell whether a finding's lines are what started it: what leads, and what text tells besides."""
    if not f.root:
        return False
    if f.kind == "setting":  # tells why a rank went its own way, not why it died
        return lead is not None and (lead.kind in APART or lead.cause in OWN_WAY)
    if f.kind in MEASURED and f.cause != "version":
        return lead is not None and f.kind == lead.kind
    return value > 0


def _alone(case: Case, blame: Blame, roles: Told) -> list[int]:
    """Lines that only the accused ever wrote, in its last iterations, when it went its own way or fell silent."""
    lead = blame.lead
    if len(blame.accused) != 1 or lead is None or (lead.kind not in APART and lead.cause != "desync"):
        return []
    j = case.journal
    rank = blame.accused[0]
    if any(f.kind == "hardware" and value > 0 for c in blame.ranks[:1] for value, f in c.parts):
        return []  # the machine explains it
    own = case.mask & (j.rank == rank) & ~np.isin(j.line_class, [LineClass.TRACEBACK, LineClass.BODY, LineClass.BLANK])
    others = np.unique(j.event[case.mask & (j.rank >= 0) & (j.rank != rank)])
    life = case.lives.get(rank)
    last = min(case.iteration_of(rank), case.iteration_at(rank, life.last_row)) if life else UNKNOWN
    rows = np.flatnonzero(own & ~np.isin(j.event, others) & (j.level < Level.ERROR))
    if last >= 0:
        near = [case.iteration_at(rank, int(r)) >= last - NEAR for r in rows]
        rows = rows[np.array(near, dtype=np.bool_)]
    if case.baseline is not None and len(rows):
        rows = rows[~case.baseline.usual(j)[j.event[rows]]]
    counts = {int(e): int((own & (j.event == e)).sum()) for e in np.unique(j.event[rows])}
    told = [
        s.row
        for s in case.sightings
        if s.rank == rank and s.pattern.secondhand and lead.kind in APART and int(j.event[s.row]) not in others
    ]
    ticks = {int(j.event[row]) for row in case.ticks[:1]}
    rows = rows[[int(e) not in ticks for e in j.event[rows]]]
    rare = told + [int(r) for r in rows if counts[int(j.event[r])] <= RARE and r not in roles]
    texts = j.read(np.array(rare, dtype=np.int64)) if rare else []
    return [r for r, text in zip(rare, texts, strict=True) if not HARMLESS.search(text)]


def _numeric(case: Case, blame: Blame) -> list[int]:
    """What the accused itself says of values that are not finite, where their first one decides."""
    lead = blame.lead
    told = lead is not None and lead.kind == "value" and lead.cause == "numerics" and len(blame.accused) == 1
    return words_about(case, blame.accused[0]) if told else []


def line_ranges(case: Case, rows: tuple[int, ...], *, longest: int = LONGEST) -> list[tuple[int, int, int]]:
    """Return (source, first line, last line) per row: the row with what stands above it in its own record."""
    j = case.journal
    out: dict[tuple[int, int, int], None] = {}
    for row in rows:
        first = row
        while j.rank[row] >= 0 and first > 0 and row - first < longest and _joins(case, first - 1, row):
            first -= 1
        out[int(j.source[row]), int(j.line[first]), int(j.line[row])] = None
    return list(out)


def _joins(case: Case, above: int, row: int) -> bool:
    """Tell whether a row belongs to the same record, source and rank, without a gap."""
    j = case.journal
    return bool(
        j.record[above] == j.record[row]
        and j.source[above] == j.source[row]
        and j.rank[above] == j.rank[row]
        and j.line[above + 1] - j.line[above] <= 1
        and j.rank[row] != UNKNOWN
    )
