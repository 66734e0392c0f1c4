"""What of a log could go unsaid: events that carry no information, and the bytes that dropping them would save.

Four ways to say nothing new, looked for per event over all of its lines:

- ranks: every rank says the same in each iteration; one of them would do;
- constant: a rank says the very same again and again; once would do;
- twice: each line stands several times in its rank's iteration (two handlers of one logger);
- echo: another event says the same numbers at the same ranks and iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.descriptors import SourceError
from l4tui.engine.model import Flag, Kind, Level
from l4tui.engine.snapshot import Snapshot

FEWEST = 20  # lines of an event that are worth a word
AGAIN = 5  # times a rank must say the same
_PRIME = 0x100000001B3
_INVERSE = pow(_PRIME, -1, 1 << 64)
_MIX = 0x9E3779B97F4A7C15

Words = NDArray[np.uint64]
ADVICE = {
    "ranks": "log it on one rank",
    "constant": "log it once, or sample it",
    "twice": "remove the second handler",
    "echo": "drop it: another event says the same numbers",
}


class Saving(NamedTuple):
    """One event that could say less."""

    event: int
    template: str
    reason: str  # ranks constant twice echo
    lines: int
    bytes: int
    saved_lines: int
    saved_bytes: int
    like: str  # template of the event it echoes


class Reduction(NamedTuple):
    """What could be saved in all."""

    lines: int
    bytes: int
    saved_lines: int
    saved_bytes: int
    savings: tuple[Saving, ...]  # largest first; each event once, with its best reason


class _Said(NamedTuple):
    """What every line says: a row per entry of a rank."""

    event: NDArray[np.int64]
    rank: NDArray[np.int64]
    iteration: NDArray[np.int64]
    size: NDArray[np.int64]  # bytes with prefix and newline
    text: Words  # hash of the message
    numbers: Words  # hash of its digits; 0: it has none


def reduction(snap: Snapshot, stop: Event) -> Reduction:
    """Find what could go unsaid; errors and warnings never can."""
    parts = list(_blocks(snap, stop))
    said = _Said(*(np.concatenate(columns) for columns in zip(*parts, strict=True))) if parts else None
    if said is None:
        return Reduction(0, 0, 0, 0, ())
    order = np.argsort(said.event, kind="stable")
    echoes = _Echoes()
    savings = []
    for rows in np.split(order, np.flatnonzero(np.diff(said.event[order])) + 1):
        if len(rows) < FEWEST or stop.is_set():
            continue
        event = int(said.event[rows[0]])
        best = max(_reasons(said, rows, event, echoes), key=lambda found: found[1], default=("", 0, 0, -1))
        reason, saved, lines, like = best
        if saved > 0:
            size = int(said.size[rows].sum())
            other = snap.templates[like] if like >= 0 else ""
            savings.append(Saving(event, snap.templates[event], reason, len(rows), size, lines, saved, other))
    savings.sort(key=lambda saving: -saving.saved_bytes)
    return Reduction(
        len(said.event), int(said.size.sum()), sum(s.saved_lines for s in savings),
        sum(s.saved_bytes for s in savings), tuple(savings),
    )  # fmt: skip


def _reasons(said: _Said, rows: NDArray[np.int64], event: int, echoes: _Echoes) -> Iterator[tuple[str, int, int, int]]:
    """Yield (reason, bytes saved, lines saved, event echoed) of one event."""
    rank, iteration, size = said.rank[rows], said.iteration[rows], said.size[rows]
    text = said.text[rows]
    ranks = len(np.unique(rank))
    whole = int(size.sum())
    told = len(np.unique(_mixed(iteration, text)))  # texts by iteration
    by_rank = len(np.unique(_mixed(iteration, rank, text)))
    if ranks > 1 and by_rank == told * ranks:
        yield "ranks", whole - whole // ranks, len(rows) - len(rows) // ranks, -1
    once = len(np.unique(_mixed(rank, text)))
    if len(rows) >= AGAIN * once:
        yield "constant", whole - whole * once // len(rows), len(rows) - once, -1
    _, times = np.unique(_mixed(iteration, rank, text), return_counts=True)
    least = int(times.min())
    if least > 1 and iteration.max() > iteration.min() and int(times.max()) == least:
        yield "twice", whole - whole // least, len(rows) - len(rows) // least, -1
    numbers = said.numbers[rows]
    if (numbers != 0).all() and len(np.unique(_mixed(iteration, numbers))) > len(np.unique(iteration)):
        like = echoes.of(event, _mixed(iteration, rank, numbers))  # else they may be the iteration's own number
        if like >= 0:
            yield "echo", whole, len(rows), like


class _Echoes:
    """Events by what numbers they say where; the first of each kind stays."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], int] = {}

    def of(self, event: int, marks: Words) -> int:
        """Return an earlier event with the same numbers at the same ranks and iterations, −1 if there is none."""
        if len(np.unique(marks)) < FEWEST:
            return -1
        mixed = marks * np.uint64(_MIX)
        mixed ^= mixed >> np.uint64(31)
        known = self._seen.setdefault((len(marks), int(mixed.sum(dtype=np.uint64))), event)
        return known if known != event else -1


