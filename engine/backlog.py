"""Backlog: followed sources that have grown, read in turns so that one far behind does not make the others wait."""

from __future__ import annotations

from collections.abc import Iterator

from l4tui.engine.blocks import LONGEST
from l4tui.engine.reader import Reader

TURN = 256 << 20  # bytes of all sources in a turn: about a second's work
SHARE = 2 * LONGEST  # of one, when many are far behind; a longest line's piece is always in it


class Backlog:
    """Readers whose sources hold more than they have read, those that wait longest first."""

    def __init__(self) -> None:
        self._waiting: dict[int, Reader] = {}  # by source

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __contains__(self, reader: Reader) -> bool:
        return reader.source.index in self._waiting

    @property
    def size(self) -> int:
        """Bytes that are still to be read."""
        return sum(max(reader.size() - reader.at, 0) for reader in self._waiting.values())

    def put(self, reader: Reader) -> None:
        """Take a reader whose source has grown."""
        self._waiting.setdefault(reader.source.index, reader)

    def turn(self) -> Iterator[tuple[Reader, int]]:
        """Yield readers and the offsets up to which they are to read now; who is not done then waits again."""
        waiting = list(self._waiting.values())
        share = max(TURN // max(len(waiting), 1), SHARE)
        room = TURN
        for reader in waiting:
            if room <= 0:
                return
            size = reader.size()
            end = min(size, reader.at + share)
            room -= end - reader.at
            del self._waiting[reader.source.index]
            if end < size:
                self._waiting[reader.source.index] = reader  # behind all others
            yield reader, end
