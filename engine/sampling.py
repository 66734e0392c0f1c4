"""Which lines of a source tell its dialect."""

from __future__ import annotations

from collections.abc import Iterator

from l4tui.engine.sources import Source
from l4tui.engine.tidy import ESCAPES, is_clean

SAMPLE = 1 << 18  # bytes of a source's beginning; a quarter as much of its middle and end
MOST_SAMPLED = 4000  # lines
SHOWN = 4096  # bytes of a line that are looked at
FEW = 1 << 10  # bytes a line on the average, above which a piece holds too few lines, and more is read
ENOUGH = 1200  # lines that are then looked for, half of them at the beginning
FAR = 64 << 20  # in so many bytes
FEWEST = 64  # of lines so long that this holds fewer, so many
FARTHEST = 1 << 30  # in so many bytes: to look for line ends costs little beside reading them
CHUNK = 1 << 20
FEW_AT = 24 << 10, 12 << 10, 16 << 10  # bytes of the beginning, the middle and the end where few lines will do
FEW_LINES = 130  # of each at the most, of all at the least


def sample(source: Source, size: int) -> list[bytes]:
    """Return lines from the beginning, the middle and the end of a source, all states of their bars kept.

    However long lines are, there are enough of them to tell their writers.
    """
    if size <= SAMPLE:
        return _piece(source, 0, size, size, MOST_SAMPLED)
    out, done, quarter = [], SAMPLE, SAMPLE // 4
    for wanted, begin, length in ((2, 0, SAMPLE), (4, size // 2, quarter), (4, size - quarter, quarter)):
        begin = max(begin, done) if begin else 0
        length = min(length, size - begin)
        lines = _piece(source, begin, length, size, MOST_SAMPLED // 3)
        if len(lines) * FEW < length:
            begin = begin if begin + length < size else _further_back(source, done, size)
            lines, done = _long(source, begin, size, wanted)
        out += lines
    return out


def few(source: Source, size: int) -> list[bytes]:
    """Return a tenth of what `sample` does, from the same places; nothing where lines are too long for that."""
    first, middle, last = FEW_AT
    lines = _piece(source, 0, first, size, FEW_LINES) + _piece(source, size // 2, middle, size, FEW_LINES)
    lines += _piece(source, size - last, last, size, MOST_SAMPLED)[-FEW_LINES:]
    return lines if len(lines) >= FEW_LINES else []


def tells(lines: list[bytes], size: int) -> bool:
    """Say whether a sample of so many bytes of a source is what a later one would be, too."""
    return size >= FARTHEST or len(lines) * FEW >= min(size, SAMPLE)


def _piece(source: Source, offset: int, length: int, size: int, most: int) -> list[bytes]:
    data = source.pread(offset, length)
    lines = data.split(b"\n")
    if offset:
        del lines[0]
    if offset + len(data) < size and lines:
        del lines[-1]
    some = [line[:SHOWN] for line in lines[:most]]
    return some if is_clean(data) else [ESCAPES.sub(b"", line) for line in some]


def _further_back(source: Source, begin: int, end: int) -> int:
    """Return from where on there are enough lines up to the end of a source, as far as that is near."""
    at, lines = end, 0
    while at > max(begin, end - FAR // 4) and lines <= ENOUGH // 4:
        at, above = max(at - CHUNK, begin), at
        lines += source.pread(at, above - at).count(b"\n")
    return at


def _long(source: Source, begin: int, end: int, share: int) -> tuple[list[bytes], int]:
    """Return that share of what lines are looked for, from an offset on, and where the last of them begins."""
    out: list[bytes] = []
    at = begin
    for at, head in _heads(source, begin, end):
        out.append(head if is_clean(head) else ESCAPES.sub(b"", head))
        far = at - begin >= FAR // share and (begin > 0 or len(out) >= FEWEST)
        if far or len(out) >= ENOUGH // share or at - begin >= FARTHEST:
            break
    return out, at


def _heads(source: Source, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield where lines begin and how, without what comes before the first line end unless that is a source's start."""
    at, rest = begin, b""  # the rest is the head of the line that the chunk before left unfinished
    start = 0 if begin == 0 else -1  # where that line begins, -1: before `begin`
    while at < end and (data := source.pread(at, min(CHUNK, end - at))):
        past = 0
        while (newline := data.find(b"\n", past)) >= 0:
            if start >= 0:
                yield start, (rest + data[past : min(newline, past + SHOWN)])[:SHOWN]
            start, past, rest = at + newline + 1, newline + 1, b""
        rest = (rest + data[past : past + SHOWN])[:SHOWN]
        at += len(data)
    if start >= 0 and rest:
        yield start, rest
