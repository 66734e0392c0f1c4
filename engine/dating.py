"""Which year stamps without one belong to: that of dated stamps near them, else that of the file's last change."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from itertools import islice

from l4tui.engine.clock import DAY, ClockContext, latest_told
from l4tui.engine.model import NO_TIME
from l4tui.engine.sources import Source, SourceError

SAMPLE = 8192  # bytes at the beginning and the end that are searched for a date
LONGEST_JOB = 180 * DAY  # ns after a dated stamp in which one without a year may lie
MOST_ASKED = 64  # other sources


class Dating:
    """Remembers what each source's own text says of the year."""

    def __init__(self) -> None:
        self._told: dict[int, int] = {}

    def context(self, source: Source, others: Iterable[Source], utc_offset_s: int) -> ClockContext:
        """Return how to read the clocks of a source; what its text says is looked for only where a stamp needs it."""
        return ClockContext(lambda: self._newest(source, others), utc_offset_s)

    def _newest(self, source: Source, others: Iterable[Source]) -> int:
        """Return the newest time that a source can hold; of others the first ones that are dated help."""
        told = self._latest(source)
        if told == NO_TIME:
            told = max((self._latest(other) for other in islice(others, MOST_ASKED)), default=NO_TIME)
        latest = source.mtime
        if told != NO_TIME:
            latest = min(told + LONGEST_JOB, latest or told + LONGEST_JOB)
        return latest

    def _latest(self, source: Source) -> int:
        """Return the latest date with a year at both ends of a regular file."""
        if source.index not in self._told and source.feed is None:
            with contextlib.suppress(OSError, SourceError):
                size = source.size()
                texts = [source.pread(at, min(SAMPLE, size)) for at in {0, max(0, size - SAMPLE)}]
                self._told[source.index] = max(latest_told(text) for text in texts)
        return self._told.get(source.index, NO_TIME)
