"""Sets of ranks as people write them: ``0-7,!3,node:n12,attempt:1``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_RANGE = re.compile(r"(!?)(?:rank:)?(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_NAMED = re.compile(r"(!?)(node|kind|attempt(?=:\d{1,9}$)):(\S+)", re.ASCII)
KINDS = ("rank", "mixed", "launcher", "unknown")  # by Kind


class RankTable(Protocol):
    """What a snapshot tells of its speakers: one row each."""

    @property
    def rank(self) -> NDArray[np.int32]: ...
    @property
    def node(self) -> NDArray[np.int32]: ...
    @property
    def attempt(self) -> NDArray[np.int32]: ...
    @property
    def kind(self) -> NDArray[np.int8]: ...


@dataclass(frozen=True, slots=True)
class RankSet:
    """A parsed set: ranges, nodes and kinds are united, attempts restrict, what has ``!`` is taken away."""

    text: str
    ranges: tuple[tuple[bool, int, int], ...] = ()  # (taken away, first, last)
    nodes: tuple[tuple[bool, str], ...] = ()  # (taken away, name or glob)
    attempts: tuple[tuple[bool, int], ...] = ()
    kinds: tuple[tuple[bool, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> RankSet:
        """Parse the grammar; raise ValueError with the item that is wrong."""
        ranges: list[tuple[bool, int, int]] = []
        named: dict[str, list[tuple[bool, str]]] = {"node": [], "attempt": [], "kind": []}
        for item in re.split(r"[,\s]+", text.strip()):
            if match := _RANGE.fullmatch(item):
                low, high = int(match[2]), int(match[3] or match[2])
                if high < low:
                    raise ValueError(f"{item!r} runs backwards")
                ranges.append((bool(match[1]), low, high))
            elif match := _NAMED.fullmatch(item):
                named[match[2]].append((bool(match[1]), match[3]))
            else:
                raise ValueError(f"{item!r} is no rank, range, node:NAME or attempt:N")
        kinds = [(away, _kind(value)) for away, value in named["kind"]]
        attempts = [(away, int(value)) for away, value in named["attempt"]]
        return cls(text.strip(), tuple(ranges), tuple(named["node"]), tuple(attempts), tuple(kinds))

    @property
    def single(self) -> int | None:
        """The one rank this set names, if it names just one."""
        if len(self.ranges) == 1 and not (self.nodes or self.attempts or self.kinds):
            away, low, high = self.ranges[0]
            if not away and low == high:
                return low
        return None

    def select(self, ranks: RankTable, nodes: Sequence[str]) -> NDArray[np.bool_]:
        """Say for each speaker whether it is in the set; bool array of the table's length."""
        size = len(ranks.rank)
        some = np.zeros(size, np.bool_)
        gone = np.zeros(size, np.bool_)
        named = False
        for away, low, high in self.ranges:
            mask = (ranks.rank >= low) & (ranks.rank <= high)
            gone, some, named = (gone | mask, some, named) if away else (gone, some | mask, True)
        for away, name in self.nodes:
            ids = [i for i, node in enumerate(nodes) if node == name or fnmatchcase(node, name)]
            mask = np.isin(ranks.node, ids)
            gone, some, named = (gone | mask, some, named) if away else (gone, some | mask, True)
        for away, kind in self.kinds:
            mask = ranks.kind == kind
            gone, some, named = (gone | mask, some, named) if away else (gone, some | mask, True)
        if not named:
            some[:] = True
        wanted = [attempt for away, attempt in self.attempts if not away]
        if wanted:
            some &= np.isin(ranks.attempt, wanted)
        some &= ~np.isin(ranks.attempt, [attempt for away, attempt in self.attempts if away])
        return some & ~gone


def rank_items(text: str) -> list[str]:
    """Return the items of a set as they were written."""
    return [item for item in re.split(r"[,\s]+", text) if item]


def _kind(name: str) -> int:
    if name not in KINDS:
        raise ValueError(f"{name!r} is no kind: {', '.join(KINDS)}")
    return KINDS.index(name)
