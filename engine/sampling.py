"""Which lines of a source tell its dialect."""

from __future__ import annotations

from l4tui.engine.sources import Source
from l4tui.engine.tidy import ESCAPES, is_clean

SAMPLE = 1 << 18  # bytes of a source's beginning; a quarter as much of its middle and end
MOST_SAMPLED = 4000  # lines


def sample(source: Source, size: int) -> list[bytes]:
    """Return lines from the beginning, the middle and the end of a source, all states of their bars kept."""
    pieces = [(0, min(SAMPLE, size))]
    if size > SAMPLE:
        quarter = SAMPLE // 4
        pieces += [(max(SAMPLE, size // 2), quarter), (max(SAMPLE, size - quarter), quarter)]
    out: list[bytes] = []
    for offset, length in pieces:
        data = source.pread(offset, length)
        lines = data.split(b"\n")
        if offset:
            del lines[0]
        if offset + len(data) < size and lines:
            del lines[-1]
        some = [line[:4096] for line in lines[: MOST_SAMPLED // len(pieces)]]
        out += some if is_clean(data) else [ESCAPES.sub(b"", line) for line in some]
    return out
