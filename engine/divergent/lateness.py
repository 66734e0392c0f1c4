"""Ranks that have come to write later than their peers; a clock that was always off is no lateness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Divergence
from l4tui.engine.divergent.naming import divergence, name
from l4tui.engine.model import NO_TIME
from l4tui.engine.peers import Peers
from l4tui.engine.rowtable import RowFlag

WINDOW = 12  # iterations at the beginning and at the end that are compared
FEWEST = 4  # ranks, and rows of each
FAR = 8.0  # times the usual difference between ranks
LEAST_NS = 500_000_000
FEW = 1 / 3

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def judge(peers: Peers, attempt: int, progress: Ints) -> list[Divergence]:
    """Return ranks whose lines come later behind their peers' than they used to."""
    skipped = RowFlag.FOLDED | RowFlag.FLOODED | RowFlag.APART
    mine = (peers.attempt == attempt) & (peers.many >= FEWEST) & (peers.flags & skipped == 0) & (peers.iteration >= 0)
    places = np.flatnonzero(mine)
    places = places[places <= progress.max(initial=-1)]
    iterations = np.unique(peers.iteration[places])
    if len(iterations) < 2 * WINDOW:
        return []
    first, last = int(iterations[WINDOW - 1]), int(iterations[-WINDOW])
    then, _ = _behind(peers, places[peers.iteration[places] <= first])
    now, latest = _behind(peers, places[peers.iteration[places] >= last])
    later = now - then
    known = np.isfinite(later)
    if np.count_nonzero(known) < FEWEST:
        return []
    usual = float(np.median(later[known]))
    spread = 1.4826 * float(np.median(np.abs(later[known] - usual)))
    late = known & (later - usual >= max(LEAST_NS, FAR * spread))
    if not late.any() or np.count_nonzero(late) > max(1, FEW * len(later)):
        return []
    seconds = float(np.max(later[late] - usual)) / 1e9
    words = f"{name(peers, late)} came {seconds:.1f} s later behind the others than before"
    return [divergence(peers, latest, "late", 0.55, peers.ranks_of(late), words)]


def _behind(peers: Peers, places: Ints) -> tuple[Floats, int]:
    """Return per rank how long (ns) after the middle of its peers it usually wrote, NaN unknown; and the last row."""
    snap = peers.snap
    late: list[tuple[Ints, Ints]] = []
    for at in range(0, len(places), 64):
        for entries in peers.table.entries_of(peers.rows[places[at : at + 64]]):
            heads = entries[(snap.record[entries] == entries) & (snap.clock[entries] != NO_TIME)]
            ranks = snap.rank(heads)
            known = ranks >= 0
            if np.count_nonzero(known) >= FEWEST:
                clock = snap.clock[heads[known]]
                late.append((np.searchsorted(peers.numbers, ranks[known]), clock - np.int64(np.median(clock))))
    out = np.full(len(peers.numbers), np.nan)
    if late:
        column = np.concatenate([c for c, _ in late])
        behind = np.concatenate([b for _, b in late])
        order = np.lexsort((behind, column))
        starts = np.flatnonzero(np.diff(column[order], prepend=-1))
        sizes = np.diff(np.append(starts, len(order)))
        enough = sizes >= FEWEST
        middle = order[starts + sizes // 2]
        out[column[middle[enough]]] = behind[middle[enough]]
    return out, int(places[-1]) if len(places) else 0
