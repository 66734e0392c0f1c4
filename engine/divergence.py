"""Divergence: what few ranks did and the others did not, most telling first.

A pure function of the rows, so that what is found live after the last line is what is found in the finished file. Two
questions are asked of each attempt. *The end*: what was said after the last calm thing that most ranks said; there the
first odd line tells most. *On the way*: what went on differently for good (a rank that fell silent, words or values
that are no number, complaints far above the others'). An odd line after which its rank went on like all others is a
minority, shown dimmed, and no stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME
from l4tui.engine.peers import Peers
from l4tui.engine.rows import RowBuilder
from l4tui.engine.rowtable import RowTable
from l4tui.engine.snapshot import Snapshot

STOP = 0.5  # score from which `d` stops
LEAST_WAIT_NS = 2_000_000_000
WAIT = 3  # iterations for which others may still say the same

Follows = Callable[[Sequence[str]], list[bool]]  # texts → whether each only follows from another rank's failure


class Divergence(NamedTuple):
    """One difference between ranks."""

    row: int
    entry: int  # its line: of the odd ranks for what they said, of the others for what they did not
    kind: str  # extra missing value order late
    score: float
    ranks: tuple[int, ...]  # the odd ones; empty where nobody can be named
    iteration: int  # −1 outside training
    event: int
    words: str
    is_settled: bool = True  # False: the others may still say the same
    is_stop: bool = False  # `d` goes there; else it is told by another stop or too slight


class Mark(IntEnum):
    """How a row is shown."""

    NONE = 0
    MINORITY = 1  # few wrote it, as they do or without harm: dimmed
    DIVERGENT = 2
    STOP = 3
    PENDING = 4  # others may still say the same


class Survey(NamedTuple):
    """All differences of a job."""

    found: tuple[Divergence, ...]  # most telling first
    marks: NDArray[np.uint8]  # Mark per row id

    @property
    def stops(self) -> list[Divergence]:
        """What `d` visits, in this order: the most telling first."""
        return [d for d in self.found if d.is_stop]


def survey(
    snap: Snapshot, table: RowTable | None = None, *, final: bool = True, follows: Follows | None = None
) -> Survey:
    """Find the differences between ranks and mark the rows.

    Args:
        table: the rows of the snapshot, where they are there already.
        final: nothing more will be written: nothing is pending.
        follows: tells victims' texts, which score less; none: every text counts the same.
    """
    table = table if table is not None else RowBuilder().update(snap)
    peers = Peers(snap, table)
    found: list[Divergence] = []
    for attempt in peers.attempts:
        heard = peers.heard(attempt)
        if np.count_nonzero(heard) >= 2:
            found += _judged(peers, attempt, heard, follows)
    if not final:
        found = _pending(peers, found)
    found = _stops(found)
    return Survey(tuple(found), _marks(peers, found))


def _judged(peers: Peers, attempt: int, heard: NDArray[np.bool_], follows: Follows | None) -> list[Divergence]:
    from l4tui.engine.divergent import end, lateness, numbers, stacks, way, wording

    progress = peers.last_progress(attempt)
    found = end.judge(peers, attempt, heard, progress, follows)
    found += stacks.judge(peers, attempt, progress)
    found += way.judge(peers, attempt, heard, progress)
    found += wording.judge(peers, attempt, progress)
    found += numbers.judge(peers, attempt, progress)
    found += lateness.judge(peers, attempt, progress)
    if attempt == peers.attempts[-1]:
        found += end.unheard(peers, heard)
    return found


def _marks(peers: Peers, found: list[Divergence]) -> NDArray[np.uint8]:
    marks = np.zeros(peers.table.length, np.uint8)
    total = len(peers.numbers)
    usual = np.array([peers.is_role(who) for who in peers.members], np.bool_)
    few = (peers.many > 0) & (2 * peers.many <= total) & ~usual[peers.set] & (total > 1)
    marks[peers.rows[few]] = Mark.MINORITY
    for d in sorted(found, key=lambda d: d.score):
        if d.score >= STOP:
            marks[d.row] = Mark.STOP if d.is_stop else Mark.DIVERGENT if d.is_settled else Mark.PENDING
    return marks


def _pending(peers: Peers, found: list[Divergence]) -> list[Divergence]:
    """Mark what is too fresh: others may still say the same."""
    clock = peers.snap.clock
    now = int(clock.max(initial=NO_TIME))
    wait = watermark(peers)
    return [
        d._replace(is_settled=False)
        if d.kind in ("extra", "missing") and clock[d.entry] != NO_TIME and now - int(clock[d.entry]) < wait
        else d
        for d in found
    ]


def watermark(peers: Peers) -> int:
    """Return how long a rank may lag behind the first that said something, ns: a multiple of an iteration's time."""
    starts: NDArray[np.int64] = peers.clock[(peers.iteration >= 0) & (peers.clock != NO_TIME)]
    blocks = peers.block[(peers.iteration >= 0) & (peers.clock != NO_TIME)]
    if len(starts) < 2:
        return LEAST_WAIT_NS
    opens = np.flatnonzero(np.diff(blocks, prepend=-1))
    lasts = np.diff(starts[opens])
    usual = int(np.median(lasts[lasts > 0])) if (lasts > 0).any() else 0
    return max(LEAST_WAIT_NS, WAIT * usual)


def _stops(found: list[Divergence]) -> list[Divergence]:
    """Order by score; of one set of ranks the most telling is the stop, the rest stands beside it."""
    found = sorted(found, key=lambda d: (-d.score, d.row))
    told: set[tuple[str, tuple[int, ...]]] = set()
    out = []
    for d in found:
        same = ("", d.ranks) if d.ranks else (d.words, ())
        if d.score >= STOP and d.is_settled and same not in told:
            told.add(same)
            d = d._replace(is_stop=True)
        out.append(d)
    return out
