"""Rows of the export: which columns there are and the batches of values that a writer turns into text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from threading import Event
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from l4tui.engine import stages
from l4tui.engine.apart import KINDS, Apart, apart
from l4tui.engine.model import NO_TIME, UNKNOWN, Flag, Level
from l4tui.engine.snapshot import Snapshot

COLUMNS = (
    *("source", "line", "segment", "record", "rank", "local_rank", "node", "attempt", "stream", "time"),
    *("level", "site", "event", "template", "iteration", "stage", "text", "divergence", "divergence_score"),
)
BATCH = 8192  # rows; text of a batch is read in one go

_BY_SPEAKER = frozenset(("rank", "local_rank", "node", "attempt", "stream"))
_BY_PLAN = frozenset(("level", "site", "event", "template"))

Entries = NDArray[np.int64]
Value = int | float | str | None
Cells = list[Value]


class Coded(NamedTuple):
    """A column as codes into a small table of values, so that a writer encodes each value once."""

    codes: list[int]
    table: Sequence[Value]


Column = Coded | Cells


class Rows:
    """The rows of one snapshot, in file order per source; one per entry, or one per record."""

    def __init__(
        self,
        snap: Snapshot,
        columns: Sequence[str] = COLUMNS,
        records: bool = False,
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take the columns to give and, if not all, which entries to show (bool per entry)."""
        self.columns = tuple(columns)
        self.records = records
        self._snap = snap
        self._chosen = chosen
        self._tables = _tables(snap)

    def batches(self, stop: Event) -> Iterator[dict[str, Column]]:
        """Yield the rows of one block of a source at a time, by column name, until done or stopped."""
        blocks = self._snap.blocks
        for block in np.argsort(blocks.source, kind="stable").tolist():
            if stop.is_set():
                return
            if blocks.base[block] >= 0:  # else notes of ours, which stand in no source
                yield from self._block(block)

    def _block(self, block: int) -> Iterator[dict[str, Column]]:
        snap, blocks = self._snap, self._snap.blocks
        first = int(blocks.first[block])
        end = int(blocks.first[block + 1]) if block + 1 < len(blocks.first) else snap.length
        entries = np.arange(first, end)
        opens = (snap.flags[first:end] & Flag.SEGMENT) == 0
        lines = int(blocks.line[block]) - 1 + np.cumsum(opens)
        segments = entries - np.maximum.accumulate(np.where(opens, entries, first))
        if not opens[0]:  # the block goes on with a line of the one before
            segments[: int(np.argmax(opens)) if opens.any() else None] += snap.pieces_before(block)
        shown = np.ones(end - first, np.bool_) if self._chosen is None else self._chosen[first:end]
        if self.records:
            shown = shown & (snap.record[first:end] == entries)
        at = np.flatnonzero(shown)
        for low in range(0, len(at), BATCH):
            part = at[low : low + BATCH]
            place = {"line": lines[part].tolist(), "segment": segments[part].tolist()}
            place["source"] = [int(blocks.source[block])] * len(part)
            yield {name: self._column(name, entries[part], place) for name in self.columns}

    def _column(self, name: str, entries: Entries, place: dict[str, list[int]]) -> Column:
        snap = self._snap
        if name == "source":
            return Coded(place[name], self._tables[name])
        if name in place:
            return cast(Cells, place[name])
        if name in _BY_SPEAKER:
            return Coded(snap.speaker[entries].tolist(), self._tables[name])
        if name in _BY_PLAN:
            return Coded(snap.plan[entries].tolist(), self._tables[name])
        if name == "stage":
            return Coded(snap.stage[entries].tolist(), self._tables[name])
        if name == "record":
            return cast(Cells, snap.record[entries].tolist())
        if name == "iteration":
            return _known(snap.iteration[entries])
        if name == "divergence":
            return Coded(np.append(self._apart.kind, -1)[self._apart.of(entries)].tolist(), (*KINDS, None))
        if name == "divergence_score":
            return _scores(self._apart, entries)
        if name == "time":
            return _times(snap.time[entries])
        return self._texts(entries)

    @cached_property
    def _apart(self) -> Apart:
        return apart(self._snap)

    def _texts(self, entries: Entries) -> Cells:
        if not self.records:
            return list(self._snap.texts(entries, most=0))
        members = self._snap.entries_of(entries)
        texts = self._snap.texts(members, most=0)
        goes_on = (self._snap.flags[members] & Flag.PIECE) != 0  # inside a line
        joined: dict[int, list[str]] = {}
        for head, text, piece in zip(self._snap.record[members].tolist(), texts, goes_on.tolist(), strict=True):
            parts = joined.setdefault(head, [])
            parts += (text,) if piece or not parts else ("\n", text)
        return ["".join(joined.get(head, ())) for head in entries.tolist()]


def _tables(snap: Snapshot) -> dict[str, list[Value]]:
    """Build the tables of the coded columns; the stages' null stands last, so that a code of −1 finds it."""
    plans, ranks = snap.plans, snap.ranks
    return {
        "source": [source.path for source in snap.sources],
        "rank": _known(ranks.rank),
        "local_rank": _known(ranks.local_rank),
        "node": _named(ranks.node, snap.nodes),
        "attempt": cast("list[Value]", np.maximum(ranks.attempt, 0).tolist()),
        "stream": _named(ranks.stream, snap.streams),
        "level": [Level(level).name if level else None for level in plans.level.tolist()],
        "site": _named(plans.site, snap.sites),
        "event": _known(plans.event),
        "template": _named(plans.event, snap.templates),
        "stage": [*stages.NAMES, None],
    }


def _scores(told: Apart, entries: Entries) -> Cells:
    """Return the scores of entries, null where nothing sets them apart."""
    at = told.of(entries)
    values: Cells = [None] * len(entries)
    for i in np.flatnonzero(at >= 0).tolist():
        values[i] = float(told.score[at[i]])
    return values


def _known(numbers: NDArray[np.signedinteger]) -> list[Value]:
    values: list[Value] = numbers.tolist()
    for at in np.flatnonzero(numbers == UNKNOWN).tolist():
        values[at] = None
    return values


def _named(ids: NDArray[np.signedinteger], names: Sequence[str]) -> list[Value]:
    return [names[i] if i >= 0 else None for i in ids.tolist()]


def _times(times: NDArray[np.int64]) -> list[Value]:
    """Write ns UTC as ISO 8601 with as many decimals as microseconds need."""
    values: list[Value] = np.datetime_as_string(times.view("M8[ns]"), unit="us").tolist()
    for at in np.flatnonzero(times == NO_TIME).tolist():
        values[at] = None
    return values
