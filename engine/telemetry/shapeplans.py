"""From shapes to places: where the values of a shape stand, counted in digit runs, as arrays a block is read through.

Lines of one shape differ in the widths of their numbers alone. A place is written as (runs of digits before it, bytes
behind the last of them), so it holds for all of them; the runs of a block are found once, for all lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.keys import DIGITS_TO_ZERO, LONGEST_KEY
from l4tui.engine.model import UNKNOWN
from l4tui.engine.store import Growing
from l4tui.engine.telemetry.catalog import Catalog
from l4tui.engine.telemetry.fields import Field, Type, fields_of, utf8

MOST_SHAPES = 1 << 17
DYNAMIC = -2  # the series of a field whose name holds digits: looked up by them
NUMBER = -2  # the word of a field that is no text

_COLUMNS = (
    *("start_run", "start", "end_run", "end"),  # of the value
    *("name_run", "name_runs"),  # digit runs before the name, and in it
    *("name_start_run", "name_start", "name_end_run", "name_end"),
    *("int_run", "int_end", "commas"),  # where the whole part ends, and the commas in it
    *("series", "word"),  # or DYNAMIC; code of a text without digits, UNKNOWN: read it, NUMBER
)
# Tokens that are new in nearly every line, masked at their own length; not the fraction of a number (1.041666e-05).
_VOLATILE = re.compile(
    rb"0x[0-9a-fA-F]{4,}"
    rb"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    rb"|(?<![\w.])(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])(?!\d+e\b)[0-9a-f]{8,}\b"
    rb"|(?<![\w.])(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])[A-Za-z0-9+/_-]{24,}={0,2}"
)
_HEX = re.compile(rb"[0-9a-f]{8}")  # what no volatile token lacks, found 10 times as fast
_LONG = re.compile(rb"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24}")


class Places(NamedTuple):
    """All fields of all shapes: int32 columns, and the first field and number of fields of each shape."""

    first: NDArray[np.int64]  # field of each shape
    fields: NDArray[np.int64]  # of each shape
    runs: NDArray[np.int64]  # digit runs of the shape
    columns: dict[str, NDArray[np.int64]]


class ShapePlans:
    """Value places of every shape seen; rows grow, numbers never change."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.infos: list[Field] = []  # per field
        self._fields = Growing(np.int64)  # flat (field, column)
        self._shapes = {name: Growing(np.int64) for name in ("first", "count", "runs")}
        self._ids: dict[bytes, int] = {}

    def of(self, key: bytes) -> int:
        """Return the plan of a message (masked key behind the prefixes), −1 where it holds no values."""
        shape = _collapsed(key)
        known = self._ids.get(shape)
        if known is None:
            known = UNKNOWN if len(self._ids) >= MOST_SHAPES else self._add(shape.decode("latin-1"))
            if len(self._ids) < MOST_SHAPES:
                self._ids[shape] = known
        return known

    def _add(self, shape: str) -> int:
        fields = fields_of(shape)
        if not fields:
            return UNKNOWN
        row = {"first": len(self.infos), "count": len(fields), "runs": shape.count("0")}
        self._fields.extend(np.array([self._row(shape, field) for field in fields], np.int64).ravel())
        self.infos += fields
        for name, column in self._shapes.items():
            column.append(row[name])
        return self._shapes["first"].length - 1

    def _row(self, shape: str, field: Field) -> list[int]:
        row = dict.fromkeys(_COLUMNS, 0)
        row["start_run"], row["start"] = _anchor(shape, field.start)
        row["end_run"], row["end"] = _anchor(shape, field.end)
        text = shape[field.start : field.end]
        name_end = field.name_at + len(field.name)
        if "0" in field.name and field.name_at >= 0:
            row["name_run"], row["name_runs"] = shape.count("0", 0, field.name_at), field.name.count("0")
            row["name_start_run"], row["name_start"] = _anchor(shape, field.name_at)
            row["name_end_run"], row["name_end"] = _anchor(shape, name_end)
            row["series"] = DYNAMIC
        else:
            row["series"] = self.catalog.series(utf8(field.name), field.unit, field.type, field.keyed)
        if field.type is Type.TEXT:
            row["word"] = UNKNOWN if "0" in text else self.catalog.word(utf8(text))
        else:
            row["word"] = NUMBER
            whole = re.match(r"[-+0,]*", text)
            row["commas"] = text.count(",")
            row["int_run"], row["int_end"] = _anchor(shape, field.start + (whole.end() if whole else 0))
        return list(row.values())

    def places(self) -> Places:
        """Return the tables as they are now."""
        first, count, runs = (self._shapes[name].view() for name in ("first", "count", "runs"))
        columns = self._fields.view().reshape(-1, len(_COLUMNS)).T
        return Places(first, count, runs, dict(zip(_COLUMNS, columns, strict=True)))


def masked_key(line: bytes) -> bytes:
    """Return the key of a line, volatile tokens masked at their own length by what separates names."""
    return _VOLATILE.sub(lambda token: b"|" * len(token[0]), line).translate(DIGITS_TO_ZERO)


def is_volatile(line: bytes) -> bool:
    """Tell whether a line holds tokens that are new in nearly every line, or is too long for a key."""
    if len(line) > LONGEST_KEY:
        return True
    suspect = b"0x" in line or _HEX.search(line) or _LONG.search(line)
    return bool(suspect) and _VOLATILE.search(line) is not None


def _collapsed(key: bytes) -> bytes:
    """Collapse runs of zeros; the same as keys.collapse, many times as fast where there are many runs."""
    while b"00" in key:
        key = key.replace(b"00", b"0")
    return key


def _anchor(shape: str, at: int) -> tuple[int, int]:
    return shape.count("0", 0, at), at - (shape.rfind("0", 0, at) + 1)
