"""Segments: rows of several sources that are merged at once, one source after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import UNKNOWN

Ints = NDArray[np.int64]


class Segments:
    """Where each source's rows begin and end; none is empty. What holds of all rows alike is a single number."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.ends: Ints = np.cumsum(np.array(sizes, np.int64))
        self.starts: Ints = np.append(0, self.ends[:-1])
        self._is_one = len(sizes) == 1

    def of(self, rows: Ints) -> Ints:
        """Return which segment each of these rows is in."""
        return np.searchsorted(self.ends, rows, "right")

    @cached_property
    def _of_row(self) -> Ints:
        return np.repeat(np.arange(len(self.ends)), self.ends - self.starts)

    def each(self, values: Sequence[int] | Ints, rows: Ints | None = None) -> Ints:
        """Return the value of every row's source, or of these rows'."""
        of = np.asarray(values, np.int64)
        if self._is_one:
            return of.reshape(())
        return of.take(self._of_row if rows is None else self._of_row.take(rows))

    def first(self, rows: Ints | None = None) -> Ints:
        """Return the first row of every row's source, or of these rows'."""
        return self.each(self.starts, rows)

    def last(self, marked: Ints) -> list[int]:
        """Return the last of some ascending rows in each segment, -1 where there is none."""
        found = np.append(UNKNOWN, marked).take(np.searchsorted(marked, self.ends))
        out: list[int] = np.where(found >= self.starts, found, UNKNOWN).tolist()
        return out
