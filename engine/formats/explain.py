"""Which format took which part of a line: for a user whose lines stay unattributed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from l4tui.engine.formats.detection import detect
from l4tui.engine.formats.dialect import Dialect
from l4tui.engine.formats.midline import cut
from l4tui.engine.formats.parser import HEAD, Parser
from l4tui.engine.formats.registry import Format

_RUNS = re.compile(rb"\d+")
SHOWN = 400  # bytes of an example


class Part(NamedTuple):
    """One format's part of a line; byte offsets."""

    format: str
    layer: str
    start: int
    end: int
    fields: tuple[tuple[str, str], ...]


class Row(NamedTuple):
    """One shape of the sample."""

    lines: int
    first: int  # index of its first line in the sample
    example: bytes
    parts: tuple[Part, ...]
    text_at: int  # start of the message
    cuts: tuple[int, ...]  # where other ranks' text begins


def explain(
    lines: Sequence[bytes], dialect: Dialect | None = None, extra: Sequence[Format] = (), most: int = 40
) -> list[Row]:
    """Read one line of each shape of a sample, commonest shapes first; without a dialect it is detected."""
    dialect = detect(lines, extra=extra) if dialect is None else dialect
    parser = Parser(dialect, extra)
    seen: dict[tuple[object, ...], list[int]] = {}
    for i, line in enumerate(lines):
        parse = parser.parse(line)
        shape = (parse.formats, _RUNS.sub(b"0", line[: parse.text_at]), _RUNS.sub(b"0", line[parse.text_at :][:24]))
        count = seen.setdefault(shape, [0, i])
        count[0] += 1
    chosen = sorted(seen.values(), key=lambda count: (-count[0], count[1]))[:most]
    return [_row(parser, dialect, lines[first], n, first) for n, first in chosen]


def _row(parser: Parser, dialect: Dialect, line: bytes, n: int, first: int) -> Row:
    parts = tuple(
        Part(
            taken.fmt.name,
            taken.fmt.layer,
            taken.start,
            taken.end,
            tuple((s.field, line[s.start : s.end].decode("utf-8", "replace")) for s in taken.spans),
        )
        for taken in parser.readings(line)
    )
    return Row(n, first, line[:SHOWN], parts, parser.parse(line).text_at, tuple(cut(line[:HEAD], dialect)))
