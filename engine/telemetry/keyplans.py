"""From shapes to keys: where in the lines of one key the values stand, as arrays that a block is read through."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.keys import DIGITS_TO_ZERO, LONGEST_KEY, collapse
from l4tui.engine.model import UNKNOWN
from l4tui.engine.store import Growing
from l4tui.engine.telemetry.catalog import Catalog
from l4tui.engine.telemetry.fields import LONGEST_TEXT, Field, Type, fields_of, utf8

MOST_KEYS = 1 << 18
WIDEST = 32  # bytes of a number
NAME_DIGITS = 9  # digits in a name that tell series apart
DYNAMIC = -2  # the series of a field whose name holds digits: looked up by them

# Tokens that are new in nearly every line, masked at their own length; not the fraction of a number (1.041666e-05).
_VOLATILE = re.compile(
    rb"0x[0-9a-fA-F]{4,}"
    rb"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    rb"|(?<![\w.])(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])(?!\d+e\b)[0-9a-f]{8,}\b"
    rb"|(?<![\w.])(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])[A-Za-z0-9+/_-]{24,}={0,2}"
)
_RUN = re.compile(rb"0+")


class Anchored(NamedTuple):
    """A field of a shape, its places as (digit runs before, bytes behind the last of them)."""

    field: Field
    start: tuple[int, int]
    end: tuple[int, int]
    name_start: tuple[int, int] | None  # where the name holds digits
    name_end: tuple[int, int] | None


class KeyPlans:
    """Value places of every key seen; rows grow, numbers never change."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.first = Growing(np.int64)  # per key: its first field
        self.count = Growing(np.int32)
        self.start = Growing(np.int32)  # per field: offset in the line
        self.width = Growing(np.int32)
        self.series = Growing(np.int32)  # or DYNAMIC
        self.word = Growing(np.int32)  # code of a text without digits; −1: read it; −2: a number
        self.name_start = Growing(np.int32)
        self.name_end = Growing(np.int32)
        self.digits = Growing(np.int64)  # flat (field, NAME_DIGITS): offsets of the name's digits, −1
        self.infos: list[Field] = []  # per field
        self._keys: dict[tuple[int, bytes], int] = {}
        self._shapes: dict[bytes, tuple[Anchored, ...]] = {}

    def of(self, line: bytes, text_at: int) -> int:
        """Return the plan of a tidy line's key, −1 where it holds no values."""
        key = masked_key(line)
        known = self._keys.get((text_at, key))
        if known is None:
            known = self._add(key, text_at)
            if len(self._keys) < MOST_KEYS:
                self._keys[text_at, key] = known
        return known

    def _add(self, key: bytes, text_at: int) -> int:
        message = key[text_at:]
        shape = collapse(message)
        anchored = self._shapes.get(shape)
        if anchored is None:
            anchored = _anchored(shape.decode("latin-1"))
            if len(self._shapes) < MOST_KEYS:
                self._shapes[shape] = anchored
        if not anchored or self.count.length >= MOST_KEYS:
            return UNKNOWN
        ends = [text_at, *(text_at + run.end() for run in _RUN.finditer(message))]
        first = self.start.length
        for item in anchored:
            start, end = _place(ends, item.start), _place(ends, item.end)
            if _holds(key[start:end], item.field.type):
                self._add_field(key, item, ends, start, end)
        if self.start.length == first:
            return UNKNOWN
        self.first.append(first)
        self.count.append(self.start.length - first)
        return self.count.length - 1

    def _add_field(self, key: bytes, item: Anchored, ends: list[int], start: int, end: int) -> None:
        field = item.field
        low = high = UNKNOWN
        digits = [UNKNOWN] * NAME_DIGITS
        series = DYNAMIC
        if item.name_start and item.name_end:
            low, high = _place(ends, item.name_start), _place(ends, item.name_end)
            at = [i for i in range(low, high) if key[i] == 48][:NAME_DIGITS]
            digits[: len(at)] = at
        else:
            series = self.catalog.series(utf8(field.name), field.unit, field.type, field.keyed)
        word = DYNAMIC
        if field.type is Type.TEXT:
            text = key[start:end]
            word = UNKNOWN if b"0" in text else self.catalog.word(text.decode("utf-8", "replace"))
        for column, value in (
            (self.start, start), (self.width, end - start), (self.series, series), (self.word, word),
            (self.name_start, low), (self.name_end, high),
        ):  # fmt: skip
            column.append(value)
        self.digits.extend(np.array(digits, np.int64))
        self.infos.append(field)

    def digit_places(self) -> NDArray[np.int64]:
        """Return offsets of the digits in names, (field, NAME_DIGITS)."""
        return self.digits.view().reshape(-1, NAME_DIGITS)


def masked_key(line: bytes) -> bytes:
    """Return the key of a line, volatile tokens masked at their own length by what separates names."""
    line = line[:LONGEST_KEY]
    if _VOLATILE.search(line):
        line = _VOLATILE.sub(lambda token: b"|" * len(token[0]), line)
    return line.translate(DIGITS_TO_ZERO)


def is_volatile(line: bytes) -> bool:
    """Tell whether lines of one plan may differ in length or where their numbers stand."""
    return len(line) > LONGEST_KEY or _VOLATILE.search(line) is not None


def _anchored(shape: str) -> tuple[Anchored, ...]:
    out = []
    for field in fields_of(shape):
        name = (None, None)
        if "0" in field.name and field.name_at >= 0:
            name = (_anchor(shape, field.name_at), _anchor(shape, field.name_at + len(field.name)))  # type: ignore[assignment]
        out.append(Anchored(field, _anchor(shape, field.start), _anchor(shape, field.end), *name))
    return tuple(out)


def _anchor(shape: str, at: int) -> tuple[int, int]:
    return shape.count("0", 0, at), at - (shape.rfind("0", 0, at) + 1)


def _place(ends: list[int], anchor: tuple[int, int]) -> int:
    return ends[anchor[0]] + anchor[1]


def _holds(token: bytes, kind: Type) -> bool:
    """Tell whether a value of this key can be read: not too wide, its commas those of thousands."""
    if kind is Type.TEXT:
        return 0 < len(token) <= LONGEST_TEXT
    if b"," in token:
        groups = token.lstrip(b"+-").partition(b".")[0].split(b",")
        if len(groups[0]) > 3 or any(len(group) != 3 for group in groups[1:]):
            return False
    return 0 < len(token) <= WIDEST
