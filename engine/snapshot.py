"""Snapshot: a frozen view of the job that any thread may read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from l4tui.engine.descriptors import SourceError
from l4tui.engine.iterations import FillCache
from l4tui.engine.model import NO_TIME, UNKNOWN, Flag, Kind, Place
from l4tui.engine.order import OrderCache
from l4tui.engine.store import Blocks
from l4tui.engine.tidy import clean

GAP = 1 << 16  # bytes read for nothing rather than asking the file system twice
READ = 1 << 16  # bytes of a line that are looked at where nobody asks for more: one of 2 GB is nobody's message
BAR = 1 << 20  # bytes of a line with controls in which its last state is looked for
_CONTROLS = dict.fromkeys([*range(9), *range(10, 32), *range(127, 160)], None)


class Readable(Protocol):
    """What a snapshot needs of a source."""

    path: str

    def pread(self, offset: int, length: int) -> bytes: ...


class Reparse(Protocol):
    """Finds where a line's message begins, for lines whose plan does not tell."""

    def __call__(self, source: int, line: bytes) -> int: ...


class PlanTable(NamedTuple):
    """What keys tell, a row per plan."""

    event: np.ndarray  # int32
    shape: np.ndarray  # int32
    level: np.ndarray  # int8, model.Level
    site: np.ndarray  # int32 into sites, -1
    text_at: np.ndarray  # int32
    line_class: np.ndarray  # int8, model.LineClass
    marker: np.ndarray  # int8, model.Marker
    formats: Sequence[tuple[str, ...]]
    lane_end: np.ndarray  # int32: end of the launcher's prefixes


