"""What the pages for people share: the report taken apart, without a word about layout."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import NamedTuple

from l4tui.engine.report.build import Table

SHOWN_SUSPECTS = 8
SHOWN_EVENTS = 12
SHOWN_LINES = 5  # ranges of one source
SHOWN_SOURCES = 3
SHOWN_CLOCKS = 4


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
    yield "cause", str(verdict["cause"]).replace("_", " ")
    yield "stage", _or_dash(verdict["stage"]).replace("_", " ")
    yield "iteration", _or_dash(verdict["iteration"])
    if verdict.get("attempt"):
        yield "attempt", str(verdict["attempt"])
    accused = str(_SCOPES.get(str(verdict["scope"]), verdict["scope"]))
    is_open = verdict["scope"] == "none" and job["outcome"] in ("running", "unknown")  # more lines may accuse somebody
    yield "accused", accused if is_open else f"{accused}, {_percent(verdict['confidence'])} sure"
    seen, world = len(ranks) if isinstance(ranks, list) else 0, job["world_size"]
    count = f"{seen:,} rank{'s' * (seen != 1)}" if world in (None, seen) else f"{seen:,} of {world:,} ranks"
    many = len(nodes) if isinstance(nodes, dict) else 0
    yield "job", f"{count}, {many:,} node{'s' if many != 1 else ''}, {job['lines']:,} lines"
    yield "time", span(job["first_time"], job["last_time"])
    if clocks := rows(job, "clocks"):
        more = f" and {len(clocks) - SHOWN_CLOCKS:,} more" if len(clocks) > SHOWN_CLOCKS else ""
        yield "clocks", ", ".join(_clock(c["node"], c["ahead_s"]) for c in clocks[:SHOWN_CLOCKS]) + more
    sources = [str(s) for s in job["sources"]] if isinstance(job["sources"], list) else []
    root = root_of(sources)
    yield "logs", f"{root or '.'} ({len(sources):,} files)" if len(sources) > 1 else ", ".join(sources)


def _clock(node: object, ahead_s: object) -> str:
    seconds = float(str(ahead_s))
    return f"{node} is {abs(seconds):,.1f} s {'ahead' if seconds > 0 else 'behind'}"


def suspects(report: Table) -> list[SuspectRow]:
    """Return the ranking of ranks, or of nodes where no rank is accused."""
    table = section(report, "suspects")
    listed = rows(table, "ranks") or rows(table, "nodes")
    root = root_of_report(report)
    out = []
    for s in listed[:SHOWN_SUSPECTS]:
        l4 = "–" if s.get("l4_rank") is None else f"#{s['l4_rank']} ({s['l4_degree']:.2f})"
        name = f"rank {s['rank']}" if "rank" in s else f"node {s['node']}"
        out.append(
            SuspectRow(name, str(s["node"] or "–"), f"{s['score']:.2f}", l4, str(s["sum"]), _reasons(s, root))
        )
    return out


def job_reasons(report: Table) -> list[str]:
    """Return what befell the whole job."""
    return [str(r["text"]) for r in rows(section(report, "suspects"), "job")]


def _reasons(suspect: Table, root: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((str(r["kind"]), str(r["text"]), places(r.get("evidence"), root)) for r in rows(suspect, "reasons"))


def events(report: Table) -> list[EventRow]:
    """Return the events to read, initiating first."""
    out = []
    root = root_of_report(report)
    for e in rows(report, "events")[:SHOWN_EVENTS]:
        ranks = e["ranks"]
        words = numbers(ranks) if isinstance(ranks, list) else ""
        count = e["count"]
        times = count if isinstance(count, int) else 0
        out.append(EventRow(str(e["role"]), times, words, str(e["template"]), places(e["lines"], root)))
    return out


def places(ranges: object, root: str = "") -> str:
    """Write line ranges as a person clicks them, by source: a.log:12-15, 20 (+3 more); b.log:7."""
    by_source: dict[str, list[list[int]]] = {}
    for source, first, last in ranges if isinstance(ranges, list) else ():
        by_source.setdefault(str(source), []).append([int(first), int(last)])
    words = []
    for source, spans in by_source.items():
        merged = _merged(spans)
        shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in merged[:SHOWN_LINES])
        more = f" (+{len(merged) - SHOWN_LINES:,} more)" if len(merged) > SHOWN_LINES else ""
        words.append(f"{within(source, root)}:{shown}{more}")
    rest = f"; and {len(words) - SHOWN_SOURCES:,} more files" if len(words) > SHOWN_SOURCES else ""
    return "; ".join(words[:SHOWN_SOURCES]) + rest


def _merged(spans: list[list[int]]) -> list[list[int]]:
    out: list[list[int]] = []
    for first, last in sorted(spans):
        if out and first <= out[-1][1] + 1:
            out[-1][1] = max(out[-1][1], last)
        else:
            out.append([first, last])
    return out


def root_of(sources: Sequence[str]) -> str:
    """Return the folder that all sources lie in; "" where there is none."""
    try:
        return os.path.commonpath([PurePath(s).parent for s in sources]) if sources else ""
    except ValueError:  # absolute and relative ones
        return ""


def root_of_report(report: Table) -> str:
    """Return the folder of a report's job."""
    sources = section(report, "job")["sources"]
    return root_of([str(s) for s in sources]) if isinstance(sources, list) else ""


def within(source: str, root: str) -> str:
    """Write a path as seen from the job's folder."""
    return source[len(root) :].lstrip("/") if root and source.startswith(root) else source


def numbers(values: Sequence[int], most: int = 6) -> str:
    """Write numbers as ranges: 0-3, 7."""
    spans = _merged([[v, v] for v in values])
    words = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans[:most])
    return words + (f" (+{len(spans) - most:,} more)" if len(spans) > most else "")


def span(first: object, last: object) -> str:
    """Write two moments of the logs' own clock: 2026-03-02 09:00:01 – 09:02:12."""
    if not isinstance(first, str) or not isinstance(last, str):
        return "–"
    begin, end = (datetime.fromisoformat(text) for text in (first, last))
    until = f"{end:%H:%M:%S}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{begin:%Y-%m-%d %H:%M:%S} – {until} ({str(end - begin).partition('.')[0]})"


def _percent(value: object) -> str:
    return f"{float(str(value)) * 100:.0f} %"


_SCOPES = {"none": "nobody", "job": "the whole job"}


def actions(report: Table) -> list[str]:
    """Return what to do next."""
    value = section(report, "verdict")["actions"]
    return [str(a) for a in value] if isinstance(value, list) else []


def _or_dash(value: object) -> str:
    return "–" if value is None else str(value)
