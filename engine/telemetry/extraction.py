"""Extract the values of one block: plans are made for new keys, everything else is a gather over arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.descriptors import SourceError
from l4tui.engine.model import UNKNOWN, Flag, LineClass
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.telemetry.catalog import Catalog
from l4tui.engine.telemetry.fields import Type, utf8
from l4tui.engine.telemetry.gather import numbers
from l4tui.engine.telemetry.keyplans import DYNAMIC, KeyPlans, is_volatile
from l4tui.engine.telemetry.rules import Rule
from l4tui.engine.tidy import clean

NEW, NONE, EACH = -2, -1, -3  # of a plan of the job: not looked at; no values; its lines are read one by one
LONGEST = 4096  # bytes of a line looked at where lines are read one by one
_DULL = (
    LineClass.TRACEBACK, LineClass.RAISED, LineClass.BLANK, LineClass.CHAIN, LineClass.STAMP, LineClass.RULE,
    LineClass.BANNER,
)  # fmt: skip

Ints = NDArray[np.int64]


class Batch(NamedTuple):
    """Values of one block, ordered by series, then by entry."""

    series: NDArray[np.int32]
    entry: NDArray[np.uint32]
    value: NDArray[np.float64]  # of a text series: codes into the catalog's words

    def of(self, series: int) -> slice:
        """Return where the values of a series stand."""
        low, high = np.searchsorted(self.series, [series, series + 1])
        return slice(int(low), int(high))


EMPTY = Batch(np.empty(0, np.int32), np.empty(0, np.uint32), np.empty(0))


class Extractor:
    """Reads values out of blocks; remembers what keys, plans and names it has seen."""

    def __init__(self, catalog: Catalog, rules: tuple[Rule, ...] = ()) -> None:
        self.catalog = catalog
        self.keys = KeyPlans(catalog)
        self.rules = rules
        self._named: dict[tuple[int, int], int] = {}  # field and the digits in its name → series
        self.forget()

    def forget(self) -> None:
        """Forget the job's plans: their numbers mean something else after a new reading."""
        self._plan = np.full(1024, NEW, np.int32)
        self._length = np.zeros(1024, np.int64)

    def block(self, snap: Snapshot, block: int) -> Batch:
        """Read the values of one block of the snapshot's store with one pread."""
        blocks = snap.blocks
        first = int(blocks.first[block])
        end = int(blocks.first[block + 1]) if block + 1 < len(blocks.first) else snap.length
        if blocks.base[block] < 0 or end <= first:
            return EMPTY
        plan = snap.plan[first:end]
        self._make_room(int(plan.max()) + 1)
        if not self.rules and (self._plan[plan] == NONE).all():
            return EMPTY
        size = int(blocks.size[block])
        try:
            data = snap.sources[int(blocks.source[block])].pread(int(blocks.base[block]), size)
        except SourceError:
            return EMPTY  # its text is gone
        begin = snap.columns["offset"][first:end].astype(np.int64)
        length = np.append(begin[1:], size) - begin
        raw = np.frombuffer(data or b"\n", np.uint8)
        length -= raw[np.minimum(begin + length, len(raw)) - 1] == 10
        lines = _Lines(snap, first, data, begin, length, plan, snap.flags[first:end])
        self._look_at(lines)
        found = [*self._straight(lines, raw), *self._one_by_one(lines)]
        if self.rules:
            found += self._by_rules(lines)
        return _joined(found, first)

    def _make_room(self, plans: int) -> None:
        while plans > len(self._plan):
            self._plan = np.concatenate((self._plan, np.full_like(self._plan, NEW)))
            self._length = np.concatenate((self._length, np.zeros_like(self._length)))

    def _look_at(self, lines: _Lines) -> None:
        """Decide for every new plan, by its first line here, how its lines are read."""
        new = np.flatnonzero(self._plan[lines.plan] == NEW)
        plans, where = np.unique(lines.plan[new], return_index=True)
        dull = np.isin(lines.snap.plans.line_class[plans], _DULL)
        for plan, row, is_dull in zip(plans.tolist(), new[where].tolist(), dull.tolist(), strict=True):
            if is_dull or lines.flags[row] & Flag.NOTE:
                self._plan[plan] = NONE
                continue
            line = lines.tidy(row)
            if lines.flags[row] & (Flag.LOOSE | Flag.CUT | Flag.PIECE) or is_volatile(line):
                self._plan[plan] = EACH
            else:
                self._plan[plan] = self.keys.of(line, lines.text_at(row, line))
                self._length[plan] = len(line)

    def _straight(self, lines: _Lines, raw: NDArray[np.uint8]) -> list[tuple[Ints, Ints, NDArray[np.float64]]]:
        """Read lines whose plan tells where their values stand."""
        key = self._plan[lines.plan]
        odd = (lines.flags & (Flag.ODD | Flag.LOOSE | Flag.CUT | Flag.PIECE)) != 0
        exact = (key >= 0) & ~odd & (lines.length == self._length[lines.plan])
        lines.rest = np.flatnonzero((key == EACH) | ((key >= 0) & ~exact))
        rows = np.flatnonzero(exact)
        return [self._read(raw, rows, lines.begin[rows], key[rows])] if len(rows) else []

    def _one_by_one(self, lines: _Lines) -> list[tuple[Ints, Ints, NDArray[np.float64]]]:
        """Read lines that must be tidied or whose plan does not hold: a look-up each, then one gather."""
        texts: list[bytes] = []
        keys: list[int] = []
        rows: list[int] = []
        for row in lines.rest.tolist():
            line = lines.tidy(row)[:LONGEST]
            key = self.keys.of(line, lines.text_at(row, line))
            if key >= 0:
                texts.append(line)
                keys.append(key)
                rows.append(row)
        if not rows:
            return []
        lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        raw = np.frombuffer(b"\n".join(texts) + b"\n", np.uint8)
        return [self._read(raw, np.array(rows), np.cumsum(lengths) - lengths, np.array(keys, np.int32), lines)]

    def _read(
        self, raw: NDArray[np.uint8], rows: Ints, begin: Ints, key: NDArray[np.int32], lines: _Lines | None = None
    ) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """Read all values of lines; returns series, row and value of each."""
        count = self.keys.count.view()[key].astype(np.int64)
        each = np.repeat(np.arange(len(rows)), count)
        within = np.arange(len(each)) - np.repeat(np.cumsum(count) - count, count)
        field = self.keys.first.view()[key][each] + within
        begin = begin[each]
        start = begin + self.keys.start.view()[field]
        width = self.keys.width.view()[field].astype(np.int64)
        last = len(raw) - 1
        whole = (start + width <= len(raw)) & ~(_is_digit(raw[np.clip(start - 1, 0, last)]) & (start > begin))
        whole &= ~_is_digit(raw[np.minimum(start + width, last)])  # else the line is not of this key after all
        if lines is not None:
            cut = (lines.flags[rows] & Flag.CUT) != 0
            ends = np.append(begin[1:], len(raw)) - 1
            whole &= ~(cut[each] & (start + width >= ends))
        word = self.keys.word.view()[field]
        value = word.astype(np.float64)
        number = np.flatnonzero((word == DYNAMIC) & whole)
        value[number] = numbers(raw, start[number], width[number])
        for at in np.flatnonzero((word == UNKNOWN) & whole).tolist():
            text = raw[start[at] : start[at] + width[at]].tobytes().decode("utf-8", "replace")
            value[at] = self.catalog.word(text)
        series = self.keys.series.view()[field].astype(np.int64)
        named = np.flatnonzero((series == DYNAMIC) & whole)
        if len(named):
            series[named] = self._names(raw, begin[named], field[named])
        keep = np.flatnonzero(whole & (series >= 0) & ~((word != DYNAMIC) & (value < 0)))
        return series[keep], rows[each[keep]], value[keep]

    def _names(self, raw: NDArray[np.uint8], begin: Ints, field: Ints) -> Ints:
        """Find the series of fields whose names hold digits."""
        places = self.keys.digit_places()[field]
        code = np.zeros(len(field), np.int64)
        for column in places.T:
            digit = raw[np.clip(begin + column, 0, len(raw) - 1)].astype(np.int64) - 48
            code = np.where(column >= 0, code * 10 + digit, code)
        mixed, at, back = np.unique(field * 10**9 + code, return_index=True, return_inverse=True)
        out = np.empty(len(mixed), np.int64)
        for i, (row, number) in enumerate(zip(at.tolist(), code[at].tolist(), strict=True)):
            same = (int(field[row]), number)
            known = self._named.get(same)
            if known is None:
                low, high = (int(column.view()[field[row]]) for column in (self.keys.name_start, self.keys.name_end))
                name = raw[begin[row] + low : begin[row] + high].tobytes().decode("utf-8", "replace")
                info = self.keys.infos[same[0]]
                known = self._named[same] = self.catalog.series(name, info.unit, info.type, info.keyed)
            out[i] = known
        return out[back.ravel()]

    def _by_rules(self, lines: _Lines) -> list[tuple[Ints, Ints, NDArray[np.float64]]]:
        """Apply the person's own rules."""
        series: list[int] = []
        rows: list[int] = []
        values: list[float] = []
        for rule in self.rules:
            for row in rule.candidates(lines.data, lines.begin):
                line = lines.tidy(row)
                for key, unit, token in rule.read(line):
                    number, kind = _typed(token)
                    value = float(self.catalog.word(utf8(token))) if kind is Type.TEXT else number
                    if kind is not Type.TEXT or value >= 0:
                        series.append(self.catalog.series(utf8(key), unit, kind, True))
                        rows.append(row)
                        values.append(value)
        return [(np.array(series, np.int64), np.array(rows, np.int64), np.array(values))] if rows else []


