"""Reader: how far a source has been read, and what of it is held back as long as its last line is unfinished."""

from __future__ import annotations

import time
from dataclasses import dataclass

from l4tui.engine.formats import Dialect
from l4tui.engine.sources import Source, SourceError

UNFINISHED_S = 30.0  # seconds without growth after which a last line is a line without its newline: taken earlier it
# would become two entries, one of which the finished file does not have
SHOWN_S = 1.0  # seconds after which what is held back is worth telling
SHOWN = 4096  # bytes of its end


@dataclass
class Reader:
    """How far a source has been read, and in which dialect."""

    source: Source
    dialect: Dialect
    at: int = 0  # bytes merged
    inside: bool = False  # the last block ended inside a line
    judged: int = 0  # size at which the dialect was found; 0: not yet, or taken over unseen
    is_settled: bool = False  # and no later one will be
    grown_at: float = 0.0  # monotonic seconds; before any growth was seen, as the file tells
    holds: bool = False  # an unfinished last line has been held back

    def size(self) -> int:
        """Return the bytes there are now, those read where the file cannot be reached any more."""
        try:
            return self.source.size()
        except SourceError:
            return self.at

    def is_to_be_judged(self, size: int) -> bool:
        """Say whether a look at so many bytes may find another dialect."""
        return not self.is_settled and size > 2 * self.judged

    def expected(self) -> int:
        """Return the bytes that there will be, as `Source.expected`, those read where the file cannot be reached."""
        try:
            return self.source.expected
        except SourceError:
            return self.at

    def is_silent(self) -> bool:
        """Tell by its time whether a file has come to rest: its last line then needs no newline to count."""
        quiet_s = max(time.time() - self.source.mtime / 1e9, 0.0) if self.source.is_plain else 0.0
        self.grown_at = time.monotonic() - quiet_s
        return quiet_s >= UNFINISHED_S

    def held(self, now: float) -> bytes:
        """Return the end of the unfinished line at `now` (monotonic seconds), empty while it may end at once."""
        if not self.holds or now - self.grown_at < SHOWN_S:
            return b""
        try:
            end = self.source.size()
            begin = max(self.at, end - SHOWN)
            return self.source.pread(begin, end - begin).rpartition(b"\n")[2]
        except SourceError:
            return b""
