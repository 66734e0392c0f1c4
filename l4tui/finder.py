"""One search of a job: hits as bits, found in the background, taken further as the job grows."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Lock
from typing import TYPE_CHECKING

import numpy as np

from l4tui.engine.view import Bits, Matcher, smart_case

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot


class Finder:
    """Holds a pattern's hits: one bit an entry, so that a jump is a look at an array."""

    def __init__(self, pattern: str, matcher: Matcher) -> None:
        self.pattern = pattern
        self.stop = Event()
        self.bits: Bits = np.zeros(0, np.bool_)
        self.count = 0
        self.covered = 0  # entries that have been searched
        self.running = False
        self._matcher = matcher
        self._lock = Lock()  # two runs at once would count what both find twice

    def run(self, snapshot: Snapshot) -> Iterator[int]:
        """Search what has not been searched, after a run that is under way; yield the count after each batch."""
        with self._lock:
            if snapshot.length <= self.covered:  # an older one waited for longer: all of it is known
                return
            self.running = True
            try:
                yield from self._search(snapshot)
            finally:
                self.running = False

    def _search(self, snapshot: Snapshot) -> Iterator[int]:
        grown = np.zeros(snapshot.length, np.bool_)
        common = min(len(self.bits), snapshot.length)
        grown[:common] = self.bits[:common]
        self.bits = grown
        for hits in self._matcher(snapshot, smart_case(self.pattern), self.covered, self.stop):
            fresh = hits[~grown[hits]]
            grown[fresh] = True
            self.count += len(fresh)
            yield self.count
            if self.stop.is_set():
                return
        self.covered = snapshot.length
