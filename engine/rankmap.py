"""Rank maps: what a person tells of who is where, in a file."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from l4tui.engine.facts import expand
from l4tui.engine.model import UNKNOWN
from l4tui.engine.seats import host

_RANKS = re.compile(r"\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*")


class RankMapError(ValueError):
    """A line of a rank map that cannot be read; the text names it."""


class RankMap(NamedTuple):
    """``node ranks`` and ``node local rank`` lines, and ``pattern = rank`` for sources by path or nodes by name."""

    places: dict[tuple[str, int], int]
    patterns: tuple[tuple[str, int], ...]

    def of_place(self, node: str | None, local: int) -> int:
        """Return the rank of a node's local rank, or of its only one; UNKNOWN where the map does not say."""
        if node is None:
            return UNKNOWN
        if local < 0 and (node, 1) not in self.places:
            local = 0
        return self.places.get((node, local), UNKNOWN)

    def of_name(self, *names: str | None) -> int:
        """Return the rank of the first pattern that one of the names matches."""
        for pattern, rank in self.patterns:
            if any(name and (fnmatchcase(name, pattern) or fnmatchcase(name, f"*/{pattern}")) for name in names):
                return rank
        return UNKNOWN


NO_MAP = RankMap({}, ())


def read_map(path: Path) -> RankMap:
    """Read a rank map; ``#`` starts a comment.

    Raises:
        RankMapError: a line is neither ``node ranks`` nor ``node local rank`` nor ``pattern = rank``.
        OSError: the file cannot be read.
    """
    places: dict[tuple[str, int], int] = {}
    patterns: list[tuple[str, int]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        pattern, sign, rank = (part.strip() for part in text.rpartition("="))
        words = text.split()
        if sign and pattern and _is_rank(rank):
            patterns.append((pattern, int(rank)))
        elif not sign and len(words) == 3 and _is_rank(words[1]) and _is_rank(words[2]):
            places[host(words[0]) or words[0], int(words[1])] = int(words[2])
        elif not sign and len(words) == 2 and _RANKS.fullmatch(words[1]) and (ranks := expand(words[1])):
            places |= {(host(words[0]) or words[0], local): rank for local, rank in enumerate(ranks)}
        else:
            forms = "'node ranks' nor 'node local rank' nor 'pattern = rank'"
            raise RankMapError(f"{path}:{number}: neither {forms}: {line.strip()!r}")
    return RankMap(places, tuple(patterns))


def _is_rank(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
