"""One number for each rank in tables that one rank prints: which row is long, table after table."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.library.pattern import zero_digits
from l4tui.engine.model import UNKNOWN

KIND = "straggler"
APART = 2  # rows from one row of a table to the next at most
LEAST_RANKS, LEAST_TABLES = 4, 3
LONGER, SPREADS, FLOOR = 1.3, 8.0, 0.02  # times the median, median deviations above it, smallest deviation of it
_TIME = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(?:us|ms|s|sec|secs|seconds)\b")
_WAITS = re.compile(r"reduce|gather|scatter|comm|wait|sync|barrier|recv|send|broadcast|bubble", re.IGNORECASE)

Table = dict[int, tuple[str, int]]  # rank → what its row says, the row


def tables(case: Case) -> list[Table]:
    """Return the tables with one row for each rank, in the order of the log."""
    out: list[Table] = [{}]
    last = UNKNOWN
    for s in case.of("table.rank-value"):
        rank = int(s.groups["rank"])
        if s.row - last > APART or rank in out[-1]:
            out.append({})
        out[-1][rank] = (s.groups["value"].strip(), s.row)
        last = s.row
    return out


def judge(case: Case) -> list[Finding]:
    """Accuse the rank whose own work takes longer than that of the others in all of the last tables of a kind."""
    told = {rank for s in case.of("told.rank-slow") for rank in case.subjects(s)}
    kinds: dict[str, list[dict[int, tuple[float, int]]]] = defaultdict(list)
    for table in tables(case):
        times = {r: (float(m[1]), row) for r, (value, row) in table.items() if (m := _TIME.match(value))}
        if len(times) >= LEAST_RANKS and len(times) == len(table):
            above = min(row for _, row in times.values()) - 1
            kinds[zero_digits(case.journal.text(above)) if above >= 0 else ""].append(times)
    out: dict[int, Finding] = {}
    for heading, found in kinds.items():
        for rank in set.intersection(*(_long(t) for t in found[-LEAST_TABLES:])) if len(found) >= LEAST_TABLES else ():
            if not _WAITS.search(heading):
                out.setdefault(rank, _finding(case, rank, heading.strip(" :"), found, rank not in told))
    return list(out.values()) if 3 * len(out) <= max(case.world, LEAST_RANKS) else []


def _long(times: dict[int, tuple[float, int]]) -> set[int]:
    """Return the ranks whose time lies far above the median."""
    values = np.array([value for value, _ in times.values()])
    middle = float(np.median(values))
    spread = max(float(np.median(np.abs(values - middle))), FLOOR * middle)
    return {r for r, (value, _) in times.items() if value > max(LONGER * middle, middle + SPREADS * spread)}


def _finding(case: Case, rank: int, name: str, found: list[dict[int, tuple[float, int]]], root: bool) -> Finding:
    """Word the tables at the end in which a rank is long."""
    first = len(found)
    while first > 0 and rank in _long(found[first - 1]):
        first -= 1
    rows = tuple(t[rank][1] for t in found[first:])
    own = found[-1][rank][0]
    usual = float(np.median([value for value, _ in found[-1].values()]))
    onset = int(case.journal.iteration[rows[0]])
    words = f"in the last {len(rows)} tables {name or 'its time'} is {own:g} where the others have {usual:g}"
    return Finding(
        KIND, Strength.STRONG, f"{word_ranks([rank])}: {words}", rank, None, rows, root, onset, "train", "straggler",
        ("check clocks, temperature and neighbours of that GPU", "drain the node if it persists"),
    )  # fmt: skip
