"""Find the library's patterns in a journal: once per shape, then in the lines of the shapes that may match."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.record import Journal
from l4tui.engine.library.loading import Library
from l4tui.engine.library.pattern import Pattern, zero_digits
from l4tui.engine.smallids import nth

LINES_PER_SHAPE = 4000  # of a flood the first lines count; later ones repeat them …
LINES_PER_RANK = 4  # … but of every rank some do, however many ranks there are
TOGETHER = 1000  # texts that are searched as one
SECONDS_PER_PATTERN = 1.0  # a person's pattern that takes longer is left out of the rest of the scan

_TRACEBACK = "Traceback (most recent call last):\\n"
_FIELD_END = re.compile(r'(?<!\\)"')


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a pattern matched; `groups` holds the groups that took part."""

    row: int
    pattern: Pattern
    groups: dict[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Scan:
    """All hits in row order, at most one per row, and the patterns that were too slow."""

    hits: tuple[Hit, ...]
    slow: tuple[str, ...] = ()


def scan(journal: Journal, library: Library, clock: Callable[[], float] = time.perf_counter) -> Scan:
    """Match the library against every shape and, where a key is present, against its lines."""
    wanted: dict[int, list[Pattern]] = {}
    shapes = list(journal.samples)
    for begin in range(0, len(shapes), TOGETHER):
        some = shapes[begin : begin + TOGETHER]
        found = _that_may_match([zero_digits(journal.samples[shape]) for shape in some], library.patterns)
        wanted.update((shape, patterns) for shape, patterns in zip(some, found, strict=True) if patterns)
    if not wanted:
        return Scan(())
    rows = _rows_of(journal, np.array(list(wanted), dtype=np.int64))
    spent: dict[str, float] = {}
    hits: list[Hit] = []
    for row, text in zip(rows.tolist(), journal.read(rows), strict=True):
        patterns = wanted[int(journal.shape[row])]
        raised = raised_in(text)
        hit = _first_match(row, raised, patterns, spent, clock) if raised else None
        hit = hit or _first_match(row, text, patterns, spent, clock)
        if hit is not None:
            hits.append(hit)
    return Scan(tuple(hits), tuple(name for name, seconds in spent.items() if seconds > SECONDS_PER_PATTERN))


def raised_in(text: str) -> str:
    """Return the exception of a traceback that stands in a field of a record, its line ends escaped; "" for none."""
    _, found, rest = text.rpartition(_TRACEBACK)
    if not found:
        return ""
    for line in _FIELD_END.split(rest, maxsplit=1)[0].split("\\n"):
        if line and not line.startswith((" ", "\\t")):
            return line.replace('\\"', '"')
    return ""


def _that_may_match(texts: Sequence[str], patterns: Sequence[Pattern]) -> list[list[Pattern]]:
    """Return of each text the patterns one of whose keys it holds: each key is looked for in all texts at once."""
    joined = "\0".join(texts)
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    found: list[set[int]] = [set() for _ in texts]
    for key, numbers in _by_key(patterns).items():
        at = joined.find(key)
        while at >= 0:
            which = bisect_right(starts, at) - 1
            found[which].update(numbers)
            at = joined.find(key, starts[which + 1])
    always = {number for number, pattern in enumerate(patterns) if not pattern.keys}
    return [[patterns[number] for number in sorted(numbers | always)] for numbers in found]


def _by_key(patterns: Sequence[Pattern]) -> dict[str, list[int]]:
    out: dict[str, list[int]] = {}
    for number, pattern in enumerate(patterns):
        for key in pattern.keys:
            out.setdefault(key, []).append(number)
    return out


def _rows_of(journal: Journal, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of the wanted shapes, ascending: the first of each, and the first of each of a rank."""
    rows = np.flatnonzero(np.isin(journal.shape, wanted))
    shape = journal.shape[rows].astype(np.int64)
    pair = shape * (int(journal.rank.max(initial=0)) + 2) + journal.rank[rows] + 1
    of_rank = (journal.rank[rows] >= 0) & (nth(pair) < LINES_PER_RANK)
    return rows[of_rank | (nth(shape) < LINES_PER_SHAPE)].astype(np.int64)


def _first_match(
    row: int, text: str, patterns: list[Pattern], spent: dict[str, float], clock: Callable[[], float]
) -> Hit | None:
    for pattern in patterns:
        if not pattern.user:
            match = pattern.search(text)
        elif spent.get(pattern.id, 0.0) > SECONDS_PER_PATTERN:
            continue
        else:
            match = _timed(pattern, text, spent, clock)
        if match is not None:
            return Hit(row, pattern, {k: v for k, v in match.groupdict().items() if v is not None}, text)
    return None


def _timed(pattern: Pattern, text: str, spent: dict[str, float], clock: Callable[[], float]) -> re.Match[str] | None:
    began = clock()
    match = pattern.search(text)
    spent[pattern.id] = spent.get(pattern.id, 0.0) + clock() - began
    return match
