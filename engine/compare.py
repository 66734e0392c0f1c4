"""Ranks side by side: aligned by iteration and event, gaps where a rank said nothing, what differs marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.alignment import align
from l4tui.engine.model import Kind, Span
from l4tui.engine.numerals import split_numbers
from l4tui.engine.rowtable import RowTable
from l4tui.engine.snapshot import Snapshot

CONSENSUS = -2  # a column that shows what most ranks said
MOST_COLUMNS = 8
KEPT = 256  # aligned iterations that are remembered
REACH = 1 << 13  # entries after a record's first line in which its other lines are looked for
_WORD = re.compile(r"\S+")

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Side(NamedTuple):
    """One iteration (or stage) aligned: lines × columns."""

    entries: NDArray[np.int64]  # −1: a gap
    event: NDArray[np.int64]  # per line
    differs: Bits  # per line: a gap somewhere, or other words; numbers alone do not count


class Column(NamedTuple):
    """What a rank wrote, by block."""

    entries: Ints  # by block, in it in the order of its file, of what most said in the order of the rows
    block: Ints


class Comparison:
    """Compares 2 to 8 ranks, or ranks with the consensus; only the iterations asked for are aligned."""

    def __init__(self, snap: Snapshot, table: RowTable, columns: Sequence[int]) -> None:
        """Take ranks, or CONSENSUS; raise ValueError for fewer than two columns or more than eight."""
        if not 2 <= len(columns) <= MOST_COLUMNS:
            raise ValueError(f"2 to {MOST_COLUMNS} columns can be compared, not {len(columns)}")
        self.snap = snap
        self.table = table
        self.columns = tuple(columns)
        self._known: dict[int, Side] = {}
        ranks = [rank for rank in columns if rank != CONSENSUS]
        self._columns = [self._consensus(ranks) if rank == CONSENSUS else self._column(rank) for rank in columns]
        used = np.unique(np.concatenate([c.block for c in self._columns]))
        self.blocks: Ints = used[np.argsort(table.block_place[used])]  # those with anything to show, in order

    def _column(self, rank: int) -> Column:
        speakers = (self.snap.ranks.rank == rank) & (self.snap.ranks.kind == Kind.RANK)
        rows = self.table.row
        entries = np.flatnonzero(speakers[self.snap.speaker[: len(rows)]])
        entries = entries[rows[entries] >= 0]
        return _by_block(entries, self.table.block[rows[entries]].astype(np.int64))

    def _consensus(self, without: list[int]) -> Column:
        """Return the first lines of the rows that most ranks of their attempt wrote, other ranks' where there are."""
        table, snap = self.table, self.snap
        who = np.where(snap.ranks.kind == Kind.RANK, snap.ranks.rank, -1)[: table.sets.speakers]
        used, of_row = np.unique(table.sets.of_row[table.order], return_inverse=True)
        members = [np.unique(who[bits & (who >= 0)]) for bits in table.sets.unpacked(used)]
        sizes = np.array([len(m) for m in members])[of_row]
        attempt = table.blocks.attempt[table.block[table.order]]
        total = np.zeros(int(attempt.max(initial=0)) + 1, np.int64)
        for a in np.unique(attempt).tolist():
            total[a] = len(np.unique(np.concatenate([members[s] for s in np.unique(of_row[attempt == a]).tolist()])))
        rows = table.order[sizes * 2 > total[attempt]].astype(np.int64)  # by block: several ranks have no common file
        first = table.first[rows]
        mine = np.flatnonzero(np.isin(snap.rank(first), without))
        for at in mine.tolist():
            lines = table.entries(int(rows[at]))
            others = lines[~np.isin(snap.rank(lines), without)]
            first[at] = others[0] if len(others) else first[at]
        block = table.block[rows].astype(np.int64)
        order = np.argsort(block, kind="stable")
        return Column(first[order], block[order])

    def _whole(self, firsts: Ints) -> Ints:
        """Set the other lines of its record behind each line of what most said."""
        record, row = self.snap.record, self.table.row
        parts = []
        for first in firsts.tolist():
            lines = first + np.flatnonzero(record[first : min(first + REACH, len(row))] == first)
            parts.append(lines[row[lines] == row[first]] if record[first] == first else np.array([first]))
        return np.concatenate(parts) if parts else firsts

    def side(self, block: int) -> Side:
        """Return a block aligned."""
        known = self._known.get(block)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[block] = self._aligned(block)
        return known

    def _aligned(self, block: int) -> Side:
        parts = []
        for rank, column in zip(self.columns, self._columns, strict=True):
            a, b = np.searchsorted(column.block, (block, block + 1))
            lines = column.entries[a:b]
            parts.append(self._whole(lines) if rank == CONSENSUS else lines)
        order = sorted(range(len(parts)), key=lambda i: -len(parts[i]))  # the longest first: fewest insertions later
        events = self._events(parts[order[0]])
        entries = np.full((len(events), len(parts)), -1, np.int64)
        entries[:, order[0]] = parts[order[0]]
        for i in order[1:]:
            theirs = self._events(parts[i])
            left, right = align(events, theirs)
            grown = np.full((len(left), len(parts)), -1, np.int64)
            grown[left >= 0] = entries[left[left >= 0]]
            grown[right >= 0, i] = parts[i][right[right >= 0]]
            at = np.maximum(left, 0)
            known = events[at] if len(events) else np.zeros(len(left), np.int64)
            events = np.where(left >= 0, known, theirs[np.maximum(right, 0)] if len(theirs) else known)
            entries = grown
        return Side(entries, events, self._differs(entries))

    def _events(self, entries: Ints) -> Ints:
        """Return the event of lines; lines that go on a record are told apart from those that begin one."""
        event: Ints = self.snap.event(entries).astype(np.int64)
        return event * 2 + (self.snap.record[entries] != entries)

    def _differs(self, entries: NDArray[np.int64]) -> Bits:
        if not len(entries):
            return np.zeros(0, np.bool_)
        shape = self.snap.plans.shape[self.snap.plan[np.maximum(entries, 0)]]
        gap: Bits = np.any(entries < 0, axis=1)
        return gap | self._rewritten(entries, shape, ~gap)

    def _rewritten(self, entries: NDArray[np.int64], shape: NDArray[np.int32], whole: Bits) -> Bits:
        """Say which lines differ in words: by shape first, by text where shapes differ."""
        out = np.zeros(len(entries), np.bool_)
        doubtful = np.flatnonzero(whole & (shape != shape[:, :1]).any(axis=1))
        texts = self.snap.texts(entries[doubtful].ravel().tolist())
        n = entries.shape[1]
        for k, line in enumerate(doubtful.tolist()):
            out[line] = len({split_numbers(text).words for text in texts[k * n : (k + 1) * n]}) > 1
        return out

    def find(self, block: int, line: int, step: int) -> tuple[int, int] | None:
        """Return (block, line) of the next line that differs, in direction `step` (±1); None if there is none."""
        at = int(np.flatnonzero(self.blocks == block)[0]) if block in self.blocks else 0
        while 0 <= at < len(self.blocks):
            lines = np.flatnonzero(self.side(int(self.blocks[at])).differs)
            ahead = lines[lines > line] if step > 0 else lines[lines < line]
            if len(ahead):
                return int(self.blocks[at]), int(ahead[0] if step > 0 else ahead[-1])
            at += step
            line = -1 if step > 0 else 1 << 60
        return None


