"""The store: append-only numpy columns, one writer, many readers that never lock."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from l4tui.engine.sharing import remember, shared, touch

Allocate = Callable[[int, Any], np.ndarray]  # values, dtype

FEW = 4096  # values that are written as they come
TOUCHED = 1 << 20  # bytes of a column for which memory is asked for at a time
# name → dtype: 31 bytes an entry
COLUMNS: dict[str, type] = {
    "offset": np.uint32,  # from the block's base
    "plan": np.int32,
    "speaker": np.int32,
    "clock": np.int64,  # ns UTC, the entry's own or its source's last one; NO_TIME before the first
    "record": np.uint32,  # entry of the record's first line
    "iteration": np.int32,
    "stage": np.int8,
    "flags": np.uint16,
}


class Growing:
    """One array that grows at its end; a view taken earlier stays valid."""

    def __init__(self, dtype: type, room: int = 4096) -> None:
        self._data: np.ndarray = np.empty(room, dtype)
        self.length = 0
        self._touched = 0  # values up to which memory is at hand
        self.expected = 0  # values that will come, as far as anyone can tell

    def extend(self, values: np.ndarray) -> None:
        """Append values, cast to the column's type."""
        end = self.length + len(values)
        self.make_room(end)
        if end > self._touched and len(values) > FEW:
            self._touched = end + TOUCHED // self._data.itemsize
            touch(self._data, self.length, self._touched)
        self._data[self.length : end] = values
        self.length = end

    def make_room(self, end: int, allocate: Allocate = np.empty) -> None:
        """Have room for so many values in all, in an array of `allocate` where there is too little."""
        if end <= len(self._data):
            return
        # untouched memory costs nothing, so room for all that is expected is made at once
        larger = allocate(max(end, self.expected, len(self._data) * 3 // 2), self._data.dtype)
        larger[: self.length] = self._data[: self.length]
        self._data, self._touched = larger, self.length

    def append(self, value: int) -> None:
        """Append one value."""
        self.make_room(self.length + 1)
        self._data[self.length] = value
        self.length += 1

    def count(self, places: np.ndarray) -> None:
        """Add to each value how often its place is among these; views taken earlier change, too."""
        if len(places):
            first = int(places.min())
            counts = np.bincount(places - first)
            if not self._data.flags.writeable:  # of a kept index
                self._data = self._data.copy()
            self._data[first : first + len(counts)] += counts.astype(self._data.dtype)

    def replace(self, values: np.ndarray) -> None:
        """Put new values in place of all that are held; views taken earlier keep the old ones."""
        self._data = values
        self.length = len(values)

    def view(self, length: int | None = None) -> np.ndarray:
        """Return the first `length` values, read-only."""
        view = self._data[: self.length if length is None else length]
        view.flags.writeable = False
        return view

    @property
    def itemsize(self) -> int:
        """Bytes of a value."""
        return self._data.itemsize

    @property
    def is_mapped(self) -> bool:
        """Whether the values are in a file."""
        return isinstance(self._data, np.memmap)

    @property
    def room(self) -> int:
        """Values there is room for."""
        return len(self._data)

    @property
    def nbytes(self) -> int:
        """Bytes of the values held."""
        return self.length * self._data.itemsize


def half_of_memory() -> int:
    """Return half of the machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class Blocks(NamedTuple):
    """Where entries stand: arrays with a row per merged block."""

    first: np.ndarray  # int64: its first entry
    source: np.ndarray  # int32
    base: np.ndarray  # int64: offset of the block in its source; -1: notes of ours
    size: np.ndarray  # int64: bytes
    line: np.ndarray  # int64: 1-based number of its first physical line


class Store:
    """All entries of a job."""

    def __init__(self, cap: int = 0, folder: Path | None = None) -> None:
        """Hold columns in memory up to `cap` bytes (0: half of the machine's), beyond it in files under `folder`."""
        self.cap = cap or half_of_memory()
        self.folder = folder
        self.remark = ""  # why columns are in memory beyond the cap, in words
        self.columns = {name: Growing(dtype) for name, dtype in COLUMNS.items()}
        self._blocks = {name: Growing(np.int64, 256) for name in Blocks._fields}
        self.notes: list[str] = []
        self.length = 0

    def _allocate(self, room: int, dtype: np.dtype[Any]) -> np.ndarray:
        """Return an array, in a file without a name where memory would hold more than the cap."""
        held = sum(column.room * column.itemsize for column in self.columns.values() if not column.is_mapped)
        if held + room * dtype.itemsize <= self.cap:
            return shared(room, dtype)
        try:
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):  # else a full disk is found out by a signal
                    os.posix_fallocate(file.fileno(), 0, room * dtype.itemsize)
                array: np.ndarray = np.memmap(file, dtype, "r+", shape=(room,))
                remember(array, file.fileno())
                return array
        except OSError as error:
            self.remark = f"--max-mem: {(error.strerror or '').lower()} for the index: it stays in memory"
            return np.empty(room, dtype)

    def add_blocks(
        self, blocks: Sequence[tuple[int, int, int, int]], starts: Sequence[int], columns: Mapping[str, np.ndarray]
    ) -> None:
        """Append the entries of some blocks; readers see them once `length` has moved.

        Args:
            blocks: source, base, size and line of each, as in `Blocks`.
            starts: the first row of each in the columns.
        """
        for name, column in self.columns.items():
            column.make_room(self.length + len(columns[name]), self._allocate)
            column.extend(columns[name])
        for start, block in zip(starts, blocks, strict=True):
            for name, value in zip(Blocks._fields, (self.length + start, *block), strict=True):
                self._blocks[name].append(value)
        self.length += len(columns["offset"])

    def restore(self, columns: dict[str, np.ndarray], blocks: dict[str, np.ndarray]) -> None:
        """Take up the entries of a stored index."""
        for name, values in columns.items():
            self.columns[name].replace(values)
        for name, values in blocks.items():
            self._blocks[name].replace(values)
        self.length = len(columns["offset"])

    def is_full(self, entries: int) -> bool:
        """Say whether so many more entries need more room than there is."""
        return self.columns["offset"].room < self.length + entries

    def expect(self, entries: int) -> None:
        """Be ready for so many entries in all."""
        for column in self.columns.values():
            column.expected = entries

    def blocks(self) -> Blocks:
        """Return the block table as it is now."""
        return Blocks(*(self._blocks[name].view() for name in Blocks._fields))

    @property
    def nbytes(self) -> int:
        """Bytes that the columns hold."""
        return sum(column.nbytes for column in self.columns.values())
