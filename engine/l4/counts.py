"""How often each rank and each node wrote each event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.record import Ints, Journal
from l4tui.engine.model import UNKNOWN, Level, LineClass

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Unit = int | str  # a rank or a node

DENSE = 1 << 26  # cells of units × events that are counted in one dense table: 512 MB of int64 at most
SMALL = 1 << 20  # ids up to here are looked up in a table instead of searched for


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of events by unit; columns equal for all units are left out, since they tell nobody apart."""

    units: tuple[Unit, ...]
    events: Ints  # event id of each column
    table: Floats  # units × events


def index_of(values: Ints, known: Ints) -> Ints:
    """Return the place of each value in `known` (ascending), -1 where it is not there."""
    if not len(known):
        return np.full(len(values), UNKNOWN, dtype=np.int64)
    if known[0] >= 0 and known[-1] < SMALL:
        table = np.full(int(known[-1]) + 2, UNKNOWN, dtype=np.int64)
        table[known] = np.arange(len(known))
        return table[np.where((values >= 0) & (values <= known[-1]), values, -1)]
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[at] == values, at, UNKNOWN)


def count(unit: Ints, event: Ints, units: tuple[Unit, ...], events: int) -> Counts:
    """Count rows by (unit, event); rows with a negative unit are left out."""
    here = unit >= 0
    wanted = np.flatnonzero(np.bincount(event[here], minlength=events))
    if not len(units) or not len(wanted):
        return Counts(units, np.empty(0, np.int64), np.zeros((len(units), 0)))
    column = index_of(event[here].astype(np.int64), wanted)
    cells = len(units) * len(wanted)
    key = unit[here].astype(np.int64) * len(wanted) + column
    if cells <= DENSE:
        table = np.bincount(key, minlength=cells).reshape(len(units), len(wanted))
        varies = (table != table[0]).any(axis=0)
        return Counts(units, wanted[varies].astype(np.int64), table[:, varies].astype(np.float64))
    return _sparse(key, units, wanted.astype(np.int64))


def _sparse(key: Ints, units: tuple[Unit, ...], wanted: Ints) -> Counts:
    """Count without a dense table; of columns that vary the commonest that fit are kept."""
    cells, sums = np.unique(key, return_counts=True)
    row, column = np.divmod(cells, len(wanted))
    full = np.bincount(column, minlength=len(wanted))
    low = np.full(len(wanted), np.iinfo(np.int64).max)
    high = np.zeros(len(wanted), dtype=np.int64)
    np.minimum.at(low, column, sums)
    np.maximum.at(high, column, sums)
    varies = np.flatnonzero((full < len(units)) | (low < high))
    varies = np.sort(varies[np.argsort(-full[varies], kind="stable")][: max(1, DENSE // len(units))])
    place = index_of(column, varies)
    table = np.zeros((len(units), len(varies)))
    table[row[place >= 0], place[place >= 0]] = sums[place >= 0]
    return Counts(units, wanted[varies], table)


def counted_rows(case: Case, usual: Mask) -> Ints:
    """Return the rows of an attempt that count: not blank, of an event that healthy jobs do not write as often."""
    j = case.journal
    keep = case.mask & (j.line_class != LineClass.BLANK) & (j.event >= 0)
    if usual.any():
        keep &= ~usual[j.event]
    return np.flatnonzero(keep).astype(np.int64)


def marking(case: Case) -> Mask:
    """Tell which events mark iterations: they count progress, and in many jobs one rank alone writes them."""
    j = case.journal
    events = j.event[j.marked & (j.level < Level.WARNING) & (j.event >= 0)]
    return np.bincount(events, minlength=len(j.templates)) > 0


def by_rank(case: Case, rows: Ints) -> Counts:
    """Count the events of each rank of an attempt."""
    j = case.journal
    ranks = np.array(case.ranks, dtype=np.int64)
    return count(index_of(j.rank[rows], ranks), j.event[rows], tuple(case.ranks), len(j.templates))


def by_node(case: Case, rows: Ints) -> Counts:
    """Count the events of each node: those of its ranks, and lines of no rank that tell their node."""
    j = case.journal
    node, names = nodes_of_rows(case, rows)
    return count(node, j.event[rows], names, len(j.templates))


def nodes_of_rows(case: Case, rows: Ints) -> tuple[Ints, tuple[Unit, ...]]:
    """Return the index of each row's node (-1 unknown) and the nodes' names, those whose ranks wrote something."""
    j = case.journal
    ranks = np.array(case.ranks, dtype=np.int64)
    homes = [case.node_of(r) for r in case.ranks]
    names = tuple(sorted({h for h in homes if h is not None}))
    place = {name: at for at, name in enumerate(names)}
    of_rank = np.array([*(place.get(h or "", UNKNOWN) for h in homes), UNKNOWN], dtype=np.int64)
    of_name = np.array([*(place.get(name, UNKNOWN) for name in j.nodes), UNKNOWN], dtype=np.int64)
    rank = index_of(j.rank[rows], ranks)
    return np.where(rank >= 0, of_rank[rank], of_name[j.node[rows]]), names


def event_peaks(journal: Journal) -> tuple[Ints, Ints, Ints]:
    """Return per event of a whole job: lines, lines of the rank that wrote it most, highest level."""
    n = len(journal.templates)
    known = journal.event >= 0
    event = journal.event[known].astype(np.int64)
    lines = np.bincount(event, minlength=n)
    level = np.zeros(n, dtype=np.int64)
    pairs = np.flatnonzero(np.bincount(event * 8 + np.clip(journal.level[known], 0, 7), minlength=n * 8))
    np.maximum.at(level, pairs // 8, pairs % 8)
    table = count(index_of(journal.rank[known], journal.ranks), event, tuple(journal.ranks.tolist()), n)
    peak = -(-lines // max(1, len(journal.ranks)))  # columns that are equal for all ranks were left out
    if len(table.events):
        peak[table.events] = table.table.max(axis=0).astype(np.int64)
    return lines.astype(np.int64), np.minimum(peak, lines).astype(np.int64), level
