"""One search of a job: hits as bits, found in the background, taken further as the job grows."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
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

    def run(self, snapshot: Snapshot) -> Iterator[int]:
        """Search what has not been searched; yield the count after each batch."""
        self.running = True
        try:
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
        finally:
            self.running = False
