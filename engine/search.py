"""Search over a job's lines: by plan where digits make no difference, else over the raw bytes of each block.

A pattern that treats all digits alike matches a line exactly if it matches the line's key, so most patterns that people
type are decided for a few hundred plans and never touch the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from threading import Event

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.descriptors import SourceError
from l4tui.engine.formats.shape import needed_literals, plain_literal, treats_digits_alike
from l4tui.engine.keys import LONGEST_KEY, PLACEHOLDER
from l4tui.engine.model import Flag
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.tidy import ESCAPES

Bits = NDArray[np.bool_]
Ints = NDArray[np.int64]

MOST_FINDS = 3  # literals that are looked for one by one; more cost what they save
LOOKS = 256  # matches between two looks at `stop`
_UNLIKE_KEY = Flag.ODD | Flag.LOOSE | Flag.SEGMENT | Flag.SPLIT | Flag.NOTE  # their text is not what the key says


class Search:
    """A pattern over the entries of one snapshot.

    `allowed`: bool per entry, or None for all. The pattern is a regex over the line as written, prefixes included,
    without colour codes; it never matches across lines.
    """

    def __init__(self, snapshot: Snapshot, pattern: str, allowed: Bits | None = None, start: int = 0) -> None:
        """Compile the pattern; raises re.error. Entries before `start` are not searched."""
        self.snapshot = snapshot
        self.regex = re.compile(pattern.encode(), re.MULTILINE)
        self.allowed = allowed
        self.start = start
        self._by_plan = self._verdicts()
        self._scan = self._scanner()

    def _verdicts(self) -> tuple[Bits, Bits] | None:
        """Return per plan whether its lines match and whether that is uncertain; None: the text must be read."""
        keys = self.snapshot.keys
        if len(keys) < len(self.snapshot.plans.event) or not treats_digits_alike(self.regex):
            return None
        told = [len(k) < LONGEST_KEY and PLACEHOLDER not in k and not k.startswith(b"\0") for k in keys]
        matches = [known and self.regex.search(key) is not None for key, known in zip(keys, told, strict=True)]
        return np.array(matches, np.bool_), ~np.array(told, np.bool_)

    def batches(self, stop: Event) -> Iterator[Ints]:
        """Yield ascending entry ids that match, a block at a time, until done or stopped."""
        blocks = self.snapshot.blocks
        ends = np.append(blocks.first, self.snapshot.length)[1:]
        b = max(0, int(np.searchsorted(blocks.first, self.start, "right")) - 1) if self.start else 0
        for first, end, source, base, size in zip(
            blocks.first[b:].tolist(), ends[b:].tolist(), blocks.source[b:].tolist(),
            blocks.base[b:].tolist(), blocks.size[b:].tolist(), strict=True,
        ):  # fmt: skip
            if stop.is_set():
                return
            if base < 0 or (self.allowed is not None and not self.allowed[first:end].any()):
                continue
            found = self._of_block(first, end, source, base, size, stop)
            found = found[found >= self.start]
            if self.allowed is not None:
                found = found[self.allowed[found]]
            if len(found):
                yield found

    def _of_block(self, first: int, end: int, source: int, base: int, size: int, stop: Event) -> Ints:
        """Return the entries of a block that match."""
        sure = np.empty(0, np.int64)
        doubtful: Bits | None = None
        if self._by_plan is not None:
            matches, unsure = self._by_plan
            plan = self.snapshot.plan[first:end]
            doubtful = unsure[plan] | ((self.snapshot.flags[first:end] & _UNLIKE_KEY) != 0)
            sure = first + np.flatnonzero(matches[plan] & ~doubtful)
            if not doubtful.any():
                return sure
        try:
            data = self.snapshot.sources[source].pread(base, size)
        except SourceError:
            return sure  # its text is gone; the columns still stand
        found = self._in_text(data, first, end, stop)
        return found if doubtful is None else np.union1d(sure, found[doubtful[found - first]])

    def _in_text(self, data: bytes, first: int, end: int, stop: Event) -> Ints:
        offsets = self.snapshot.columns["offset"][first:end].astype(np.int64)
        hits = np.array(self._scan(data, offsets, stop), np.int64)
        entries = np.unique(first + np.searchsorted(offsets, hits, "right") - 1)
        odd = np.flatnonzero(self.snapshot.flags[first:end] & Flag.ODD)
        return self._with_odd(data, offsets, entries, odd, first) if len(odd) else entries

    # ways through the text of a block: each returns offsets, at least one in every entry that matches

    def _scanner(self) -> Callable[[bytes, Ints, Event], list[int]]:
        literal = plain_literal(self.regex)
        if literal:
            folded = bool(self.regex.flags & re.IGNORECASE)
            return lambda data, offsets, stop: _finds(data.lower() if folded else data, literal, offsets, stop)
        needed = needed_literals(self.regex)
        if 0 < len(needed) <= MOST_FINDS and min(map(len, needed)) >= 3:
            return lambda data, offsets, stop: self._near(data, needed, offsets, stop)
        return self._everywhere

    def _near(self, data: bytes, needed: tuple[bytes, ...], offsets: Ints, stop: Event) -> list[int]:
        """Try the regex on entries that hold a text every match needs."""
        lowered = data.lower()
        at = np.unique([hit for text in needed for hit in _finds(lowered, text, offsets, stop)]).astype(np.int64)
        entries = np.unique(np.searchsorted(offsets, at, "right") - 1)
        begins = offsets[entries].tolist()
        ends = np.append(offsets, len(data) + 1)[entries + 1].tolist()
        search = self.regex.search
        return [a for a, b in zip(begins, ends, strict=True) if search(data, a, _line_end(data, b)) is not None]

    def _everywhere(self, data: bytes, offsets: Ints, stop: Event) -> list[int]:
        """Run the regex over the block; a match that crosses the end of its line does not count."""
        hits: list[int] = []
        at, search = 0, self.regex.search
        while (match := search(data, at)) is not None:
            begin = match.start()
            if begin == len(data) and data.endswith(b"\n"):
                break  # behind the last line
            newline = data.find(b"\n", begin)
            if newline < 0:
                newline = len(data)
            if match.end() > newline and match.end() > begin and search(data, begin, newline) is None:
                at = newline + 1  # matched over the end of the line: \s, [^x]
                continue
            hits.append(begin)
            at = _next(offsets, begin, newline)
            if at > len(data) or (len(hits) % LOOKS == 0 and stop.is_set()):
                break
        return hits

    def _with_odd(self, data: bytes, offsets: Ints, found: Ints, odd: Ints, first: int) -> Ints:
        """Judge lines that hold controls by their text without them."""
        hits = []
        for k in odd.tolist():
            line = data[int(offsets[k]) : int(offsets[k + 1]) if k + 1 < len(offsets) else len(data)]
            if self.regex.search(ESCAPES.sub(b"", line).rstrip(b"\r\n")):
                hits.append(first + k)
        plain = found[~np.isin(found, odd + first)]
        return np.union1d(plain, np.array(hits, np.int64))


def _finds(data: bytes, literal: bytes, offsets: Ints, stop: Event) -> list[int]:
    """Return where a text stands, once for each line; several segments of a line are looked at one by one."""
    segments = len(offsets) > data.count(b"\n") + (not data.endswith(b"\n"))
    hits: list[int] = []
    find = data.find
    at = find(literal)
    while at >= 0:
        hits.append(at)
        newline = find(b"\n", at)
        if newline < 0:
            newline = len(data)
        at = find(literal, _next(offsets, at, newline) if segments else newline + 1)
        if len(hits) % LOOKS == 0 and stop.is_set():
            break
    return hits


def _next(offsets: Ints, begin: int, newline: int) -> int:
    """Return where the entry after the one that holds `begin` begins."""
    k = int(np.searchsorted(offsets, begin, "right"))
    return int(offsets[k]) if k < len(offsets) else newline + 1


def _line_end(data: bytes, end: int) -> int:
    """Return the end of an entry's text without its newline."""
    return end - 1 if end <= len(data) and data[end - 1 : end] == b"\n" else min(end, len(data))


def search(snapshot: Snapshot, pattern: str, start: int, stop: Event) -> Iterator[Ints]:
    """Yield the entries from `start` on that match a regex, a block at a time; raises re.error."""
    return Search(snapshot, pattern, start=start).batches(stop)
