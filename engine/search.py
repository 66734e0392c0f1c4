"""Search over the raw bytes of a job, block by block, with what the columns say applied before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from threading import Event

import numpy as np

from l4tui.engine.descriptors import SourceError
from l4tui.engine.model import Flag
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.tidy import ESCAPES

STEP = 4 << 20  # bytes searched between two looks at `stop`


class Search:
    """A pattern over the entries of one snapshot.

    `allowed`: bool per entry, or None for all. The pattern is a regex over the line as written, prefixes included,
    without colour codes; it never matches across lines.
    """

    def __init__(self, snapshot: Snapshot, pattern: str, allowed: np.ndarray | None = None, start: int = 0) -> None:
        """Compile the pattern; raises re.error. Entries before `start` are not searched."""
        self.snapshot = snapshot
        self.regex = re.compile(pattern.encode())
        self.allowed = allowed
        self.start = start

    def batches(self, stop: Event) -> Iterator[np.ndarray]:
        """Yield ascending entry ids that match, a block at a time, until done or stopped."""
        blocks = self.snapshot.blocks
        ends = np.append(blocks.first[1:], self.snapshot.length)
        b = max(0, int(np.searchsorted(blocks.first, self.start, "right")) - 1) if self.start else 0
        for first, end, source, base, size in zip(
            blocks.first[b:].tolist(), ends[b:].tolist(), blocks.source[b:].tolist(),
            blocks.base[b:].tolist(), blocks.size[b:].tolist(), strict=True,
        ):  # fmt: skip
            if stop.is_set():
                return
            if base < 0 or (self.allowed is not None and not self.allowed[first:end].any()):
                continue
            try:
                data = self.snapshot.sources[source].pread(base, size)
            except SourceError:
                continue  # its text is gone; the columns still stand
            found = self._in_block(data, first, end, stop)
            found = found[found >= self.start]
            if self.allowed is not None:
                found = found[self.allowed[found]]
            if len(found):
                yield found

    def _in_block(self, data: bytes, first: int, end: int, stop: Event) -> np.ndarray:
        """Return the entries of a block that match."""
        offsets = self.snapshot.columns["offset"][first:end].astype(np.int64)
        hits: list[int] = []
        at, search = 0, self.regex.search
        while (match := search(data, at)) is not None and not stop.is_set():
            begin = match.start()
            newline = data.find(b"\n", begin)
            if newline < 0:
                newline = len(data)
            if match.end() > newline and match.end() > begin and search(data, begin, newline) is None:
                at = newline + 1  # matched over the end of the line: \s, [^x]
                continue
            hits.append(begin)
            at = self._next(offsets, begin, newline)
            if at > len(data):
                break
        entries = first + np.searchsorted(offsets, np.array(hits, np.int64), "right") - 1
        odd = np.flatnonzero(self.snapshot.flags[first:end] & Flag.ODD)
        return self._with_odd(data, offsets, np.unique(entries), odd, first) if len(odd) else np.unique(entries)

    @staticmethod
    def _next(offsets: np.ndarray, begin: int, newline: int) -> int:
        """Return where the entry after the one that holds `begin` begins."""
        k = int(np.searchsorted(offsets, begin, "right"))
        return int(offsets[k]) if k < len(offsets) else newline + 1

    def _with_odd(self, data: bytes, offsets: np.ndarray, found: np.ndarray, odd: np.ndarray, first: int) -> np.ndarray:
        """Judge lines that hold controls by their text without them."""
        hits = []
        for k in odd.tolist():
            line = data[int(offsets[k]) : int(offsets[k + 1]) if k + 1 < len(offsets) else len(data)]
            if self.regex.search(ESCAPES.sub(b"", line).rstrip(b"\r\n")):
                hits.append(first + k)
        plain = found[~np.isin(found, odd + first)]
        return np.union1d(plain, np.array(hits, np.int64))


def search(snapshot: Snapshot, pattern: str, start: int, stop: Event) -> Iterator[np.ndarray]:
    """Yield the entries from `start` on that match a regex, a block at a time; raises re.error."""
    return Search(snapshot, pattern, start=start).batches(stop)