def _by_block(entries: Ints, block: Ints) -> Column:
    order = np.lexsort((entries, block))
    return Column(entries[order], block[order])


def marks(texts: Sequence[str]) -> list[tuple[Span, ...]]:
    """Mark in texts of one line what differs: against most of them, of two in both. Spans are in characters.

    Kinds: `words`, `value` (most have another), `varies` (no value is that of most).
    """
    parts = [split_numbers(text) for text in texts]
    usual_words = Counter(part.words for part in parts).most_common(1)[0]
    alike = [part for part in parts if part.words == usual_words[0]]
    if len(texts) < 3 and len(alike) < len(texts):
        return _words_apart(texts)
    usual = []
    for numbers in zip(*(part.numbers for part in alike), strict=True):
        value, many = Counter(numbers).most_common(1)[0]
        usual.append(value if (many > 1 and many * 2 > len(alike)) or len(set(numbers)) == 1 else None)
    out: list[tuple[Span, ...]] = []
    for text, part in zip(texts, parts, strict=True):
        if part.words != usual_words[0]:
            out.append((Span("words", 0, len(text)),))
            continue
        spans, at = [], 0
        for word, number, common in zip(part.words, part.numbers, usual, strict=False):
            at += len(word)
            if number != common:
                spans.append(Span("varies" if common is None else "value", at, at + len(number)))
            at += len(number)
        out.append(tuple(spans))
    return out


def _words_apart(texts: Sequence[str]) -> list[tuple[Span, ...]]:
    """Mark word by word where all have as many, else all of each."""
    words = [list(_WORD.finditer(text)) for text in texts]
    if len({len(w) for w in words}) > 1:
        return [(Span("words", 0, len(text)),) for text in texts]
    apart = [i for i, same in enumerate(zip(*words, strict=True)) if len({w.group() for w in same}) > 1]
    return [tuple(Span("words", w[i].start(), w[i].end()) for i in apart) for w in words]