class RankTable(NamedTuple):
    """Who speakers are, a row per speaker."""

    rank: np.ndarray  # int32, -1 unknown
    local_rank: np.ndarray
    node: np.ndarray  # int32 into nodes, -1
    attempt: np.ndarray
    stream: np.ndarray  # int32 into streams, -1
    kind: np.ndarray  # uint8, model.Kind


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Physical lines by whom they belong to: ranks + mixed + launcher + unknown = lines."""

    lines: int
    per_rank: dict[int, int]
    mixed: int
    launcher: int
    unknown: int


@dataclass(frozen=True)
class Snapshot:
    """One frozen state. Arrays have a row per entry; see docs/DESIGN.md for the table of members."""

    length: int
    version: int  # changes whenever anything changed
    generation: int  # changes when entry ids start anew
    sources: tuple[Readable, ...]
    columns: dict[str, np.ndarray]
    blocks: Blocks
    plans: PlanTable
    ranks: RankTable
    templates: Sequence[str]
    sites: Sequence[str]
    nodes: tuple[str, ...]
    streams: tuple[str, ...]
    world_size: int
    node_ranks: dict[str, list[int]]
    notes: Sequence[str]
    reparse: Reparse
    counts_: LineCounts
    order_: OrderCache = field(repr=False)
    is_complete: bool = True  # everything there is has been read
    fill_: FillCache = field(default_factory=FillCache, repr=False)
    shapes: Sequence[bytes] = ()  # of messages, by shape id: digit runs as one 0
    keys: Sequence[bytes] = ()  # of plans: their lines with every digit as 0

    @property
    def plan(self) -> np.ndarray:
        """Row in `plans`; int32."""
        return self.columns["plan"]

    @property
    def speaker(self) -> np.ndarray:
        """Row in `ranks`; int32."""
        return self.columns["speaker"]

    @property
    def clock(self) -> np.ndarray:
        """Last time of the entry's source up to and with it; int64 ns UTC."""
        return self.columns["clock"]

    @cached_property
    def time(self) -> np.ndarray:
        """Own time; int64 ns UTC, NO_TIME where the line has none."""
        return np.where(self.flags & Flag.TIMED, self.clock, NO_TIME)

    @property
    def record(self) -> np.ndarray:
        """Entry of the record's first line; uint32."""
        return self.columns["record"]

    @cached_property
    def iteration(self) -> np.ndarray:
        """Training iteration carried to the line, else that of its time; int32, -1 unknown."""
        return self.fill_.of(self)

    def iteration_of(self, entries: np.ndarray) -> np.ndarray:
        """Return `iteration` of a few entries without making it for all of them; int32."""
        return self.fill_.some(self, entries)

    def iteration_at(self, entry: int) -> int:
        """Return the iteration of one entry, -1 unknown; never waits: see `learn_iterations`."""
        return self.fill_.one(self, entry)

    def learn_iterations(self) -> None:
        """Look at all lines once, so that `iteration_at` tells of a very large job, too, what other sources say."""
        self.fill_.learn(self)

    @property
    def stage(self) -> np.ndarray:
        """Index into stages.NAMES; int8, -1 unknown."""
        return self.columns["stage"]

    @property
    def flags(self) -> np.ndarray:
        """model.Flag bits; uint16."""
        return self.columns["flags"]

    def rank(self, entries: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return global ranks; int32, -1 where unknown."""
        return self.ranks.rank[self.speaker[entries]]

    def kind(self, entries: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return model.Kind of entries; uint8."""
        return self.ranks.kind[self.speaker[entries]]

    def event(self, entries: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return event ids; int32."""
        return self.plans.event[self.plan[entries]]

    def level(self, entries: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return model.Level; int8."""
        return self.plans.level[self.plan[entries]]

    def site(self, entries: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return call site ids; int32, -1 where the line has none."""
        return self.plans.site[self.plan[entries]]

    def counts(self) -> LineCounts:
        """Return the account of physical lines."""
        return self.counts_

    def order(self) -> np.ndarray:
        """Return the entries in merged order: by time across sources, file order within each."""
        return self.order_.of(self)

    def source_of(self, entries: np.ndarray) -> np.ndarray:
        """Return source indexes of entries."""
        return self.blocks.source[self._block_of(entries)]

    def places(self, entries: Iterable[int]) -> list[Place]:
        """Return where entries stand in their sources."""
        wanted = np.asarray(list(entries), np.int64)
        block = self._block_of(wanted)
        first, line = self.blocks.first[block], self.blocks.line[block]
        out = []
        for e, f, n, b in zip(wanted.tolist(), first.tolist(), line.tolist(), block.tolist(), strict=True):
            bits = self.flags[f : e + 1] & Flag.SEGMENT
            segment = 0
            while bits[e - segment - f] and e - segment > f:
                segment += 1
            if bits[e - segment - f]:
                segment += self.pieces_before(b)
            out.append(Place(int(self.blocks.source[b]), n + e - f - int(np.count_nonzero(bits)), segment))
        return out

    def pieces_before(self, block: int) -> int:
        """Return how many entries of earlier blocks hold the line that a block goes on with."""
        count = 0
        for b in np.flatnonzero(self.blocks.source[:block] == self.blocks.source[block])[::-1].tolist():
            first, end = int(self.blocks.first[b]), int(self.blocks.first[b + 1])
            for e in range(end - 1, first - 1, -1):
                count += 1
                if not self.flags[e] & Flag.SEGMENT:
                    return count
        return count

    def place(self, entry: int) -> Place:
        """Return where an entry stands."""
        return self.places([entry])[0]

    def entry_at(self, source: int, line: int) -> int:
        """Return the first entry of a physical line, -1 where there is none."""
        mine = np.flatnonzero((self.blocks.source == source) & (self.blocks.base >= 0) & (self.blocks.line <= line))
        if not len(mine):
            return UNKNOWN
        b = int(mine[-1])
        first = int(self.blocks.first[b])
        end = int(self.blocks.first[b + 1]) if b + 1 < len(self.blocks.first) else self.length
        heads = np.flatnonzero((self.flags[first:end] & Flag.SEGMENT) == 0)
        k = line - int(self.blocks.line[b])
        return first + int(heads[k]) if k < len(heads) else UNKNOWN

    def _block_of(self, entries: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.blocks.first, entries, "right") - 1

    def ranges(self, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return block, begin and end offsets (in the source, newline excluded or included) of entries."""
        block = self._block_of(entries)
        offset = self.columns["offset"]
        base, size = self.blocks.base[block], self.blocks.size[block]
        begin = offset[entries].astype(np.int64)
        following = np.minimum(entries + 1, self.length - 1)
        same = (entries + 1 < self.length) & (self._block_of(following) == block)
        end = np.where(same, offset[following].astype(np.int64), size)
        return block, base + begin, base + end

    def raws(self, entries: Iterable[int], most: int = 0) -> list[bytes]:
        """Return the bytes of entries as they stand in the file, without the newline; b"" where it cannot be read.

        Of an entry longer than `most` bytes (0: no limit) only so many, unless it is ODD: a bar is shown in its last
        state, so of one longer than BAR the last bytes follow the first ones.
        """
        wanted = np.asarray(list(entries), np.int64)
        if not len(wanted):
            return []
        block, begin, end = self.ranges(wanted)
        if not most:
            return self._read(wanted, block, begin, end)
        odd = (self.flags[wanted] & Flag.ODD) != 0
        bar = odd & (end - begin > BAR)
        out = self._read(wanted, block, begin, np.where(odd & ~bar, end, np.minimum(end, begin + most)))
        bars = np.flatnonzero(bar)
        tails = self._read(wanted[bars], block[bars], end[bars] - BAR, end[bars])
        for i, tail in zip(bars.tolist(), tails, strict=True):
            out[i] += tail
        return out

    def _read(self, wanted: np.ndarray, block: np.ndarray, begin: np.ndarray, end: np.ndarray) -> list[bytes]:
        """Return the bytes between offsets for each entry, of neighbours by one question to the system."""
        out = [b""] * len(wanted)
        source = self.blocks.source[block]
        notes = self.blocks.base[block] < 0
        for i in np.flatnonzero(notes).tolist():
            out[i] = self.notes[int(self.columns["offset"][wanted[i]])].encode()
        rows = np.flatnonzero(~notes)
        rows = rows[np.lexsort((begin[rows], source[rows]))]
        splits = np.flatnonzero((np.diff(source[rows]) != 0) | (begin[rows][1:] - end[rows][:-1] > GAP)) + 1
        for run in np.split(rows, splits):
            if not len(run):
                continue
            low, high = int(begin[run[0]]), int(end[run].max())
            try:
                data = self.sources[int(source[run[0]])].pread(low, high - low)
            except SourceError:  # a part of it was cut away: what is left is read line by line
                for i in run.tolist():
                    with contextlib.suppress(SourceError):
                        data = self.sources[int(source[i])].pread(int(begin[i]), int(end[i] - begin[i]))
                        out[i] = data.removesuffix(b"\n")
                continue
            for i in run.tolist():
                out[i] = data[int(begin[i]) - low : int(end[i]) - low].removesuffix(b"\n")
        return out

    def raw(self, entry: int) -> bytes:
        """Return the bytes of one entry."""
        return self.raws([entry])[0]

    def tidy(self, entries: Iterable[int], most: int = 0) -> list[bytes]:
        """Return entries without controls, prefixes kept; `most` as in `raws`."""
        wanted = list(entries)
        at = np.asarray(wanted, np.int64)
        odd = (self.flags[at] & Flag.ODD).tolist() if wanted else []
        lead = np.where(self.flags[at] & Flag.LOOSE, 0, self.plans.lane_end[self.plan[at]]).tolist() if wanted else []
        return [clean(raw, a) if o else raw for raw, o, a in zip(self.raws(wanted, most), odd, lead, strict=True)]

    def split(self, entries: Iterable[int]) -> list[tuple[str, str]]:
        """Return (prefix, message) of entries as text without controls, of very long ones the beginning."""
        return [(_text(line[:at]), _text(line[at:])) for line, at in self._cut(entries, READ)]

    def texts(self, entries: Iterable[int], most: int = READ) -> list[str]:
        """Return the messages of entries: prefix and controls removed, bad bytes replaced; `most` as in `raws`."""
        return [_text(line[at:]) for line, at in self._cut(entries, most)]

    def _cut(self, entries: Iterable[int], most: int) -> Iterable[tuple[bytes, int]]:
        """Return tidy lines and where the message begins in each."""
        wanted = np.asarray(list(entries), np.int64)
        if not len(wanted):
            return ()
        bits = self.flags[wanted]
        at = np.where(bits & Flag.NOTE, 0, self.plans.text_at[self.plan[wanted]]).tolist()
        lines = self.tidy(wanted.tolist(), most)
        loose = np.flatnonzero(bits & (Flag.LOOSE | Flag.NOTE) == Flag.LOOSE)
        for i, source in zip(loose.tolist(), self.source_of(wanted[loose]).tolist(), strict=True):
            at[i] = self.reparse(source, lines[i])
        return zip(lines, at, strict=True)

    def text(self, entry: int) -> str:
        """Return the message of one entry."""
        return self.texts([entry])[0]

    def prefix(self, entry: int) -> str:
        """Return what stands before the message of an entry."""
        return self.split([entry])[0][0]

    @cached_property
    def _record_order(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.record, kind="stable")
        return order, self.record[order]

    def entries_of(self, heads: Iterable[int]) -> np.ndarray:
        """Return all entries of the records that begin at these entries, ascending."""
        order, sorted_heads = self._record_order
        wanted = np.asarray(list(heads), np.int64)
        low = np.searchsorted(sorted_heads, wanted, "left")
        high = np.searchsorted(sorted_heads, wanted, "right")
        parts = [order[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def count_lines(alone: np.ndarray, shared: dict[tuple[int, ...], int], ranks: RankTable) -> LineCounts:
    """Count each physical line once.

    alone: lines per speaker that hold one entry; shared: lines per set of speakers whose text they hold.
    """
    per_rank: dict[int, int] = {}
    sums = {Kind.MIXED: 0, Kind.LAUNCHER: 0, Kind.UNKNOWN: 0}

    def count(kind: int, rank: int, n: int) -> None:
        if kind == Kind.RANK:
            per_rank[rank] = per_rank.get(rank, 0) + n
        else:
            sums[Kind(kind)] += n

    for s in np.flatnonzero(alone).tolist():
        count(int(ranks.kind[s]), int(ranks.rank[s]), int(alone[s]))
    for speakers, n in shared.items():
        who = {(int(ranks.kind[s]), int(ranks.rank[s])) for s in speakers}
        count(*(who.pop() if len(who) == 1 else (Kind.MIXED, UNKNOWN)), n)
    lines = sum(per_rank.values()) + sum(sums.values())
    return LineCounts(lines, dict(sorted(per_rank.items())), sums[Kind.MIXED], sums[Kind.LAUNCHER], sums[Kind.UNKNOWN])


def _text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if text.isprintable() else text.translate(_CONTROLS)  # translate: 2 µs a line
