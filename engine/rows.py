"""Rows: entries that say the same within an iteration, gathered as they come.

A row is (attempt, iteration or stage, signature, occurrence within speaker and iteration). Its members are speakers,
not ranks: what is learnt of ranks later needs no change here. Which occurrence a line is needs no counters: it is the
first row of its signature and iteration that its speaker is not a member of yet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.iterations import Timeline, unmarked
from l4tui.engine.model import NO_TIME, Flag, LineClass
from l4tui.engine.rowgroups import BATCH, Groups, distinct
from l4tui.engine.rowkeys import KeyIndex
from l4tui.engine.rowtable import FIRST_ITERATION, FLOOD, TEARDOWN_LAST, Blocks, RowFlag, RowTable, block_keys
from l4tui.engine.signatures import Signatures, Wordings
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.speakersets import SpeakerSets, roomy
from l4tui.engine.stages import TEARDOWN

STEP = 1 << 22  # new entries gathered together: bounds the memory of what is computed on the way
SLACK_NS = 5_000_000_000  # an iteration taken from other sources by time is final so long after

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Columns:
    """Rows under construction: 34 bytes each, and 4 for their set."""

    def __init__(self) -> None:
        self.block = np.zeros(1024, np.int32)
        self.signature = np.zeros(1024, np.int32)
        self.occurrence = np.zeros(1024, np.uint8)
        self.flags = np.zeros(1024, np.uint8)
        self.first = np.zeros(1024, np.int64)
        self.when = np.zeros(1024, np.int64)  # time of the first line, as its source's times never fall
        self.count = np.zeros(1024, np.int32)
        self.wording = np.zeros(1024, np.int32)

    def grow(self, rows: int) -> None:
        """Make room for rows below this number."""
        for name, column in vars(self).items():
            setattr(self, name, roomy(column, rows))


class RowBuilder:
    """Follows snapshots of one job; the cost of an update is that of its new entries."""

    def __init__(self) -> None:
        self._generation = -1
        self._start_anew()

    def _start_anew(self) -> None:
        self.built = 0  # entries in rows
        self._learnt = 0  # entries that the timeline has seen
        self.rows = 0
        self.version = 0
        self.timeline = Timeline()
        self.sets = SpeakerSets()
        self._index = KeyIndex()
        self._row = np.full(4096, -1, np.int32)
        self._columns = Columns()
        self._block_ids: dict[int, int] = {}
        self._block_first = np.zeros(64, np.int64)
        self._block_last = np.zeros(64, np.int64)
        self._signatures = Signatures()
        self._wordings = Wordings()
        self._attempts = np.zeros(0, np.int32)
        self._latest: dict[int, int] = {}  # source → time of its last entry, never falling
        self._pending = np.zeros(0, np.int64)  # entries whose iteration was taken from other sources just now
        self._pending_times = np.zeros(0, np.int64)
        self._filled: set[int] = set()  # sources that such entries stand in
        self._filled_to = NO_TIME  # latest time of those that are final
        self._order = np.zeros(0, np.int32)
        self._earlier: list[Ints] = []  # rows whose first line is another since they were ordered
        self._made: RowTable | None = None  # the last one

    def update(self, snap: Snapshot, most: int = 0) -> RowTable:
        """Gather what is new in a snapshot, at most so many entries (0: all), and return all rows as they are now."""
        attempts = snap.ranks.attempt
        known = len(self._attempts)
        moved = known > len(attempts) or not np.array_equal(attempts[:known], self._attempts)
        is_same = not moved and snap.length == self.built and snap.generation == self._generation
        if is_same and self._made is not None:
            return self._made
        if snap.generation != self._generation or moved or snap.length < self.built:
            self._generation = snap.generation
            self._start_anew()
        changed = self.timeline.update(snap, self._learnt)
        if changed <= self._filled_to or self._filled & self.timeline.marked:
            self._start_anew()
            self.timeline.update(snap, 0)
        self._learnt = snap.length
        self._attempts = attempts.copy()
        end = min(self.built + most, snap.length) if most else snap.length
        if self.built == end and len(self._pending):
            self._gather(snap, np.empty(0, np.int64))
        for begin in range(self.built, end, STEP):
            self._gather(snap, np.arange(begin, min(begin + STEP, end)))
        self._made = self._table()
        return self._made

    # one update

    def _gather(self, snap: Snapshot, new: Ints) -> None:
        times = self._times(snap, new)
        self._retract(snap)
        entries = np.concatenate((self._pending, new))
        times = np.concatenate((self._pending_times, times))
        order = np.argsort(times, kind="stable")
        entries, times = entries[order], times[order]
        self._row = roomy(self._row, snap.length, -1)
        self.sets.grow(self.rows, len(snap.ranks.rank))
        iteration = snap.columns["iteration"][entries].astype(np.int64)
        filled = unmarked(snap, self.timeline, entries) if self.timeline.marked else np.zeros(len(entries), np.bool_)
        rows = np.flatnonzero(filled)
        if len(rows):
            iteration[rows] = self.timeline.at(snap.clock[entries[rows]])
            self._filled.update(np.unique(snap.source_of(entries[rows])).tolist())
        for at in range(0, len(entries), BATCH):
            some = slice(at, at + BATCH)
            self._add(snap, entries[some], iteration[some], times[some])
        waits = filled & (times > self.timeline.latest - SLACK_NS)
        self._pending, self._pending_times = entries[waits], times[waits]
        final = times[filled & ~waits]
        self._filled_to = max(self._filled_to, int(final.max(initial=NO_TIME)))
        self.built += len(new)
        self.version += 1

    def _times(self, snap: Snapshot, new: Ints) -> Ints:
        """Return times of new entries that never fall within a source."""
        times = snap.clock[new].copy()
        if not len(new):
            return times
        low = int(new[0])
        first, source = snap.blocks.first, snap.blocks.source
        begin = int(np.searchsorted(first, low, "right")) - 1
        ends = np.append(first[begin + 1 :], snap.length)
        for f, e, s in zip(first[begin:].tolist(), ends.tolist(), source[begin:].tolist(), strict=True):
            part = times[max(f, low) - low : e - low]
            if len(part):
                part[0] = max(int(part[0]), self._latest.get(s, NO_TIME))
                np.maximum.accumulate(part, out=part)
                self._latest[s] = int(part[-1])
        return times

    def _retract(self, snap: Snapshot) -> None:
        """Take back the entries whose iteration may be another now; they are their speakers' last ones."""
        leads = self._pending[_is_lead(snap, self._pending)]
        if not len(leads):
            return
        rows = self._row[leads].astype(np.int64)
        np.subtract.at(self._columns.count, rows, 1)
        single = self._columns.flags[rows] & (RowFlag.FOLDED | RowFlag.FLOODED) == 0
        gone = single | (self._columns.count[rows] == 0)
        self.sets.take(rows[gone], snap.speaker[leads[gone]].astype(np.int64))
        self._row[self._pending] = -1

    def _add(self, snap: Snapshot, entries: Ints, iteration: Ints, times: Ints) -> None:
        """Put a batch into rows, in the order of its times."""
        is_lead = _is_lead(snap, entries)
        leads = entries[is_lead]
        if len(leads):
            self._row[leads] = self._place(snap, leads, iteration[is_lead], times[is_lead])
        rest = entries[~is_lead]
        rows = self._row[snap.record[rest]]
        self._row[rest] = rows
        np.maximum.at(self._block_last, self._columns.block[rows], rest)

    def _place(self, snap: Snapshot, leads: Ints, iteration: Ints, times: Ints) -> Ints:
        """Return the row of every lead; makes the rows that are new."""
        speaker = snap.speaker[leads].astype(np.int64)
        plan = snap.plan[leads]
        signature = self._signatures.of(snap, leads, plan, speaker)
        block = self._blocks(snap, leads, speaker, iteration)
        groups = Groups(block, signature, speaker, len(self._signatures), self.sets.speakers)
        base = self._base(groups)
        occurrence = np.minimum(base[groups.group] + groups.nth, FLOOD)
        occurrence[self._signatures.folds(groups.signature[groups.pair])] = 0
        deepest = np.maximum.reduceat(occurrence, groups.pair_starts) + 1
        offset = np.cumsum(deepest) - deepest
        local = np.empty(len(leads), np.int64)
        local[groups.order] = offset[groups.pair] + occurrence
        counts = np.bincount(local)
        used = np.flatnonzero(counts)
        first = np.empty(len(counts), np.int64)
        first[local[::-1]] = np.arange(len(leads))[::-1]  # the last assignment stays: the earliest lead
        pair = np.searchsorted(offset, used, "right") - 1
        nth = used - offset[pair]
        rows = self._rows_of(groups.block[pair], groups.signature[pair], nth, first[used])
        self._begin(rows, leads[first[used]], times[first[used]])
        number = np.empty(len(counts), np.int64)
        number[used] = rows
        out = number[local]
        self._note(snap, rows, out, counts[used], plan, speaker)
        return out

    def _base(self, groups: Groups) -> Ints:
        """Return how often each group's speaker has written its signature in its block before."""
        row = self._index.find(_keys(groups.block, groups.signature, 0))
        pair = groups.group_pair
        base = np.zeros(len(pair), np.int64)
        at = np.flatnonzero(row[pair] >= 0)
        at = at[~self._signatures.folds(groups.signature[pair[at]])]
        rows = row[pair[at]]
        while len(at):
            member = self.sets.has(rows, groups.group_speaker[at])
            at = at[member]
            base[at] += 1
            at = at[base[at] < FLOOD]
            rows = self._index.find(_keys(groups.block[pair[at]], groups.signature[pair[at]], base[at]))
            at, rows = at[rows >= 0], rows[rows >= 0]
        return base

    def _rows_of(self, block: Ints, signature: Ints, nth: Ints, turn: Ints) -> Ints:
        """Return row ids of keys; new ones are numbered in the order of the batch's turns."""
        keys = _keys(block, signature, nth)
        rows = self._index.find(keys)
        new = np.flatnonzero(rows < 0)
        new = new[np.argsort(turn[new], kind="stable")]
        rows[new] = self.rows + np.arange(len(new))
        self.rows += len(new)
        self._index.add(keys[new], rows[new])
        self._columns.grow(self.rows)
        self.sets.grow(self.rows, self.sets.speakers)
        at = rows[new]
        self._columns.block[at] = block[new]
        self._columns.signature[at] = signature[new]
        self._columns.occurrence[at] = nth[new]
        folds = self._signatures.folds(signature[new])
        flags = folds * np.uint8(RowFlag.FOLDED) + self._signatures.apart(signature[new]) * np.uint8(RowFlag.APART)
        self._columns.flags[at] = flags + (nth[new] == FLOOD) * np.uint8(RowFlag.FLOODED)
        return rows

    def _begin(self, rows: Ints, entry: Ints, time: Ints) -> None:
        """Let rows begin at these lines where they hold none yet, or later ones: sources are read one after another."""
        c = self._columns
        empty = c.count[rows] == 0
        earlier = ~empty & (time < c.when[rows])
        begins = np.flatnonzero(empty | earlier)
        c.first[rows[begins]], c.when[rows[begins]] = entry[begins], time[begins]
        c.wording[rows[empty]] = -1
        self._earlier.append(rows[earlier])

    def _note(
        self, snap: Snapshot, rows: Ints, of_lead: Ints, counts: Ints, plan: Ints, speaker: Ints
    ) -> None:
        """Count a batch's leads in their rows, with their speakers and what differs in words."""
        self._columns.count[rows] += counts
        self.sets.put(of_lead, speaker, rows)
        wording = self._wordings.of(snap, plan)
        kept = self._columns.wording
        fresh = kept[of_lead] < 0
        kept[of_lead[fresh][::-1]] = wording[fresh][::-1]
        varied = np.unique(of_lead[kept[of_lead] != wording])
        self._columns.flags[varied] |= np.uint8(RowFlag.VARIED)

    def _blocks(self, snap: Snapshot, leads: Ints, speaker: Ints, iteration: Ints) -> Ints:
        """Return the block of every lead: an iteration, else a stage."""
        stage = snap.stage[leads].astype(np.int64)
        outside = np.where(stage == TEARDOWN, TEARDOWN_LAST, stage + 1)
        number = np.where(iteration >= 0, iteration + FIRST_ITERATION, outside)
        keys, place = distinct(number + (np.maximum(snap.ranks.attempt[speaker], 0).astype(np.int64) << 34))
        known = len(self._block_ids)
        ids = np.array([self._block_ids.setdefault(key, len(self._block_ids)) for key in keys.tolist()], np.int64)
        block = ids[place]
        self._block_first = roomy(self._block_first, len(self._block_ids))
        self._block_last = roomy(self._block_last, len(self._block_ids))
        fresh = len(self._block_ids) - known
        if fresh:
            self._block_first[known : known + fresh] = np.iinfo(np.int64).max
            self._block_last[known : known + fresh] = -1
        np.minimum.at(self._block_first, block, leads)
        np.maximum.at(self._block_last, block, leads)
        return block

    # what readers get

    def _table(self) -> RowTable:
        n = self.rows
        c = self._columns
        row = self._row[: self.built]
        row.flags.writeable = False
        blocks = self._block_table()
        order = self._ordered(c.block[:n], blocks)
        return RowTable(
            length=n, version=self.version, row=row, sets=self.sets.frozen(), blocks=blocks,
            event=self._signatures.events(), order=order[c.count[order] > 0], block=c.block[:n].copy(),
            signature=c.signature[:n].copy(), occurrence=c.occurrence[:n].copy(), flags=c.flags[:n].copy(),
            first=c.first[:n].copy(), count=c.count[:n].copy(),
        )  # fmt: skip

    def _block_table(self) -> Blocks:
        keys = np.fromiter(self._block_ids, np.int64, len(self._block_ids))
        number = keys & ((1 << 34) - 1)
        is_iteration = number >= FIRST_ITERATION
        n = len(keys)
        return Blocks(
            attempt=keys >> 34,
            iteration=np.where(is_iteration, number - FIRST_ITERATION, -1),
            stage=np.where(is_iteration, -1, np.where(number == TEARDOWN_LAST, TEARDOWN, number - 1)),
            first=self._block_first[:n].copy(),
            last=self._block_last[:n].copy(),
        )

    def _ordered(self, block: NDArray[np.int32], blocks: Blocks) -> NDArray[np.int32]:
        """Return the rows by block, in it by their first lines; blocks before the first changed one stay."""
        old, earlier = self._order, np.concatenate((*self._earlier, _NOTHING))
        self._earlier = []
        if len(old) == self.rows and not len(earlier):
            return old
        place = np.argsort(np.argsort(block_keys(blocks), kind="stable"), kind="stable")[block]
        new = np.arange(len(old), self.rows, dtype=np.int32)
        since = min(place[new].min(initial=len(blocks.first)), place[earlier].min(initial=len(blocks.first)))
        keep = int(np.searchsorted(place[old], since))
        tail = np.concatenate((old[keep:], new))
        tail = tail[np.lexsort((tail, self._columns.when[tail], place[tail]))]
        self._order = np.concatenate((old[:keep], tail)).astype(np.int32)
        return self._order


_NOTHING = np.empty(0, np.int64)


def _keys(block: Ints, signature: Ints, nth: Ints | int) -> Ints:
    return block << 32 | signature << 7 | nth


def _is_lead(snap: Snapshot, entries: Ints) -> Bits:
    """Say which entries open a row: first lines of records, and the exception at a traceback's end."""
    raised = snap.plans.line_class[snap.plan[entries]] == LineClass.RAISED
    return (snap.record[entries] == entries) | (raised & (snap.flags[entries] & Flag.PIECE == 0))
