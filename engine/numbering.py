"""Ids of a block: which there are, and numbers for them in the order in which they first occur."""

from __future__ import annotations

import numpy as np

from l4tui.engine.model import UNKNOWN


class Numbering:
    """Numbers ids in the order in which they first occur, so that any cut into ranges numbers alike."""

    def __init__(self) -> None:
        self._of = np.full(1024, UNKNOWN, np.int32)
        self.count = 0

    def of(self, ids: np.ndarray, size: int) -> tuple[np.ndarray, list[int]]:
        """Return the numbers of ids below `size`, and the ids that are new, by number."""
        if size > len(self._of):
            more = max(size - len(self._of), len(self._of))
            self._of = np.concatenate((self._of, np.full(more, UNKNOWN, np.int32)))
        out = self._of.take(ids)
        if not len(out) or out.min() >= 0:
            return out, []
        new = first_seen(ids[out < 0])
        self._of[new] = np.arange(self.count, self.count + len(new))
        self.count += len(new)
        return self._of.take(ids), new.tolist()


def first_seen(ids: np.ndarray) -> np.ndarray:
    """Return the different ids in the order of their first occurrence."""
    used, first = np.unique(ids, return_index=True)
    return used[np.argsort(first)]


def distinct(ids: np.ndarray, size: int) -> np.ndarray:
    """Return the different ids of a block, ascending; all are at least 0 and below `size`."""
    if len(ids) > size:
        return np.flatnonzero(np.bincount(ids, minlength=size))
    occurs = np.zeros(size, np.bool_)
    occurs[ids] = True
    return np.flatnonzero(occurs)
