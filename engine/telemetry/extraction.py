"""Extract the values of one block: new keys are looked up by their shape, everything else is a gather over arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.descriptors import SourceError
from l4tui.engine.keys import DIGITS_TO_ZERO
from l4tui.engine.model import Flag, LineClass
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.telemetry.catalog import Catalog
from l4tui.engine.telemetry.fields import Type, utf8
from l4tui.engine.telemetry.reading import EMPTY, Batch, Found, Reading, joined
from l4tui.engine.telemetry.rules import Rule
from l4tui.engine.telemetry.shapeplans import ShapePlans, is_volatile, masked_key
from l4tui.engine.tidy import clean

NEW, NONE, EACH = -2, -1, -3  # of a plan of the job: not looked at; no values; its lines are read one by one
LONGEST = 2048  # bytes of a line looked at where lines are read one by one
_DULL = (
    LineClass.TRACEBACK, LineClass.RAISED, LineClass.BLANK, LineClass.CHAIN, LineClass.STAMP, LineClass.RULE,
    LineClass.BANNER,
)  # fmt: skip
_NOT_STRAIGHT = int(Flag.LOOSE | Flag.CUT | Flag.PIECE)  # int: enum arithmetic takes 2 µs a line
_ODD = int(Flag.ODD)
_LOOSE = int(Flag.LOOSE)

Ints = NDArray[np.int64]


class Extractor:
    """Reads values out of blocks; remembers what shapes, plans and names it has seen."""

    def __init__(self, catalog: Catalog, rules: tuple[Rule, ...] = ()) -> None:
        self.catalog = catalog
        self.rules = rules
        self._shapes = ShapePlans(catalog)
        self._reading = Reading(self._shapes)
        self.forget()

    def forget(self) -> None:
        """Forget the job's plans: their numbers mean something else after a new reading."""
        self._plan = np.full(1024, NEW, np.int32)
        self._length = np.zeros(1024, np.int64)
        self._text_at = np.zeros(1024, np.int64)

    def read(self, snap: Snapshot, first: int, end: int) -> Batch:
        """Read the values of entries of one block of the snapshot's store with one pread."""
        block = int(np.searchsorted(snap.blocks.first, first, "right")) - 1
        plan = snap.plan[first:end]
        if snap.blocks.base[block] < 0 or not len(plan):
            return EMPTY
        self._make_room(int(plan.max()) + 1)
        if not self.rules and (self._plan[plan] == NONE).all():
            return EMPTY
        try:
            lines = _Lines(snap, block, first, end)
        except SourceError:
            return EMPTY  # its text is gone
        self._look_at(lines)
        found = [*self._straight(lines), *self._one_by_one(lines)]
        if self.rules:
            found += self._by_rules(lines)
        return joined(found, first)

    def _make_room(self, plans: int) -> None:
        while plans > len(self._plan):
            self._plan = np.concatenate((self._plan, np.full_like(self._plan, NEW)))
            self._length = np.concatenate((self._length, np.zeros_like(self._length)))
            self._text_at = np.concatenate((self._text_at, np.zeros_like(self._text_at)))

    def _look_at(self, lines: _Lines) -> None:
        """Decide for every new plan, by its first line here, how its lines are read."""
        new = np.flatnonzero(self._plan[lines.plan] == NEW)
        plans, where = np.unique(lines.plan[new], return_index=True)
        dull = np.isin(lines.snap.plans.line_class[plans], _DULL)
        for plan, row, is_dull in zip(plans.tolist(), new[where].tolist(), dull.tolist(), strict=True):
            if is_dull:
                self._plan[plan] = NONE
                continue
            line = lines.tidy(row)
            if lines.flags[row] & _NOT_STRAIGHT or is_volatile(line):
                self._plan[plan] = EACH
            else:
                at = self._text_at[plan] = lines.text_at(row, line)
                self._plan[plan] = self._shapes.of(line[at:].translate(DIGITS_TO_ZERO))
                self._length[plan] = len(line)

    def _straight(self, lines: _Lines) -> list[Found]:
        """Read lines whose plan tells their shape."""
        shape = self._plan[lines.plan]
        exact = (
            (shape >= 0) & ((lines.flags & (_ODD | _NOT_STRAIGHT)) == 0) & (lines.length == self._length[lines.plan])
        )
        lines.rest = np.flatnonzero((shape == EACH) | ((shape >= 0) & ~exact))
        rows = np.flatnonzero(exact)
        if not len(rows):
            return []
        begin = lines.begin[rows]
        end = begin + lines.length[rows]
        return [
            self._reading.read(lines.raw, lines.raw, rows, begin + self._text_at[lines.plan[rows]], end, shape[rows])
        ]

    def _one_by_one(self, lines: _Lines) -> list[Found]:
        """Read lines that must be tidied or whose plan does not hold: a look-up each, then one gather."""
        texts: list[bytes] = []
        keys: list[bytes] = []
        rows: list[int] = []
        shapes: list[int] = []
        for row in lines.rest.tolist():
            line = lines.tidy(row)[:LONGEST]
            text_at = lines.text_at(row, line)
            key = masked_key(line)[text_at:]
            shape = self._shapes.of(key)
            if shape >= 0:
                texts.append(line[text_at:])
                keys.append(key)
                rows.append(row)
                shapes.append(shape)
        if not rows:
            return []
        length = np.fromiter(map(len, texts), np.int64, len(texts))
        begin = np.cumsum(length + 1) - length - 1
        raw, masked = (np.frombuffer(b"\n".join(part) + b"\n", np.uint8) for part in (texts, keys))
        at = np.array(rows, np.int64)
        cut = (lines.flags[at] & int(Flag.CUT)) != 0
        return [self._reading.read(raw, masked, at, begin, begin + length, np.array(shapes, np.int32), cut)]

    def _by_rules(self, lines: _Lines) -> list[Found]:
        """Apply the person's own rules."""
        series: list[int] = []
        rows: list[int] = []
        values: list[float] = []
        for rule in self.rules:
            for row in rule.candidates(lines.data, lines.begin):
                for key, unit, token in rule.read(lines.tidy(row)):
                    number, kind = _typed(token)
                    value = float(self.catalog.word(utf8(token))) if kind is Type.TEXT else number
                    if kind is not Type.TEXT or value >= 0:
                        series.append(self.catalog.series(utf8(key), unit, kind, True))
                        rows.append(row)
                        values.append(value)
        return [(np.array(series, np.int64), np.array(rows, np.int64), np.array(values))] if rows else []


