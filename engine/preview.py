"""Where a large job is read before all else: heads, which tell who is who, and tails, which tell how it ended."""

from __future__ import annotations

from l4tui.engine.sources import Source

FROM = 384 << 20  # bytes of text from which a job is worth a preview: less is read in a few seconds
SHARE = 96 << 20  # bytes of all tails together: a second's work
LEAST = 16 << 10  # of each
HEAD = 64 << 10  # of a source's beginning at the most, a third of what is read of its end where there are very many
SECONDS = 8.0  # of CPU, however busy the machine is: a preview that takes longer is none
PROBES = 1 << 11, 1 << 16  # bytes in which a line's end is looked for


def head_of(source: Source, sources: int) -> tuple[int, int]:
    """Return the range of a source to read first, from its start to the start of a line; raises SourceError."""
    size, (head, tail) = source.size(), _shares(sources)
    return (0, size) if size <= head + tail else (0, _line_start(source, head))


def tail_of(source: Source, sources: int) -> tuple[int, int]:
    """Return the range behind the head that reaches from a line's start to a source's end, empty if that is all."""
    size, (head, tail) = source.size(), _shares(sources)
    return (size, size) if size <= head + tail else (_line_start(source, size - tail), size)


def _shares(sources: int) -> tuple[int, int]:
    tail = max(SHARE // sources, LEAST)
    return min(HEAD, tail // 3), tail


def _line_start(source: Source, at: int) -> int:
    """Return the first line start behind an offset; within a very long line the offset itself."""
    for length in PROBES:
        newline = source.pread(at, length).find(b"\n")
        if newline >= 0:
            return at + newline + 1
    return at
