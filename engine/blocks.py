"""Blocks of whole lines out of a source, whatever the sizes of reads, lines and growth."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import NamedTuple

from l4tui.engine.sources import Source, SourceError, TextLost

BLOCK = 4 << 20
LONGEST = 16 << 20  # a longer line comes in pieces of this size: memory stays bounded
PEEKED = 4096  # bytes before the end of a block in which its last line end is looked for before it is read …
MANY = 64 << 10  # … if it has as many
PIPE_WAIT = 0.1  # seconds between two looks at `stop` while a pipe is silent


class Block(NamedTuple):
    """Bytes at an offset of a source: whole lines, or one piece of a line longer than LONGEST."""

    offset: int
    data: bytes
    continues: bool = False  # begins inside a line that the block before left unfinished
    unfinished: bool = False  # its line goes on in the next block

    @property
    def end(self) -> int:
        return self.offset + len(self.data)

    @property
    def inside(self) -> bool:
        """Whether it ends inside a line."""
        return self.unfinished or not self.data.endswith(b"\n")


def blocks(
    source: Source,
    begin: int = 0,
    end: int | None = None,
    size: int = BLOCK,
    stop: Event | None = None,
    *,
    final: bool = False,
    continues: bool = False,
    longest: int = LONGEST,
) -> Iterator[Block]:
    """Yield the lines between two offsets that stand at line starts; without `end`, all there is.

    An incomplete last line is held back (the next call begins at the last block's `end`) until it is complete, unless
    `final` says that no more will come or the source says so itself. With `final`, a pipe is read to its end.
    `continues`: the last block that was handed over was `unfinished`. Text that exists no more (the file was cut before
    it could be read) is stepped over. Raises SourceError.
    """
    at, want = begin, size
    while stop is None or not stop.is_set():
        limit = want if end is None else min(want, end - at)
        if limit <= 0:
            return
        limit = limit if continues else _whole(source, at, limit)
        try:
            data = source.pread(at, limit)
        except TextLost as lost:  # whoever follows the source has said so in a line of its own
            at, continues = lost.resume, False
            continue
        if len(data) < limit and _fetch(source, final):
            continue
        cut = _cut(data, continues)
        if cut or len(data) >= longest:
            yield Block(at, data[: cut or None], continues, not cut)
            at, want, continues = at + (cut or len(data)), size if cut else want, not cut
        elif len(data) < limit or (end is not None and at + len(data) >= end):
            if data and (final or source.is_final) and not _grew(source, at + len(data)):
                yield Block(at, data, continues)
            return
        else:
            want = min(max(want * 2, 1 << 16), longest)


def _whole(source: Source, at: int, limit: int) -> int:
    """Return how many of these bytes are whole lines, `limit` where that is not seen: cutting them off is a copy."""
    if limit < MANY:
        return limit
    try:
        end = source.pread(at + limit - PEEKED, PEEKED)
    except SourceError:  # what is before it may be there
        return limit
    newline = end.rfind(b"\n") + 1
    return limit - PEEKED + newline if newline and len(end) == PEEKED else limit


def _cut(data: bytes, continues: bool) -> int:
    """Return where the whole lines end, 0 where none does; the rest of a long line goes alone."""
    return (data.find(b"\n") if continues else data.rfind(b"\n")) + 1


def _fetch(source: Source, final: bool) -> bool:
    """Ask a pipe or an inflation for more; True when it is worth reading again."""
    if source.feed is None:
        return False
    if source.more(PIPE_WAIT if final else 0.0):
        return True
    return final and not source.is_final


def _grew(source: Source, end: int) -> bool:
    """A pipe's last bytes may have come between the read and its end."""
    return source.feed is not None and source.size() > end


class Cut(NamedTuple):
    """An offset where a source may be parted; `inside`: within a line so long that it comes in pieces."""

    offset: int
    inside: bool = False


def cuts(source: Source, begin: int, end: int, parts: int, longest: int = LONGEST) -> list[Cut]:
    """Return parts+1 or fewer ascending cuts from `begin` to `end`: line starts, or where `blocks` parts a long line.

    `begin` is a line start. Neighbours are ranges for `blocks`, together the whole.
    """
    found = [Cut(begin)]
    line = begin  # the last line start seen: nothing is looked at twice
    for part in range(1, parts):
        at = begin + (end - begin) * part // parts
        if at <= found[-1].offset:
            continue
        cut = Cut(_next_line(source, at, min(end, at + longest)))
        if cut.offset >= 0:
            line = cut.offset
        else:
            line = _line_before(source, max(line, found[-1].offset), at, line)
            cut = Cut(line + -(-(at - line) // longest) * longest, inside=True)
        if found[-1].offset < cut.offset < end:
            found.append(cut)
    return [*found, Cut(end)] if end > begin else found


def _next_line(source: Source, at: int, end: int) -> int:
    """Return the first line start at or after `at`, -1 when there is none up to `end`."""
    at = max(at - 1, 0)
    while at < end and (data := source.pread(at, min(1 << 16, end - at))):
        newline = data.find(b"\n")
        if newline >= 0:
            return at + newline + 1
        at += len(data)
    return -1


def _line_before(source: Source, begin: int, end: int, otherwise: int) -> int:
    """Return the last line start behind `begin` and up to `end`, `otherwise` when there is none."""
    while end > begin:
        at = max(begin, end - (1 << 20))
        newline = source.pread(at, end - at).rfind(b"\n")
        if newline >= 0:
            return at + newline + 1
        end = at
    return otherwise
