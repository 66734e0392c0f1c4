"""The report's `divergence`: differences between ranks with the lines that show them."""

from __future__ import annotations

import numpy as np

from l4tui.engine.divergence import Divergence, Survey, survey
from l4tui.engine.library import Library
from l4tui.engine.library.following import Following
from l4tui.engine.report.build import Table
from l4tui.engine.rows import RowBuilder
from l4tui.engine.rowtable import RowTable
from l4tui.engine.snapshot import Snapshot

MOST = 200  # differences
MOST_RANGES = 20  # line ranges of each


def divergence_tables(snap: Snapshot, library: Library | None = None) -> list[Table]:
    """Return what the report says of differences between ranks, most telling first."""
    table = RowBuilder().update(snap)
    found = survey(snap, table, follows=Following(library) if library else None)
    return written(snap, table, found)


def written(snap: Snapshot, table: RowTable, found: Survey) -> list[Table]:
    """Write differences down by the report's contract."""
    out: list[Table] = []
    for d in found.found[:MOST]:
        out.append(
            {
                "event": d.event,
                "kind": d.kind,
                "ranks": list(d.ranks),
                "iteration": d.iteration if d.iteration >= 0 else None,
                "score": d.score,
                "text": d.words,
                "stop": d.is_stop,
                "settled": d.is_settled,
                "lines": _ranges(snap, lines_of(snap, table, d)),
            }
        )
    return out


def lines_of(snap: Snapshot, table: RowTable, d: Divergence) -> list[int]:
    """Return the lines of the odd ranks, or the one that shows what they lack."""
    entries = table.entries(d.row)
    if d.kind == "missing" or not d.ranks:
        return [d.entry]
    theirs = entries[np.isin(snap.rank(entries), d.ranks)]
    return theirs.tolist() if d.entry in theirs else [d.entry, *theirs.tolist()]


def _ranges(snap: Snapshot, entries: list[int]) -> list[list[object]]:
    """Return inclusive ranges of physical lines, by source."""
    places = sorted({(p.source, p.line) for p in snap.places(entries[:1000])})
    ranges: list[list[int]] = []
    for source, line in places:
        if ranges and ranges[-1][0] == source and ranges[-1][2] + 1 == line:
            ranges[-1][2] = line
        else:
            ranges.append([source, line, line])
    return [[snap.sources[source].path, first, last] for source, first, last in ranges[:MOST_RANGES]]
