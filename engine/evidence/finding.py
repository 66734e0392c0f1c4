"""What a module of evidence says about one rank or node."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from l4tui.engine.model import UNKNOWN

STATISTICS = frozenset(("spatial", "temporal", "error_time", "error_count", "setting"))  # too light to list a rank


class Strength(IntEnum):
    """How much a finding weighs; a person can tell the three apart."""

    NONE = 0
    WEAK = 1
    STRONG = 2


class Place(NamedTuple):
    """A line of a file that is no log of the job: a table of a monitor."""

    path: str
    line: int  # from 1; 0: the file as a whole
    text: str  # what it shows


@dataclass(frozen=True, slots=True)
class Finding:
    """An accusation: kind, target, strength, a sentence and the rows that show it."""

    kind: str
    strength: Strength
    sentence: str
    rank: int = UNKNOWN
    node: str | None = None  # the target where rank is unknown
    rows: tuple[int, ...] = ()
    root: bool = False  # its rows are what started the failure, not only a trace of it
    iteration: int = UNKNOWN
    stage: str = ""
    cause: str = "unknown"
    actions: tuple[str, ...] = ()
    pattern: str = ""  # id of the library's entry, where one decided
    places: tuple[Place, ...] = ()  # what shows it beside the rows
