"""Which speakers wrote a row: a bool vector while the row is open, an interned packed set when it is quiet."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

OPEN_BYTES = 64 << 20  # of bool vectors; beyond it the rows that were touched longest ago are packed
MOST_SLOTS = 1 << 14
FEWEST_SLOTS = 1024  # however many speakers there are

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]
Packed = NDArray[np.uint8]
T = TypeVar("T", bound=np.generic)


def roomy(values: NDArray[T], wanted: int, fill: int = 0) -> NDArray[T]:
    """Return the array, or a larger copy with room for `wanted` rows (half as much again at least)."""
    if wanted <= len(values):
        return values
    more = max(wanted, len(values) * 3 // 2) - len(values)
    return np.concatenate((values, np.full((more, *values.shape[1:]), fill, values.dtype)))


class FrozenSets:
    """Sets by row as they are at one moment; speakers are columns."""

    def __init__(self, packed: Packed, of_row: NDArray[np.int32], speakers: int) -> None:
        self.packed = packed  # (sets, bytes)
        self.of_row = of_row
        self.speakers = speakers

    def bits(self, rows: Ints) -> Bits:
        """Return who wrote rows; bool (rows, speakers)."""
        return self.unpacked(self.of_row[rows])

    def unpacked(self, sets: NDArray[np.integer]) -> Bits:
        """Return the members of sets; bool (sets, speakers)."""
        if not self.speakers:
            return np.zeros((len(sets), 0), np.bool_)
        return np.unpackbits(self.packed[sets], axis=1, count=self.speakers, bitorder="little").view(np.bool_)


class SpeakerSets:
    """Sets of all rows; healthy jobs have a few hundred distinct ones."""

    def __init__(self, open_bytes: int = OPEN_BYTES, fewest: int = FEWEST_SLOTS) -> None:
        self._open_bytes = open_bytes
        self._fewest = fewest
        self._width = 64  # speakers there is room for; a multiple of 64
        self._packed = np.zeros((64, 8), np.uint8)
        self._ids: dict[bytes, int] = {bytes(8): 0}
        self._bits = np.zeros((0, 64), np.bool_)  # of open rows, one per slot
        self._row = np.zeros(0, np.int64)  # of each slot, -1: free
        self._touched = np.zeros(0, np.int64)
        self._image = np.zeros((0, 8), np.uint8)  # the vectors packed, as they were at the turn `_imaged`
        self._turn = self._imaged = 0
        self._of_row = np.zeros(1024, np.int32)  # interned set; of an open row -1 - slot
        self.rows = 0
        self.speakers = 0

    def grow(self, rows: int, speakers: int) -> None:
        """Make room for rows and speakers below these numbers; new rows have the empty set."""
        self._of_row = roomy(self._of_row, rows)
        self.rows = max(self.rows, rows)
        self.speakers = max(self.speakers, speakers)
        if speakers <= self._width:
            return
        width = -(-max(speakers, self._width * 2) // 64) * 64
        self._packed = np.pad(self._packed, ((0, 0), (0, (width - self._width) // 8)))
        self._bits = np.pad(self._bits, ((0, 0), (0, width - self._width)))
        self._image = np.pad(self._image, ((0, 0), (0, (width - self._width) // 8)))
        self._ids = {key.ljust(width // 8, b"\0"): value for key, value in self._ids.items()}
        self._width = width

    def has(self, rows: Ints, speakers: Ints) -> Bits:
        """Say for each pair whether the speaker wrote the row."""
        ids = self._of_row[rows].astype(np.int64)
        found: Bits = self._packed[np.maximum(ids, 0), speakers >> 3] >> (speakers & 7).astype(np.uint8) & 1 != 0
        opened = np.flatnonzero(ids < 0)
        found[opened] = self._bits[-1 - ids[opened], speakers[opened]]
        return found

    def put(self, rows: Ints, speakers: Ints, distinct: Ints) -> None:
        """Add each speaker to its row; `distinct`: the same rows, each once."""
        self._open(distinct)
        self._bits[-1 - self._of_row[rows], speakers] = True

    def take(self, rows: Ints, speakers: Ints) -> None:
        """Remove each speaker from its row."""
        self._open(np.unique(rows))
        self._bits[-1 - self._of_row[rows], speakers] = False

    def _open(self, rows: Ints) -> None:
        self._turn += 1
        ids = self._of_row[rows]
        self._touched[-1 - ids[ids < 0]] = self._turn
        closed = rows[ids >= 0]
        if not len(closed):
            return
        slots = self._free(len(closed))
        packed = self._packed[self._of_row[closed]]
        self._bits[slots] = np.unpackbits(packed, axis=1, bitorder="little").view(np.bool_)
        self._row[slots], self._touched[slots] = closed, self._turn
        self._of_row[closed] = -1 - slots

    def _free(self, wanted: int) -> Ints:
        """Return free slots; packs the rows that were touched longest ago where there is no more room."""
        most = max(self._fewest, min(MOST_SLOTS, self._open_bytes // self._width))
        free = np.flatnonzero(self._row < 0)
        if len(free) < wanted and len(self._row) >= most:
            used = np.flatnonzero((self._row >= 0) & (self._touched < self._turn))
            half = min(len(used), max(wanted, len(used) // 2))
            oldest = used[np.argpartition(self._touched[used], half - 1)[:half]] if half else used
            self._of_row[self._row[oldest]] = self._intern(self._bits[oldest])
            self._row[oldest] = -1
            free = np.flatnonzero(self._row < 0)
        if len(free) < wanted:
            size = len(self._row) + wanted
            self._bits, self._row = roomy(self._bits, size), roomy(self._row, size, -1)
            self._touched, self._image = roomy(self._touched, size), roomy(self._image, size)
            free = np.flatnonzero(self._row < 0)
        return free[:wanted]

    def _intern(self, bits: Bits) -> NDArray[np.int32]:
        packed = np.packbits(bits, axis=1, bitorder="little")
        out = np.empty(len(packed), np.int32)
        for i, row in enumerate(packed):
            key = row.tobytes()
            known = self._ids.get(key)
            if known is None:
                known = self._ids[key] = len(self._ids)
                self._packed = roomy(self._packed, known + 1)
                self._packed[known] = row
            out[i] = known
        return out

    def frozen(self) -> FrozenSets:
        """Return a copy that later changes leave alone; only vectors touched since the last one are packed."""
        fresh = np.flatnonzero((self._row >= 0) & (self._touched > self._imaged))
        self._image[fresh] = np.packbits(self._bits[fresh], axis=1, bitorder="little")
        self._imaged = self._turn
        sets = len(self._ids)
        of_row = self._of_row[: self.rows].copy()
        opened = np.flatnonzero(of_row < 0)
        live, place = _distinct(self._image[-1 - of_row[opened]])
        of_row[opened] = sets + place
        return FrozenSets(np.concatenate((self._packed[:sets], live)), of_row, self.speakers)


def _distinct(packed: Packed) -> tuple[Packed, Ints]:
    """Return the distinct rows and the place of each; by a hash, for numpy sorts long rows a hundred times slower."""
    words = packed.view(np.uint64)
    odd = np.random.default_rng(0).integers(1, 1 << 63, (2, words.shape[1]), np.uint64) | np.uint64(1)
    mixed = words * odd[0]
    mixed ^= mixed >> np.uint64(32)  # a product moves bits up only: without this, the highest of each word is one value
    hashes = (mixed * odd[1]).sum(axis=1, dtype=np.uint64)
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(packed[first][place], packed):  # two sets of one hash: never seen
        _, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return packed[first], place.ravel()
