"""Where a large job is read before all else: heads, which tell who is who, and tails, which tell how it ended."""

from __future__ import annotations

from l4tui.engine.sources import Source

FROM = 384 << 20  # bytes of text from which a job is worth a preview: less is read in a few seconds
SHARE = 96 << 20  # bytes of all tails together: a second's work
LEAST = 64 << 10  # of each
HEAD = 64 << 10
SECONDS = 5.0  # of CPU, however busy the machine is: a preview that takes longer is none
PROBE = 1 << 16


def ranges_of(source: Source, sources: int) -> list[tuple[int, int]]:
    """Return the ranges of a source to read first, each from a line's start to another's or to the end.

    Raises SourceError.
    """
    size = source.size()
    share = max(SHARE // sources, LEAST)
    if size <= share + HEAD:
        return [(0, size)]
    return [(0, _line_start(source, HEAD)), (_line_start(source, size - share), size)]


def _line_start(source: Source, at: int) -> int:
    """Return the first line start behind an offset; within a very long line the offset itself."""
    newline = source.pread(at, PROBE).find(b"\n")
    return at + newline + 1 if newline >= 0 else at
