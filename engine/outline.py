"""The collapsed log as a list: rows under a rule per iteration, iterations folded away, rows unfolded into lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import Kind
from l4tui.engine.rowtable import RowTable
from l4tui.engine.snapshot import Snapshot

LINE = 1 << 40  # keys from here on are lines of an unfolded row: LINE + entry
RULE = 1 << 41  # and from here on the rules above blocks: RULE + block
MOST_UNFOLDED = 256  # lines of a row up to which one of them is worth showing all
FEWEST = 2.0  # rows per block from which rules are worth their space

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Folds(NamedTuple):
    """What a person has folded and unfolded."""

    all_closed: bool = False
    turned: frozenset[int] = frozenset()  # blocks that are the other way
    opened: frozenset[int] = frozenset()  # rows whose lines are shown

    def closes(self, blocks: Ints) -> Bits:
        """Say which blocks show their rule only."""
        return np.isin(blocks, np.array(sorted(self.turned), np.int64)) != self.all_closed

    def turning(self, block: int) -> Folds:
        """Give the folds with one block the other way."""
        return self._replace(turned=self.turned ^ {block})

    def turning_row(self, row: int) -> Folds:
        """Give the folds with one row the other way."""
        return self._replace(opened=self.opened ^ {row})

    def showing(self, table: RowTable, entry: int, snap: Snapshot) -> Folds:
        """Give the folds that show a line: its block open, and its row where a launcher's other lines stand for it."""
        row = int(table.row[entry]) if 0 <= entry < len(table.row) else -1
        if row < 0:
            return self
        block = int(table.block[row])
        out = self.turning(block) if self.closes(np.array([block]))[0] else self
        is_alike = snap.ranks.kind[snap.speaker[entry]] == Kind.RANK or int(table.first[row]) == entry
        if is_alike or row in out.opened or table.count[row] > MOST_UNFOLDED:
            return out
        return out.turning_row(row)


