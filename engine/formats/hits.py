"""Hits: where a format's pattern matched in a sample, and how the places lie."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

WINDOW = 40  # texts; a stretch counts as labelled when most of its texts have the prefix
RARE = 0.03  # a sure tag on fewer lines than this, never so many in a row, is somebody's text
RARE_IN_OWN = 0.2  # the same in a file whose name says that one rank writes it
ROW = 6
FEW_LINES = 50  # with fewer than this nothing is called rare
FEW_IN_OWN = 8


class Hits(NamedTuple):
    """Where one format's pattern matched in a sample."""

    at: list[int]  # which texts
    found: list[re.Match[bytes]]
    total: int  # texts in the sample

    def only(self, keep: Sequence[bool]) -> Hits:
        """Return the hits that are kept."""
        pairs = [(a, f) for a, f, kept in zip(self.at, self.found, keep, strict=True) if kept]
        return Hits([a for a, _ in pairs], [f for _, f in pairs], self.total)

    def texts(self, group: str | int = 1) -> list[str]:
        """Return what a group holds in each hit."""
        return [(match[group] or b"").decode("latin-1") for match in self.found]


class Hints(NamedTuple):
    """What other lines of the sample say of the launcher."""

    slurm: bool = False
    hosts: frozenset[str] = frozenset()  # named by pdsh's and clush's own lines
    pods: bool = False
    torch_ranks: bool = False
    hydra: bool = False  # its own text shows
    is_own: bool = False  # by its name the file is one rank's
    sure: Mapping[str, int] = {}  # hits of the sure formats


def is_concentrated(hits: Hits) -> bool:
    """Say whether the hits make up most of the lines where they occur at all."""
    if len(hits.at) < 3:
        return False
    windows = Counter(a // WINDOW for a in hits.at)
    last = (hits.total - 1) // WINDOW
    inside = 0
    for window, n in windows.items():
        size = WINDOW if window < last else hits.total - last * WINDOW
        if n >= 0.6 * size:
            inside += n
    return inside >= 0.7 * len(hits.at)


def is_rare(hits: Hits, hints: Hints) -> bool:
    """Say whether so few lines have a tag that it is somebody's text."""
    few, rare = (FEW_IN_OWN, RARE_IN_OWN) if hints.is_own else (FEW_LINES, RARE)
    if hits.total < few or len(hits.at) >= rare * hits.total:
        return False
    return _longest_run(hits.at) < ROW


def _longest_run(at: Sequence[int]) -> int:
    """Return the most hits in a row, up to one other line between two."""
    longest = run = 1
    for a, b in pairwise(at):
        run = run + 1 if b - a <= 2 else 1
        longest = max(longest, run)
    return longest
