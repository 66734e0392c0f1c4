"""The collapsed lens' rows: what a scope shows of a row table, some rows unfolded into their lines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.rowtable import RowTable

LINE = 1 << 40  # keys from here on are lines of an unfolded row: LINE + entry

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class CollapsedRows:
    """Rows in their order; implements view.Rows. A key is a row id, or LINE + entry below an unfolded row."""

    def __init__(self, table: RowTable, entries: Bits | None = None, unfolded: Iterable[int] = ()) -> None:
        """Show the rows that hold any of the entries (bool per entry; None: all)."""
        self.table = table
        order = table.order.astype(np.int64)
        if entries is not None:
            shown = np.zeros(table.length + 1, np.bool_)
            shown[table.row[: len(entries)][entries[: len(table.row)]]] = True
            order = order[shown[order]]
        self._order = order
        self._places = table.position[order]
        opened = np.array(sorted(unfolded, key=int), np.int64)
        opened = opened[(opened >= 0) & (opened < table.length)]
        at, is_shown = self._at(opened)
        at, opened = at[is_shown], opened[is_shown]
        by = np.argsort(at)
        self._opened_at = at[by]
        lines = table.entries_of(opened[by])
        if entries is not None:
            lines = [part[entries[np.minimum(part, len(entries) - 1)]] for part in lines]
        self._lines = lines
        self._before = np.concatenate(([0], np.cumsum([len(part) for part in lines], dtype=np.int64)))
        keys = order
        if lines:
            keys = np.insert(order, np.repeat(self._opened_at + 1, np.diff(self._before)), np.concatenate(lines) + LINE)
        self._keys = keys
        self.length = len(keys)

    def keys(self, start: int, stop: int) -> Ints:
        """Give the keys of rows start..stop, clipped to what exists."""
        return self._keys[max(start, 0) : max(stop, 0)]

    def position(self, key: int) -> int:
        """Find the place of a key, or the nearest one before it; 0 if there is none."""
        if not self.length:
            return 0
        row = key if key < LINE else self._row_of(key - LINE)
        if not 0 <= row < self.table.length:
            return self.length - 1 if row >= self.table.length else 0
        place = int(self.table.position[row])
        at = int(np.searchsorted(self._places, place, "right")) - 1
        if at < 0:
            return 0
        before = int(np.searchsorted(self._opened_at, at))
        out = at + int(self._before[before])
        if key >= LINE and before < len(self._opened_at) and self._opened_at[before] == at:
            out += int(np.searchsorted(self._lines[before], key - LINE, "right"))
        return out

    def key_of(self, entry: int) -> int:
        """Return the key of the row that holds a line: the cursor when the lens changes."""
        return max(self._row_of(entry), 0)

    def entries(self, keys: Ints) -> Ints:
        """Return the entry that each key stands for: a line, or a row's first one."""
        rows = np.where(keys < LINE, keys, 0)
        return np.where(keys < LINE, self.table.first[rows], keys - LINE)

    def _row_of(self, entry: int) -> int:
        return int(self.table.row[entry]) if 0 <= entry < len(self.table.row) else -1

    def _at(self, rows: Ints) -> tuple[Ints, Bits]:
        place = self.table.position[rows]
        if not len(self._places):
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        at = np.minimum(np.searchsorted(self._places, place), len(self._places) - 1)
        return at, self._places[at] == place
