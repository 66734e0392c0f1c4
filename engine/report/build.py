"""The report as a dictionary whose shape is a contract: fields may be added, never renamed or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.blame import Candidate
from l4tui.engine.condensed import Tally, tally
from l4tui.engine.diagnosis import Diagnosis
from l4tui.engine.evidence.finding import Finding
from l4tui.engine.evidence.roots import line_ranges
from l4tui.engine.model import NO_TIME, Kind, Level
from l4tui.engine.outcome import Outcome
from l4tui.engine.report.clocks import clock_tables
from l4tui.engine.snapshot import Snapshot

SCHEMA = "l4tui.report/1"
MAX_LINES = 1000  # line ranges per event
REASON_LINES = 20  # line ranges per reason
NOTHING = "The log is empty: there is nothing to judge."

Table = dict[str, object]
Degrees = Mapping[int | str, tuple[int, float]]


def build_report(
    snap: Snapshot,
    found: Diagnosis,
    *,
    read_bytes: int,
    index_s: float,
    diagnose_s: float,
    jobs: int = 0,
    degrees: Degrees | None = None,
    iterations: Sequence[Table] = (),
    divergence: Sequence[Table] = (),
    max_lines: int = MAX_LINES,
    whole: Tally | None = None,
) -> Table:
    """Assemble the report; `degrees` gives the statistical rank and degree of ranks (int) and nodes (str).

    `whole`: of the job that `snap` is condensed from.
    """
    v = found.verdict
    told = degrees or {}
    return {
        "schema": SCHEMA,
        "job": _job(snap, whole or tally(snap), found, read_bytes),
        "verdict": {
            "summary": v.summary if snap.length else NOTHING,
            "cause": v.cause,
            "stage": v.stage,
            "iteration": v.iteration,
            "scope": v.scope,
            "confidence": v.confidence,
            "actions": list(v.actions),
            "attempt": found.case.attempt,
        },
        "suspects": {
            "ranks": [_suspect(found, c, told) for c in found.blame.ranks],
            "nodes": [_suspect(found, c, told) for c in found.blame.nodes],
            "job": [_reason(found, 0.0, f) for f in found.blame.job],
        },
        "events": _events(found, max_lines),
        "iterations": list(iterations),
        "divergence": list(divergence),
        "baseline": {"jobs": jobs, "events_removed": found.removed},
        "ranker": found.ranker,
        "timing": {"index_s": round(index_s, 3), "diagnose_s": round(diagnose_s, 3)},
    }


def should_alarm(report: Table) -> bool:
    """Tell whether `--check` ends with 1: somebody is accused, or the job failed or hangs."""
    job, verdict = report["job"], report["verdict"]
    assert isinstance(job, dict) and isinstance(verdict, dict)
    return verdict["scope"] != "none" or job["outcome"] in (Outcome.FAILED, Outcome.HUNG)


def _job(snap: Snapshot, whole: Tally, found: Diagnosis, read_bytes: int) -> Table:
    counts = snap.counts()
    ranks = sorted({int(r) for r in np.unique(snap.ranks.rank[snap.ranks.kind == Kind.RANK]) if r >= 0})
    return {
        "sources": [s.path for s in snap.sources],
        "bytes": read_bytes,
        "lines": counts.lines,
        "records": whole.records,
        "mixed_lines": counts.mixed,
        "launcher_lines": counts.launcher,
        "unknown_lines": counts.unknown,
        "world_size": snap.world_size if snap.world_size > 0 else None,
        "ranks": ranks,
        "nodes": {name: list(map(int, ranks_there)) for name, ranks_there in snap.node_ranks.items()},
        "formats": _formats(snap, whole.lines),
        "first_time": moment(whole.begin) if whole.begin != NO_TIME else None,
        "last_time": moment(whole.end) if whole.end != NO_TIME else None,
        "outcome": str(found.outcome),
        "clocks": clock_tables(snap),
    }


def _formats(snap: Snapshot, of_plan: NDArray[np.int64]) -> list[Table]:
    lines: Counter[str] = Counter()
    for plan, n in enumerate(of_plan.tolist()):
        for name in snap.plans.formats[plan] if n else ():
            lines[name] += n
    return [{"name": name, "lines": n} for name, n in lines.most_common()]


def _suspect(found: Diagnosis, c: Candidate, told: Degrees) -> Table:
    place = told.get(c.rank if c.rank >= 0 else c.node or "")
    common: Table = {
        "score": round(c.score, 4),
        "decibans": round(c.decibans, 1),
        "sum": c.sum_in_words(),
        "l4_rank": place[0] if place else None,
        "l4_degree": round(place[1], 4) if place else None,
        "reasons": [_reason(found, value, f) for value, f in c.parts],
    }
    if c.rank < 0:
        return {"node": c.node, **common}
    return {"rank": c.rank, "node": c.node, "attempt": found.case.attempt, **common}


def _reason(found: Diagnosis, value: float, f: Finding) -> Table:
    return {
        "kind": f.kind,
        "strength": f.strength.name.lower(),
        "decibans": round(value, 1),
        "text": f.sentence,
        "evidence": [*_ranges(found, f.rows, REASON_LINES), *([p.path, p.line, p.line] for p in f.places)],
    }


def _ranges(found: Diagnosis, rows: tuple[int, ...], most: int) -> list[list[object]]:
    names = found.case.journal.sources
    return [[names[source], first, last] for source, first, last in line_ranges(found.case, rows[:most])]


def _events(found: Diagnosis, most: int) -> list[Table]:
    j = found.case.journal
    out: list[Table] = []
    for e in found.events:
        row = e.rows[0]
        level = Level(int(j.level[row]))
        site = int(j.site[row])
        out.append(
            {
                "event": e.event,
                "template": j.templates[e.event],
                "role": str(e.role),
                "score": round(e.score, 3),
                "count": e.count,
                "ranks": list(e.ranks),
                "site": j.sites[site] if site >= 0 else None,
                "level": level.name if level else None,
                "stage": e.stage or None,
                "iteration": e.iteration if e.iteration >= 0 else None,
                "pattern": e.pattern,
                "lines": _ranges(found, e.rows, most),
            }
        )
    return out


def moment(ns: int) -> str:
    """Write nanoseconds UTC as ISO 8601 with microseconds."""
    at = datetime.fromtimestamp(ns // 10**9, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ns % 10**9 // 1000:06d}Z"
