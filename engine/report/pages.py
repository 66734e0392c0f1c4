"""What the pages for people share: the report taken apart, without a word about layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from l4tui.engine.report.build import Table

SHOWN_SUSPECTS = 8
SHOWN_EVENTS = 12
SHOWN_LINES = 5


class SuspectRow(NamedTuple):
    """One line of the ranking with its reasons."""

    name: str
    node: str
    score: str
    l4: str
    sum: str
    reasons: tuple[tuple[str, str, str], ...]  # kind, text, places


class EventRow(NamedTuple):
    """One event with the places of its first lines."""

    role: str
    times: int
    ranks: str
    template: str
    places: str


def section(report: Table, name: str) -> Table:
    """Return a table of the report."""
    value = report[name]
    return value if isinstance(value, dict) else {}


def rows(table: Table, name: str) -> list[Table]:
    """Return a list of tables."""
    value = table.get(name)
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def facts(report: Table) -> Iterator[tuple[str, str]]:
    """Yield what the head of a page tells about job and verdict."""
    job, verdict = section(report, "job"), section(report, "verdict")
    ranks, nodes = job["ranks"], job["nodes"]
    yield "outcome", str(job["outcome"])
    yield "cause", f"{verdict['cause']}"
    yield "stage", _or_dash(verdict["stage"])
    yield "iteration", _or_dash(verdict["iteration"])
    yield "scope", f"{verdict['scope']} (confidence {verdict['confidence']})"
    yield (
        "job",
        (
            f"{len(ranks) if isinstance(ranks, list) else 0} ranks seen of {_or_dash(job['world_size'])},"
            f" {len(nodes) if isinstance(nodes, dict) else 0} nodes, {job['lines']} lines"
        ),
    )
    yield "time", f"{_or_dash(job['first_time'])} – {_or_dash(job['last_time'])}"


def suspects(report: Table) -> list[SuspectRow]:
    """Return the ranking of ranks, or of nodes where no rank is accused."""
    table = section(report, "suspects")
    listed = rows(table, "ranks") or rows(table, "nodes")
    out = []
    for s in listed[:SHOWN_SUSPECTS]:
        l4 = "–" if s.get("l4_rank") is None else f"#{s['l4_rank']} ({s['l4_degree']})"
        name = f"rank {s['rank']}" if "rank" in s else f"node {s['node']}"
        out.append(SuspectRow(name, str(s["node"] or "–"), str(s["score"]), l4, str(s["sum"]), _reasons(s)))
    return out


def job_reasons(report: Table) -> list[str]:
    """Return what befell the whole job."""
    return [str(r["text"]) for r in rows(section(report, "suspects"), "job")]


def _reasons(suspect: Table) -> tuple[tuple[str, str, str], ...]:
    return tuple((str(r["kind"]), str(r["text"]), places(r.get("evidence"))) for r in rows(suspect, "reasons"))


def events(report: Table) -> list[EventRow]:
    """Return the events to read, initiating first."""
    out = []
    for e in rows(report, "events")[:SHOWN_EVENTS]:
        ranks = e["ranks"]
        words = ", ".join(map(str, ranks[:8])) + ("…" if len(ranks) > 8 else "") if isinstance(ranks, list) else ""
        count = e["count"]
        out.append(
            EventRow(
                str(e["role"]), count if isinstance(count, int) else 0, words, str(e["template"]), places(e["lines"])
            )
        )
    return out


def places(ranges: object) -> str:
    """Write line ranges as a person clicks them: file:12-15, file:20."""
    if not isinstance(ranges, list):
        return ""
    words = [
        f"{source}:{first}" + (f"-{last}" if last != first else "") for source, first, last in ranges[:SHOWN_LINES]
    ]
    return ", ".join(words) + (f" and {len(ranges) - SHOWN_LINES} more" if len(ranges) > SHOWN_LINES else "")


def actions(report: Table) -> list[str]:
    """Return what to do next."""
    value = section(report, "verdict")["actions"]
    return [str(a) for a in value] if isinstance(value, list) else []


def _or_dash(value: object) -> str:
    return "–" if value is None else str(value)
