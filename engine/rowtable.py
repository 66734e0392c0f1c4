"""The collapsed log as one frozen table: a row is what several ranks said alike within one iteration or stage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.nodeset import nodeset
from l4tui.engine.snapshot import RankTable
from l4tui.engine.speakersets import FrozenSets

FLOOD = 64  # occurrences within a speaker and iteration that keep rows of their own; the rest are one row
TEARDOWN_LAST = 15  # number of the block of a teardown that no iteration is known for
FIRST_ITERATION = 16  # number of a block = iteration + this; below stand stage + 1
SINGLE = 4  # rows up to which a scan for each is faster than one for all (0.5 against 2.5 ns a line)

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class RowFlag(IntFlag):
    """Bits of a row (uint8)."""

    VARIED = 1  # its texts differ in more than numbers
    FOLDED = 2  # holds all occurrences: a progress bar, blank lines
    FLOODED = 4  # the fold of every occurrence from the 64th on
    APART = 8  # text of one speaker that is never merged: numbers only, lines of ours


@dataclass(frozen=True)
class Blocks:
    """Iterations and stages that have rows, a row each; in no order (see RowTable.block_order)."""

    attempt: Ints
    iteration: Ints  # −1: a stage outside training
    stage: Ints  # −1 unknown; −1 too where the iteration is known
    first: Ints  # lowest entry
    last: Ints  # highest


@dataclass(frozen=True)
class RowTable:
    """All rows by id; arrays have one value per row unless said otherwise."""

    length: int
    version: int
    row: NDArray[np.int32]  # per entry: its row; entries not yet seen are not in it
    block: NDArray[np.int32]
    signature: NDArray[np.int32]
    occurrence: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    first: NDArray[np.int64]  # entry of its first line
    count: NDArray[np.int32]  # records; 0: nothing is left in it
    sets: FrozenSets
    blocks: Blocks
    event: NDArray[np.int32]  # per signature
    order: NDArray[np.int32]  # row ids as shown: by block, in it by first line

    @cached_property
    def block_order(self) -> Ints:
        """Blocks from first to last."""
        return np.argsort(block_keys(self.blocks), kind="stable")

    @cached_property
    def block_place(self) -> Ints:
        """Place of each block in the order."""
        place = np.empty(len(self.block_order), np.int64)
        place[self.block_order] = np.arange(len(place))
        return place

    @cached_property
    def position(self) -> NDArray[np.int32]:
        """Place of each row in `order`; −1 for rows with nothing left."""
        place = np.full(self.length, -1, np.int32)
        place[self.order] = np.arange(len(self.order))
        return place

    def entries(self, row: int) -> Ints:
        """Return all lines of a row, ascending; scans its block."""
        block = self.block[row]
        first = int(self.blocks.first[block])
        return first + np.flatnonzero(self.row[first : int(self.blocks.last[block]) + 1] == row)

    def entries_of(self, rows: Ints) -> list[Ints]:
        """Return the lines of several rows; one scan over the span of their blocks."""
        if not len(rows):
            return []
        if len(rows) <= SINGLE:
            return [self.entries(row) for row in rows.tolist()]
        blocks = self.block[rows]
        first = int(self.blocks.first[blocks].min())
        span = self.row[first : int(self.blocks.last[blocks].max()) + 1]
        wanted, place = np.unique(rows, return_inverse=True)
        number = np.full(self.length + 1, -1, np.int32)  # the last one is for lines without a row
        number[wanted] = np.arange(len(wanted))
        by = number[span]
        hits = np.flatnonzero(by >= 0)
        by = by[hits]
        order = np.argsort(by, kind="stable")
        cuts = np.searchsorted(by[order], np.arange(len(wanted) + 1))
        parts = [first + hits[order[a:b]] for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]
        return [parts[i] for i in place.tolist()]

    def rows_of(self, entries: Ints) -> Ints:
        """Return the distinct rows of lines, ascending: hits of a search become rows."""
        return np.unique(self.row[entries[entries < len(self.row)]]).astype(np.int64)

    def ranks(self, row: int, ranks: RankTable) -> Ints:
        """Return the known ranks that wrote a row, ascending."""
        members = np.flatnonzero(self.sets.bits(np.array([row]))[0])
        known = ranks.rank[members]
        return np.unique(known[known >= 0]).astype(np.int64)

    def rank_texts(self, rows: Ints, ranks: RankTable, most: int = 0) -> list[str]:
        """Return the rank sets of rows in nodeset notation; rows of equal sets are written once."""
        sets, place = np.unique(self.sets.of_row[rows], return_inverse=True)
        texts = []
        for bits in self.sets.unpacked(sets):
            known = ranks.rank[np.flatnonzero(bits)]
            known = known[known >= 0]
            texts.append(nodeset(known, most) if len(known) else "")
        return [texts[i] for i in place.tolist()]


def block_keys(blocks: Blocks) -> Ints:
    """Return a sort key per block: attempt, stages before training, iterations, a teardown without iteration."""
    number = np.where(blocks.iteration >= 0, blocks.iteration + FIRST_ITERATION, blocks.stage + 1)
    number = np.where(number == TEARDOWN_LAST, 1 << 40, number)
    return (blocks.attempt << 42) + number