def _mixed(*columns: NDArray[np.int64] | Words) -> Words:
    out = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        out = (out ^ column.astype(np.uint64)) * np.uint64(_MIX)
        out ^= out >> np.uint64(29)
    return out


def _blocks(snap: Snapshot, stop: Event) -> Iterator[_Said]:
    """Yield what the ranks' lines say, a block at a time; one pread each."""
    blocks = snap.blocks
    ends = np.append(blocks.first[1:], snap.length)
    odd = int(Flag.ODD | Flag.LOOSE | Flag.NOTE)
    for b in range(len(blocks.first)):
        first, end = int(blocks.first[b]), int(ends[b])
        if stop.is_set():
            return
        if blocks.base[b] < 0 or end <= first:
            continue
        size = int(blocks.size[b])
        try:
            data = snap.sources[int(blocks.source[b])].pread(int(blocks.base[b]), size)
        except SourceError:
            continue  # its text is gone
        begin = snap.columns["offset"][first:end].astype(np.int64)
        stop_at = np.append(begin[1:], size)
        plan, who = snap.plan[first:end], snap.speaker[first:end]
        chosen = (snap.ranks.kind[who] == Kind.RANK) & ((snap.flags[first:end] & odd) == 0)
        chosen &= snap.plans.level[plan] < Level.WARNING
        rows = np.flatnonzero(chosen)
        raw = np.frombuffer(data.ljust(size, b"\n") or b"\n", np.uint8)
        text_at = np.minimum(begin[rows] + snap.plans.text_at[plan[rows]], stop_at[rows])
        hashes = _Hashes(raw)
        digits = _Hashes(raw[(raw >= 48) & (raw <= 57)])
        count = np.concatenate(([0], np.cumsum((raw >= 48) & (raw <= 57))))
        yield _Said(
            snap.plans.event[plan[rows]].astype(np.int64), snap.ranks.rank[who[rows]].astype(np.int64),
            snap.iteration[first:end][rows].astype(np.int64), stop_at[rows] - begin[rows],
            hashes.of(text_at, stop_at[rows]), digits.of(count[text_at], count[stop_at[rows]]),
        )  # fmt: skip


class _Hashes:
    """Polynomial hashes, modulo 2**64, of any ranges of a buffer."""

    def __init__(self, raw: NDArray[np.uint8]) -> None:
        powers = np.full(len(raw) + 1, _PRIME, np.uint64)
        powers[0] = 1
        powers = np.multiply.accumulate(powers, dtype=np.uint64)
        self._sums = np.concatenate(
            (np.zeros(1, np.uint64), np.cumsum((raw.astype(np.uint64) + np.uint64(1)) * powers[:-1], dtype=np.uint64))
        )
        inverse = np.full(len(raw) + 1, _INVERSE, np.uint64)
        inverse[0] = 1
        self._inverse = np.multiply.accumulate(inverse, dtype=np.uint64)

    def of(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> Words:
        """Return the hash of each range; 0 for empty ones."""
        return (self._sums[end] - self._sums[begin]) * self._inverse[begin]
