"""An index from 64-bit keys to row numbers: a sorted part that is searched, a fresh part that is a dictionary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FRESH = 1 << 17  # keys held in the dictionary (100 bytes each) before they are merged into the sorted part (12 bytes)

Ints = NDArray[np.int64]


class KeyIndex:
    """Keys to row numbers; a key once added stays."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.int64)
        self._rows = np.empty(0, np.int32)
        self._fresh: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._keys) + len(self._fresh)

    def find(self, keys: Ints) -> Ints:
        """Return the row of every key, −1 where it is new."""
        found = np.full(len(keys), -1, np.int64)
        if len(self._keys):
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            found = np.where(self._keys[at] == keys, self._rows[at], -1).astype(np.int64)
        missing = np.flatnonzero(found < 0)
        if len(missing) and self._fresh:
            get = self._fresh.get
            found[missing] = [get(key, -1) for key in keys[missing].tolist()]
        return found

    def add(self, keys: Ints, rows: Ints) -> None:
        """Add keys that are new."""
        self._fresh.update(zip(keys.tolist(), rows.tolist(), strict=True))
        if len(self._fresh) > FRESH:
            self._settle()

    def _settle(self) -> None:
        fresh = np.fromiter(self._fresh.keys(), np.int64, len(self._fresh))
        rows = np.fromiter(self._fresh.values(), np.int32, len(self._fresh))
        order = np.argsort(fresh)
        at = np.searchsorted(self._keys, fresh[order])
        self._keys = np.insert(self._keys, at, fresh[order])
        self._rows = np.insert(self._rows, at, rows[order])
        self._fresh.clear()
