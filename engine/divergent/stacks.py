"""Where in the code the ranks were when they went down: the few that stood elsewhere did something else before."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Divergence
from l4tui.engine.divergent.naming import divergence, name
from l4tui.engine.model import LineClass
from l4tui.engine.peers import OPENINGS, Peers
from l4tui.engine.smallids import nth

LAST = 3  # tracebacks of each rank that are looked at for its last one with frames
SHARE = 0.6  # of the ranks with a traceback that stood at the same place
FEW = 1 / 3
_FRAME = re.compile(r'File "([^"]{1,400})", line (\d+), in (\S{1,100})')

Ints = NDArray[np.int64]
Frame = tuple[str, str, str]  # file, line, function


class Stack(NamedTuple):
    """The frames of a rank's last traceback, outermost first, and the lines they stand in."""

    frames: tuple[Frame, ...]
    entries: tuple[int, ...]


def judge(peers: Peers, attempt: int, progress: Ints) -> list[Divergence]:
    """Return the ranks whose last traceback left the others' path."""
    end = progress.max(initial=-1)
    places = np.flatnonzero(np.isin(peers.line_class, OPENINGS) & (peers.attempt == attempt) & (peers.many > 0))
    places = places[places > end]
    if not len(places):
        return []
    stacks = _stacks(peers, places)
    if len(stacks) < 3:
        return []
    usual, many = Counter(s.frames for s in stacks.values()).most_common(1)[0]
    odd = {rank: s for rank, s in stacks.items() if s.frames != usual}
    if many < SHARE * len(stacks) or not odd or len(odd) > max(1, FEW * len(stacks)):
        return []
    out = []
    for frames in dict.fromkeys(s.frames for s in odd.values()):
        ranks = [rank for rank, s in odd.items() if s.frames == frames]
        out.append(_apart(peers, odd[ranks[0]], np.isin(peers.numbers, ranks), usual))
    return out


def _stacks(peers: Peers, places: Ints) -> dict[int, Stack]:
    """Return the last stack of every rank."""
    snap, table = peers.snap, peers.table
    lines = np.concatenate(table.entries_of(peers.rows[places]))
    heads = lines[np.isin(snap.plans.line_class[snap.plan[lines]], OPENINGS)]
    heads = np.unique(snap.record[heads]).astype(np.int64)
    heads = np.sort(heads[::-1][nth(snap.rank(heads)[::-1]) < LAST])
    members = snap.entries_of(heads.tolist())
    body = members[snap.plans.line_class[snap.plan[members]] == LineClass.BODY]
    found: dict[int, Stack] = {}
    of_rank: dict[int, tuple[int, list[Frame], list[int]]] = {}
    ranks, records = snap.rank(body).tolist(), snap.record[body].tolist()
    for entry, rank, record, text in zip(body.tolist(), ranks, records, snap.texts(body.tolist()), strict=True):
        match = _FRAME.search(text[:1000]) if rank >= 0 else None
        if match is None:
            continue
        if of_rank.setdefault(rank, (record, [], []))[0] != record:
            of_rank[rank] = (record, [], [])
        of_rank[rank][1].append((match[1], match[2], match[3]))
        of_rank[rank][2].append(entry)
    for rank, (_, frames, entries) in of_rank.items():
        found[rank] = Stack(tuple(frames), tuple(entries))
    return found


def _apart(peers: Peers, stack: Stack, who: NDArray[np.bool_], usual: tuple[Frame, ...]) -> Divergence:
    at = 0
    while at < min(len(stack.frames), len(usual)) and stack.frames[at] == usual[at]:
        at += 1
    entry = stack.entries[min(at, len(stack.entries) - 1)]
    place = int(np.flatnonzero(peers.rows == peers.table.row[entry])[0])
    here = _site(stack.frames[at]) if at < len(stack.frames) else "where it was called"
    there = _site(usual[at]) if at < len(usual) else "further out"
    words = f"{name(peers, who)} was at {here}, the others at {there}"
    alone = np.count_nonzero(who) == 1 or peers.is_node(who)
    found = divergence(peers, place, "order", 0.65 + 0.1 * bool(alone), peers.ranks_of(who), words)
    return found._replace(entry=entry, iteration=int(peers.snap.iteration[entry]))


def _site(frame: Frame) -> str:
    return f"{frame[0].rpartition('/')[2]}:{frame[1]} in {frame[2]}"