class _Lines:
    """The lines of one block."""

    def __init__(
        self, snap: Snapshot, first: int, data: bytes, begin: Ints, length: Ints, plan: NDArray[np.int32],
        flags: NDArray[np.uint16],
    ) -> None:  # fmt: skip
        self.snap, self.first, self.data = snap, first, data
        self.begin, self.length, self.plan, self.flags = begin, length, plan, flags
        self.rest: Ints = np.empty(0, np.int64)

    def tidy(self, row: int) -> bytes:
        """Return a line without controls, prefixes kept."""
        at = int(self.begin[row])
        raw = self.data[at : at + int(self.length[row])]
        if not self.flags[row] & Flag.ODD:
            return raw
        lead = 0 if self.flags[row] & Flag.LOOSE else int(self.snap.plans.lane_end[self.plan[row]])
        return clean(raw, lead)

    def text_at(self, row: int, line: bytes) -> int:
        """Return where values may begin: behind the prefixes, of JSON at its brace."""
        plans, plan = self.snap.plans, self.plan[row]
        lane_end = int(plans.lane_end[plan])
        if line[lane_end : lane_end + 1] == b"{":
            return lane_end
        if self.flags[row] & Flag.LOOSE:
            source = int(self.snap.blocks.source[np.searchsorted(self.snap.blocks.first, self.first, "right") - 1])
            return self.snap.reparse(source, line)
        return int(plans.text_at[plan])


def _is_digit(raw: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (raw >= 48) & (raw <= 57)


def _typed(token: str) -> tuple[float, Type]:
    try:
        number = float(token.replace(",", ""))
    except ValueError:
        return 0.0, Type.TEXT
    return number, Type.INT if token.lstrip("+-").isdigit() else Type.FLOAT


def _joined(found: list[tuple[Ints, Ints, NDArray[np.float64]]], first: int) -> Batch:
    if not found:
        return EMPTY
    series, rows, value = (np.concatenate([part[i] for part in found]) for i in range(3))
    order = np.lexsort((rows, series))
    return Batch(series[order].astype(np.int32), (rows[order] + first).astype(np.uint32), value[order])
