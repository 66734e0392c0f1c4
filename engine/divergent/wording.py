"""Within a row: whose words are another, or whose values are no number."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Divergence
from l4tui.engine.divergent.naming import divergence, name
from l4tui.engine.numerals import split_numbers
from l4tui.engine.peers import Peers
from l4tui.engine.rowtable import RowFlag

MOST_LINES = 30_000  # lines whose words are compared, the last ones
FEW = 1 / 3
HABIT = 0.3  # share of an event's rows that differ in words: then it means nothing
NOT_A_NUMBER = re.compile(r"(?<![A-Za-z])(?:nan|[-+]?inf|infinity|non-?finite)(?![A-Za-z])", re.IGNORECASE)

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


def judge(peers: Peers, attempt: int, progress: Ints) -> list[Divergence]:
    """Return ranks whose text of a row differs in words, or in numbers that are none."""
    places = np.flatnonzero((peers.attempt == attempt) & (peers.many >= 3))
    varied = places[(peers.flags[places] & (RowFlag.VARIED | RowFlag.FLOODED | RowFlag.FOLDED)) == RowFlag.VARIED]
    usual = Counter(peers.event[varied].tolist())
    rows = Counter(peers.event[places].tolist())
    lines = np.cumsum(peers.table.count[peers.rows[varied]])
    varied = varied[-np.count_nonzero(lines[-1:] - lines < MOST_LINES) :] if len(varied) else varied
    out = []
    for place, entries in zip(varied.tolist(), _leads(peers, varied), strict=True):
        found = _minority(peers, entries)
        if found is None:
            continue
        who, entry, text, is_value = found
        habit = usual[int(peers.event[place])] > max(2, HABIT * rows[int(peers.event[place])])
        at_end = place > progress.max(initial=-1)
        score = 0.85 if is_value else 0.6 if at_end else 0.3 if habit else 0.5
        d = divergence(peers, place, "value", score, peers.ranks_of(who), f"{name(peers, who)}: {text[:80]}")
        out.append(d._replace(entry=entry))
    return out


def _leads(peers: Peers, places: Ints) -> list[Ints]:
    """Return the first lines of the records of rows."""
    snap = peers.snap
    out = []
    for at in range(0, len(places), 64):
        for entries in peers.table.entries_of(peers.rows[places[at : at + 64]]):
            heads = entries[snap.record[entries] == entries]
            out.append(heads if len(heads) else entries)
    return out


def _minority(peers: Peers, entries: Ints) -> tuple[Bits, int, str, bool] | None:
    """Return (ranks, line, its text, whether a value is no number) of the few whose words are another."""
    texts = peers.snap.texts(entries.tolist())
    words: list[tuple[tuple[str, ...], tuple[bool, ...]]] = []
    for text in texts:
        split = split_numbers(text)
        words.append((split.words, tuple(NOT_A_NUMBER.search(n) is not None for n in split.numbers)))
    usual, many = Counter(words).most_common(1)[0]
    odd = [i for i, w in enumerate(words) if w != usual]
    if not odd or len(odd) > max(1, FEW * len(words)) or many * 3 < 2 * len(words):
        return None
    ranks = peers.snap.rank(entries[odd])
    who = np.isin(peers.numbers, ranks)
    if not who.any():
        return None
    bad = any(words[i][1] != usual[1] and any(words[i][1]) for i in odd)
    return who, int(entries[odd[0]]), texts[odd[0]], bad