class _Lines:
    """Neighbouring lines of one block."""

    def __init__(self, snap: Snapshot, block: int, first: int, end: int) -> None:
        blocks, offset = snap.blocks, snap.columns["offset"]
        self.snap, self.source = snap, int(blocks.source[block])
        self.plan, self.flags = snap.plan[first:end], snap.flags[first:end]
        of_next = int(blocks.first[block + 1]) if block + 1 < len(blocks.first) else snap.length
        low = int(offset[first])
        high = int(offset[end]) if end < of_next else int(blocks.size[block])
        data = snap.sources[self.source].pread(int(blocks.base[block]) + low, high - low)
        self.data = data.ljust(high - low, b"\n") or b"\n"  # cut under us: what is missing is blank
        self.raw = np.frombuffer(self.data, np.uint8)
        self.begin: Ints = offset[first:end].astype(np.int64) - low
        self.length: Ints = np.append(self.begin[1:], high - low) - self.begin
        self.length -= self.raw[np.maximum(self.begin + self.length, 1) - 1] == 10
        self.rest: Ints = np.empty(0, np.int64)

    def tidy(self, row: int) -> bytes:
        """Return a line without controls, prefixes kept."""
        at = int(self.begin[row])
        raw = self.data[at : at + int(self.length[row])]
        if not self.flags[row] & _ODD:
            return raw
        lead = 0 if self.flags[row] & _LOOSE else int(self.snap.plans.lane_end[self.plan[row]])
        return clean(raw, lead)

    def text_at(self, row: int, line: bytes) -> int:
        """Return where values may begin: behind the prefixes, of JSON at its brace."""
        plans, plan = self.snap.plans, self.plan[row]
        lane_end = int(plans.lane_end[plan])
        if line[lane_end : lane_end + 1] == b"{":
            return lane_end
        if self.flags[row] & _LOOSE:
            return self.snap.reparse(self.source, line)
        return int(plans.text_at[plan])


def _typed(token: str) -> tuple[float, Type]:
    try:
        number = float(token.replace(",", ""))
    except ValueError:
        return 0.0, Type.TEXT
    return number, Type.INT if token.lstrip("+-").isdigit() else Type.FLOAT
