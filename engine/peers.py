"""Who wrote each row in terms of ranks, who is a peer of whom, and how far each rank has come."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import Kind, Level, LineClass
from l4tui.engine.rowtable import RowFlag, RowTable
from l4tui.engine.snapshot import Snapshot

CHUNK = 1 << 22  # cells of a bool matrix unpacked at a time
MOST_ROWS = 200_000  # looked at: keeps a call below half a second
HABIT = 3  # blocks in which something was said that make it usual
OPENINGS = (LineClass.TRACEBACK, LineClass.CHAIN, LineClass.ANNOUNCE)

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


def _looked_at(table: RowTable) -> Ints:
    """Return the rows in order; of very many those outside training and the last ones."""
    rows = table.order.astype(np.int64)
    if len(rows) <= MOST_ROWS:
        return rows
    setup = table.blocks.iteration[table.block[rows]] < 0
    setup[-MOST_ROWS:] = True
    return rows[setup]


class Peers:
    """Rows with their ranks; ranks are columns, in the order of `numbers`."""

    def __init__(self, snap: Snapshot, table: RowTable) -> None:
        self.snap = snap
        self.table = table
        self.rows = _looked_at(table)  # in order: a row's place is its index here
        known = (snap.ranks.kind == Kind.RANK) & (snap.ranks.rank >= 0)
        self.numbers = np.unique(snap.ranks.rank[known])
        self._column = np.where(known, np.searchsorted(self.numbers, snap.ranks.rank), -1)
        used, self.set = np.unique(table.sets.of_row[self.rows], return_inverse=True)  # per row: index into members
        self.members, self.launcher = self._unpack(used, snap.ranks.kind == Kind.LAUNCHER)
        self.size = np.count_nonzero(self.members, axis=1)  # ranks per set
        first = table.first[self.rows]
        plan = snap.plan[first]
        self.first = first
        self.event = table.event[table.signature[self.rows]].astype(np.int64)
        self.level = snap.plans.level[plan]
        self.line_class = snap.plans.line_class[plan]
        self.clock = snap.clock[first]
        self.block = table.block[self.rows].astype(np.int64)
        self.attempt = table.blocks.attempt[self.block]
        self.iteration = table.blocks.iteration[self.block]
        self.flags = table.flags[self.rows]
        self.many = self.size[self.set]  # ranks per row

    def _unpack(self, used: NDArray[np.int32], launcher: Bits) -> tuple[Bits, Bits]:
        members = np.zeros((len(used), len(self.numbers)), np.bool_)
        launchers = np.zeros(len(used), np.bool_)
        step = max(1, CHUNK // max(1, self.table.sets.speakers))
        column = self._column[: self.table.sets.speakers]
        told = launcher[: self.table.sets.speakers]
        for at in range(0, len(used), step):
            bits = self.table.sets.unpacked(used[at : at + step])
            who, speaker = np.nonzero(bits)
            is_rank = column[speaker] >= 0
            members[at + who[is_rank], column[speaker[is_rank]]] = True
            launchers[at : at + step] = (bits & told[: bits.shape[1]]).any(axis=1)
        return members, launchers

    @cached_property
    def attempts(self) -> list[int]:
        """Attempts in which ranks spoke."""
        return np.unique(self.attempt[self.many > 0]).tolist()

    def heard(self, attempt: int) -> Bits:
        """Return the ranks that wrote anything in an attempt."""
        sets = np.unique(self.set[self.attempt == attempt])
        found: Bits = np.any(self.members[sets], axis=0)
        return found

    def union(self, places: Ints) -> Bits:
        """Return the ranks that wrote any of these rows."""
        found: Bits = np.any(self.members[np.unique(self.set[places])], axis=0)
        return found

    @cached_property
    def is_error(self) -> Bits:
        """Rows that tell of a failure: an error's level, a traceback, an exception."""
        told: Bits = np.isin(self.line_class, (LineClass.RAISED, LineClass.FAILED, *OPENINGS))
        told[self.level >= Level.ERROR] = True
        return told

    def calm_rows(self, attempt: int) -> Ints:
        """Return the places of what most ranks said and that is no error, nor the first words after one."""
        most = (self.many * 2 > np.count_nonzero(self.heard(attempt))) & (self.attempt == attempt)
        calm = np.flatnonzero(most & ~self.is_error & (self.flags & RowFlag.FOLDED == 0))
        failed = np.flatnonzero(most & self.is_error)
        if not len(failed):
            return calm
        events, first, again, count = np.unique(
            self.event[calm], return_index=True, return_inverse=True, return_counts=True
        )
        known = (calm[first] < failed[0]) | (count >= HABIT)  # what comes again and again is work
        return calm[known[again]] if len(events) else calm

    def last_progress(self, attempt: int) -> Ints:
        """Return per rank the place of the last thing that most ranks said and that is no error; −1: none."""
        calm = self.calm_rows(attempt)
        last = np.full(len(self.members), -1, np.int64)
        np.maximum.at(last, self.set[calm], calm)
        at = np.full(self.members.shape[1], -1, np.int64)
        for s in np.flatnonzero(last >= 0).tolist():
            np.maximum(at, np.where(self.members[s], last[s], -1), out=at)
        return at

    @cached_property
    def node_of(self) -> Ints:
        """Node of each rank column; −1 unknown."""
        node = np.full(len(self.numbers), -1, np.int64)
        speakers = np.flatnonzero(self._column >= 0)
        told = speakers[self.snap.ranks.node[speakers] >= 0]
        node[self._column[told]] = self.snap.ranks.node[told]
        return node

    @cached_property
    def roles(self) -> set[bytes]:
        """Sets of ranks that speak for others: the first, the last, the first of each node, and habitual ones."""
        out: set[bytes] = set()
        if not len(self.numbers):
            return out
        single = np.eye(len(self.numbers), dtype=np.bool_)
        out |= {single[0].tobytes(), single[-1].tobytes(), (single[0] | single[-1]).tobytes()}
        nodes, firsts = np.unique(self.node_of, return_index=True)
        lasts = len(self.numbers) - 1 - np.unique(self.node_of[::-1], return_index=True)[1]
        for places in (firsts, lasts):
            if len(nodes) > 1:
                some = np.zeros(len(self.numbers), np.bool_)
                some[places] = True
                out.add(some.tobytes())
        return out | self._habits()

    def _habits(self) -> set[bytes]:
        """Sets that said an event of level INFO or below in several iterations, always the same ranks."""
        calm = np.flatnonzero((self.level <= Level.INFO) & ~self.is_error & (self.iteration >= 0) & (self.many > 0))
        order = calm[np.lexsort((self.set[calm], self.event[calm]))]
        opens = np.flatnonzero(np.diff(self.event[order], prepend=-1))
        ends = np.append(opens[1:], len(order))[: len(opens)]
        out: set[bytes] = set()
        for a, b in zip(opens.tolist(), ends.tolist(), strict=True):
            sets = self.set[order[a:b]]
            if b - a >= HABIT and sets[0] == sets[-1]:
                out.add(self.members[sets[0]].tobytes())
        return out

    def is_role(self, who: Bits) -> bool:
        """Say whether these ranks speak for others as a habit."""
        return who.tobytes() in self.roles

    def is_node(self, who: Bits) -> bool:
        """Say whether these are all ranks of one or more nodes, and others are on other nodes."""
        nodes = np.unique(self.node_of[who])
        theirs = np.isin(self.node_of, nodes)
        return bool(len(nodes) and nodes[0] >= 0 and np.array_equal(theirs, who) and not theirs.all())

    def ranks_of(self, who: Bits) -> tuple[int, ...]:
        """Return the numbers of ranks."""
        return tuple(self.numbers[who].tolist())