class Outline:
    """What is shown of a row table; implements view.Rows. A key is a row id, LINE + entry, or RULE + block."""

    def __init__(self, table: RowTable, entries: Bits | None = None, folds: Folds | None = None) -> None:
        """Show the rows that hold any of the entries (bool per entry; None: all)."""
        self.table = table
        self.folds = folds or Folds()
        order = table.order.astype(np.int64)
        if entries is not None:
            shown = np.zeros(table.length, np.bool_)
            known = table.row[: len(entries)]
            shown[known[entries[: len(known)] & (known >= 0)]] = True
            order = order[shown[order]]
        self.rows = order  # all that pass, whether or not folded away
        block = table.block[order].astype(np.int64)
        starts = np.flatnonzero(np.diff(block, prepend=-1))
        self.blocks = block[starts]  # in order
        self.sizes = np.diff(np.append(starts, len(order)))  # rows of each
        self._lead = np.zeros(len(table.block_order), np.int64)
        self._lead[self.blocks] = table.first[order[starts]]
        closed = self.folds.closes(self.blocks)
        self.has_rules = bool(closed.any()) or len(order) >= FEWEST * len(starts) > FEWEST
        kept = ~np.repeat(closed, self.sizes)
        sort = (table.block_place[block[kept]] << 32) + table.position[order[kept]] + 1
        keys = order[kept]
        if self.has_rules:
            at = np.concatenate(([0], np.cumsum(np.where(closed, 0, self.sizes))))[:-1]
            keys = np.insert(keys, at, self.blocks + RULE)
            sort = np.insert(sort, at, table.block_place[self.blocks] << 32)
        self._keys, self._sort = keys, sort
        self._lines: Ints | None = None  # per place: the entry of a line, −1 of others; None: no row is unfolded
        if self.folds.opened:
            self._unfold(entries)
        self.length = len(self._keys)

    def _unfold(self, entries: Bits | None) -> None:
        opened = np.array(sorted(self.folds.opened), np.int64)
        opened = opened[opened < self.table.length]
        sort = self._sort_of_rows(opened)
        at = np.minimum(np.searchsorted(self._sort, sort), max(len(self._sort) - 1, 0))
        there = (self._sort[at] == sort) if len(self._sort) else np.zeros(len(opened), np.bool_)
        opened, sort, at = opened[there], sort[there], at[there]
        lines = self.table.entries_of(opened)
        if entries is not None:
            lines = [part[entries[np.minimum(part, len(entries) - 1)]] for part in lines]
        if not lines:
            return
        flat, many = np.concatenate(lines), [len(part) for part in lines]
        by = np.repeat(at + 1, many)
        order = np.lexsort((flat, by))
        self._lines = np.insert(np.full(len(self._keys), -1, np.int64), by[order], flat[order])
        self._sort = np.insert(self._sort, by[order], np.repeat(sort, many)[order])
        self._keys = np.insert(self._keys, by[order], flat[order] + LINE)

    def keys(self, start: int, stop: int) -> Ints:
        """Give the keys of rows start..stop, clipped to what exists."""
        return self._keys[max(start, 0) : max(stop, 0)]

    def position(self, key: int) -> int:
        """Find the place of a key, or the nearest one before it; 0 if there is none."""
        sort = self._sort_of(key)
        low, high = np.searchsorted(self._sort, sort, "left"), np.searchsorted(self._sort, sort, "right")
        at = int(low) if low < high else int(low) - 1
        if LINE <= key < RULE and low < high and self._lines is not None:
            at += max(int(np.searchsorted(self._lines[low:high], key - LINE, "right")) - 1, 0)
        return max(at, 0)

    def key_of(self, entry: int) -> int:
        """Return the key of what shows a line: the line, its row, or the rule its block is folded to."""
        row = int(self.table.row[entry]) if 0 <= entry < len(self.table.row) else -1
        if row < 0:
            return int(self._keys[-1]) if self.length else 0
        block = int(self.table.block[row])
        if self.folds.closes(np.array([block]))[0]:
            return RULE + block
        return LINE + entry if row in self.folds.opened else row

    def entries(self, keys: Ints) -> Ints:
        """Return the entry that each key stands for: a line, or the first one of a row or block."""
        rows = np.where(keys < LINE, keys, 0)
        blocks = np.where(keys >= RULE, keys - RULE, 0)
        first = self.table.first[rows] if self.table.length else np.zeros(len(keys), np.int64)
        lead = self._lead[blocks] if len(self._lead) else first
        return np.where(keys < LINE, first, np.where(keys < RULE, keys - LINE, lead))

    def row_of(self, key: int) -> int:
        """Return the row of a key; −1 for rules."""
        return key if key < LINE else int(self.table.row[key - LINE]) if key < RULE else -1

    def block_of(self, key: int) -> int:
        """Return the block of a key."""
        return key - RULE if key >= RULE else int(self.table.block[self.row_of(key)])

    def tester(self, entries: Bits) -> Callable[[Ints], Bits]:
        """Give a test of keys: a line that is one of the entries, else a row or folded block that holds one."""
        known = np.append(entries, False)
        found = np.flatnonzero(entries)
        marked = np.zeros(self.table.length, np.bool_)
        marked[self.table.rows_of(found)] = True
        folded = np.unique(self.table.block[np.flatnonzero(marked)]).astype(np.int64)
        folded = folded[self.folds.closes(folded)]
        opened = np.array(sorted(self.folds.opened), np.int64)

        def test(keys: Ints) -> Bits:
            out = np.zeros(len(keys), np.bool_)
            is_row, is_line = keys < LINE, (keys >= LINE) & (keys < RULE)
            out[is_row] = marked[keys[is_row]] & ~np.isin(keys[is_row], opened)
            out[is_line] = known[np.minimum(keys[is_line] - LINE, len(known) - 1)]
            out[keys >= RULE] = np.isin(keys[keys >= RULE] - RULE, folded)
            return out

        return test

    def _sort_of_rows(self, rows: Ints) -> Ints:
        block = self.table.block[rows]
        return (self.table.block_place[block] << 32) + self.table.position[rows] + 1

    def _sort_of(self, key: int) -> int:
        if key >= RULE:
            block = key - RULE
            return int(self.table.block_place[block]) << 32 if block < len(self.table.block_place) else 1 << 62
        row = self.row_of(key) if key < LINE or key - LINE < len(self.table.row) else self.table.length
        if not 0 <= row < self.table.length:
            return 1 << 62
        return int(self._sort_of_rows(np.array([row]))[0])


def continues(old: RowTable, new: RowTable) -> bool:
    """Say whether the rows of an earlier table have the same ids in a later one."""
    n, blocks = min(old.length, new.length), min(len(old.blocks.iteration), len(new.blocks.iteration))
    return (
        old.length <= new.length
        and np.array_equal(old.block[:n], new.block[:n])
        and np.array_equal(old.signature[:n], new.signature[:n])
        and np.array_equal(old.occurrence[:n], new.occurrence[:n])
        and np.array_equal(old.blocks.iteration[:blocks], new.blocks.iteration[:blocks])
    )


def changed_rows(old: RowTable, new: RowTable) -> Ints:
    """Return the rows of an earlier table that hold more or other lines now."""
    n = min(old.length, new.length)
    return np.flatnonzero((old.count[:n] != new.count[:n]) | (old.first[:n] != new.first[:n]))
