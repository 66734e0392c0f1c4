"""From the bytes of a block to tidy lines: controls gone, last state of a bar, one line per segment.

The common block holds no CR, ESC or NUL and no tag in the middle of a line: three counts say so and it passes
untouched. Only the lines concerned of any other block are taken apart.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from l4tui.engine.formats import Dialect, cut, midline_suspects, outer_end, prefix_end
from l4tui.engine.model import Flag

BOM = b"\xef\xbb\xbf"  # at the head of files that other systems wrote or joined
# CSI (or what a cut line left of it), OSC (to BEL or ST), two-byte escapes, a lone ESC, NUL, a byte order mark; never
# over the end of a line.
ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|(?=\r|\n|\Z))|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\-_0-9=>a-z])?|\x00"
    rb"|\xef\xbb\xbf"
)


class Tidy(NamedTuple):
    """A block as the mapper reads it; one row per entry."""

    data: bytes  # tidy lines, each ended by a newline
    begin: np.ndarray  # int64: offset of the entry in the raw block
    flags: np.ndarray  # uint16: SEGMENT, SPLIT, ODD


def last_state(line: bytes, lead: int = 0) -> bytes:
    """Return what a terminal would show after the carriage returns of a line, behind its launcher's prefix.

    The last state that is neither blank nor a mere repetition of that prefix (GNU parallel repeats it after each CR);
    `lead` is where the prefix ends.
    """
    prefix = line[:lead]
    states = line[lead:].split(b"\r")
    for state in reversed(states[1:]):
        state = state.removeprefix(prefix)
        if state.strip() and not line.startswith(state):
            return prefix + state
    return prefix + states[0]


def clean(raw: bytes, lead: int = 0) -> bytes:
    """Return the tidy form of one raw line or segment (no newline) whose launcher's prefix ends at `lead`."""
    line = raw if is_clean(raw) else ESCAPES.sub(b"", raw)
    return last_state(line, lead) if b"\r" in line else line


def is_plain(block: bytes) -> bool:
    """Say whether a block holds nothing that lines must be rid of."""
    return b"\r" not in block and is_clean(block)


def is_clean(text: bytes) -> bool:
    """Say whether a text holds no escape sequence, NUL or byte order mark."""
    return b"\x1b" not in text and b"\0" not in text and not _has_bom(text)


def untouched(block: bytes) -> Tidy:
    """Return the lines of a block as they stand."""
    if not block.endswith(b"\n"):
        block += b"\n"
    begin = line_starts(block)
    return Tidy(block, begin, np.zeros(len(begin), np.uint16))


def line_starts(block: bytes) -> np.ndarray:
    """Return where each line of a block of whole lines begins; int64."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
    begin = np.empty(len(ends), np.int64)
    begin[0] = 0
    np.add(ends[:-1], 1, out=begin[1:])
    return begin


def tidy(block: bytes, dialect: Dialect) -> Tidy:
    """Split a block of whole lines into entries.

    A last line without a newline counts as a line.
    """
    t = untouched(block)
    suspects = midline_suspects(t.data, dialect)
    if not suspects and is_plain(block):
        return t
    raw = np.frombuffer(t.data, np.uint8)
    return _take_apart(t.data, raw, t.begin, dialect, bool(suspects))


def _has_bom(block: bytes) -> bool:
    return b"\xef" in block and BOM in block  # the one byte is looked for 10 times as fast


def _lines_with(raw: np.ndarray, begin: np.ndarray, *codes: int) -> np.ndarray:
    """Return a bool per line: does it hold one of these bytes."""
    holds = np.zeros(len(begin), bool)
    for code in codes:
        at = np.flatnonzero(raw == code)
        if len(at):
            holds[np.searchsorted(begin, at, "right") - 1] = True
    return holds


def _take_apart(block: bytes, raw: np.ndarray, begin: np.ndarray, dialect: Dialect, suspects: bool) -> Tidy:
    escaped = _lines_with(raw, begin, 0x1B, 0, *BOM[: _has_bom(block)])
    returned = _lines_with(raw, begin, 0x0D)
    odd = escaped | returned
    flags = np.where(odd, np.uint16(Flag.ODD), np.uint16(0))
    text = ESCAPES.sub(b"", block) if escaped.any() else block
    lines = text.split(b"\n")
    lines.pop()
    cuts: dict[int, list[int]] = {}
    doubtful = range(len(lines)) if suspects else ()
    for i in doubtful:
        if where := cut(lines[i], dialect):
            cuts[i] = where
    for i in np.flatnonzero(returned).tolist():
        if i not in cuts:
            lines[i] = last_state(lines[i], prefix_end(lines[i], dialect))
    if not cuts:
        return Tidy(b"\n".join(lines) + b"\n", begin, flags)
    return _with_cuts(block, lines, begin, flags, cuts, dialect)


def _with_cuts(
    block: bytes, lines: list[bytes], begin: np.ndarray, flags: np.ndarray, cuts: dict[int, list[int]], dialect: Dialect
) -> Tidy:
    """Put each segment on a line of its own; offsets stay those of the raw block.

    A segment behind a prefix that all share (srun's label outside of torchrun's tags) is read with that prefix, and
    flagged LOOSE since its raw bytes lack it.
    """
    out: list[bytes] = []
    where: list[int] = []
    bits: list[int] = []
    starts, raw_bits = begin.tolist(), flags.tolist()
    for i, line in enumerate(lines):
        at = cuts.get(i)
        if at is None:
            out.append(line)
            where.append(starts[i])
            bits.append(raw_bits[i])
            continue
        odd = raw_bits[i] & Flag.ODD
        end = starts[i + 1] - 1 if i + 1 < len(starts) else len(block) - 1
        raw_at = _raw_offsets(block[starts[i] : end], at) if odd else at
        outer = line[: outer_end(line, dialect)]
        for k, (a, b) in enumerate(zip([0, *at], [*at, len(line)], strict=True)):
            text = outer + line[a:b] if k else line[a:b]
            out.append(last_state(text, prefix_end(text, dialect)) if odd else text)
            where.append(starts[i] + (raw_at[k - 1] if k else 0))
            bits.append(raw_bits[i] | Flag.SPLIT | ((Flag.SEGMENT | (Flag.LOOSE if outer else 0)) if k else 0))
    return Tidy(b"\n".join(out) + b"\n", np.array(where, np.int64), np.array(bits, np.uint16))


def _raw_offsets(raw: bytes, at: list[int]) -> list[int]:
    """Map offsets in the escape-free line to offsets in the raw line."""
    offsets: list[int] = []
    removed = 0
    escapes = [(m.start(), m.end()) for m in ESCAPES.finditer(raw)]
    for wanted in at:
        while escapes and escapes[0][0] - removed < wanted:
            first = escapes.pop(0)
            removed += first[1] - first[0]
        offsets.append(wanted + removed)
    return offsets
