"""Numbers far from the others' in the same row: at the end once is enough, on the way it must go on."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Divergence
from l4tui.engine.divergent.naming import divergence, name
from l4tui.engine.model import LineClass
from l4tui.engine.numerals import Split, split_numbers, worth
from l4tui.engine.peers import Peers
from l4tui.engine.rowtable import RowFlag
from l4tui.engine.snapshot import Snapshot

RECENT = 12  # last iterations that are looked at
MOST_LINES = 16_000  # lines whose numbers are read: a quarter of a second
FEWEST = 4  # values that tell what is usual
FAR = 8.0  # robust z
OFTEN = 4  # rows in which the same rank's same number is far off
SHARE = 0.6  # of the rows looked at
FEW = 1 / 3

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Off(NamedTuple):
    """A number far from the others'."""

    place: int
    column: int
    rank: int
    entry: int
    words: str


def judge(peers: Peers, attempt: int, progress: Ints) -> list[Divergence]:
    """Return ranks whose numbers are far from their peers'."""
    places = _chosen(peers, attempt, int(progress.max(initial=-1)))
    end = int(progress.max(initial=-1))
    found: dict[tuple[int, int, int], list[Off]] = defaultdict(list)
    seen: Counter[int] = Counter()
    for place, offs in _read(peers, places):
        event = int(peers.event[place])
        seen[event] += 1
        for off in offs:
            found[event, off.column, off.rank].append(off)
    out = []
    for (event, _, rank), offs in found.items():
        at_end = [off for off in offs if off.place > end]
        if not at_end and (len(offs) < OFTEN or len(offs) < SHARE * seen[event]):
            continue
        off = (at_end or offs)[0]
        score = 0.6 if at_end else 0.65
        who = np.isin(peers.numbers, [rank])
        d = divergence(peers, off.place, "value", score, (rank,), f"{name(peers, who)}: {off.words}")
        out.append(d._replace(entry=off.entry))
    return out


def _chosen(peers: Peers, attempt: int, end: int) -> Ints:
    """Return the rows of the last iterations, and what was said at the end."""
    skipped = RowFlag.FOLDED | RowFlag.FLOODED | RowFlag.APART
    mine = (peers.attempt == attempt) & (peers.many >= FEWEST) & (peers.flags & skipped == 0)
    mine &= peers.line_class != LineClass.TRACEBACK
    places = np.flatnonzero(mine)
    iterations = np.unique(peers.iteration[places])
    first = int(iterations[-RECENT:][0]) if len(iterations) else -1
    places = places[(places > end) | (peers.iteration[places] >= max(first, 0))]
    lines = np.cumsum(peers.table.count[peers.rows[places]][::-1])[::-1]
    return places[lines <= MOST_LINES]


def _read(peers: Peers, places: Ints) -> list[tuple[int, list[Off]]]:
    out = []
    snap = peers.snap
    for at in range(0, len(places), 64):
        part = places[at : at + 64]
        for place, entries in zip(part.tolist(), peers.table.entries_of(peers.rows[part]), strict=True):
            is_lead = (snap.record[entries] == entries) | (
                snap.plans.line_class[snap.plan[entries]] == LineClass.RAISED
            )
            out.append((place, _off(snap, place, entries[is_lead])))
    return out


def _off(snap: Snapshot, place: int, entries: Ints) -> list[Off]:
    """Return the numbers of one row that are far from the others'."""
    parts = [split_numbers(text) for text in snap.texts(entries.tolist())]
    if not parts:
        return []
    usual = Counter(part.words for part in parts).most_common(1)[0][0]
    alike = [i for i, part in enumerate(parts) if part.words == usual]
    ranks = snap.rank(entries[alike])
    known = np.flatnonzero(ranks >= 0)
    if len(known) < FEWEST:
        return []
    out = []
    chosen = [parts[alike[i]] for i in known.tolist()]
    for column in range(len(usual) - 1):
        values = np.array([worth(part.numbers[column]) for part in chosen])
        for i in _far(values, chosen, column).tolist():
            middle = f"{float(np.median(values)):g}"
            words = f"{chosen[i].numbers[column]} where {middle} is usual"
            entry = int(entries[alike[int(known[i])]])
            out.append(Off(place, column, int(ranks[known[i]]), entry, words))
    return out


def _far(values: Floats, parts: list[Split], column: int) -> Ints:
    if not np.isfinite(values).all():
        return np.zeros(0, np.int64)
    middle = float(np.median(values))
    whole = all(part.numbers[column].lstrip("+-").isdigit() for part in parts)
    least = 1.0 if whole else 0.05 * abs(middle)  # counters differ by one, measured values by some percent
    spread = max(1.4826 * float(np.median(np.abs(values - middle))), least, 1e-12)
    far = np.flatnonzero(np.abs(values - middle) >= FAR * spread)
    return far if len(far) <= max(1, FEW * len(values)) else np.zeros(0, np.int64)
