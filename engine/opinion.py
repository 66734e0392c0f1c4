"""What a screen shows of a diagnosis: small, frozen, made of plain values, and numbered by the snapshot's entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.finding import Place
from l4tui.engine.model import UNKNOWN
from l4tui.engine.verdict import Verdict

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Reason(NamedTuple):
    """One term of a suspect's sum, with the lines that show it."""

    decibans: float  # 0: retells what a heavier reason says
    kind: str
    text: str
    entries: tuple[int, ...]
    places: tuple[Place, ...] = ()  # lines of files that are no logs


class Suspect(NamedTuple):
    """A rank (or a node, where `rank` is −1) in both rankings."""

    rank: int
    node: str
    decibans: float  # the sum by evidence; 0: nothing accuses it
    score: float  # the same as a number from 0 to 1
    l4_place: int  # 1 is the most anomalous by event counts; 0: not compared
    l4_degree: float
    reasons: tuple[Reason, ...] = ()
    peers: tuple[int, ...] = ()  # ranks that it names, or that name it
    iteration: int = UNKNOWN  # in which it wrote its last own line

    @property
    def name(self) -> str:
        """Name it as people do."""
        return f"rank {self.rank}" if self.rank >= 0 else self.node


class Seen(NamedTuple):
    """An event that an engineer should read."""

    event: int
    role: str  # initiating cascade teardown
    template: str
    lines: int
    ranks: tuple[int, ...]
    stage: str
    iteration: int
    entries: tuple[int, ...]
    pattern: str = ""  # id of the failure pattern that matched
    meaning: str = ""
    cause: str = ""
    remedies: tuple[str, ...] = ()
    reference: str = ""
    is_own: bool = False  # the pattern is of the person's library


class Oddity(NamedTuple):
    """How a flagged iteration differs."""

    kind: str
    text: str
    score: float
    ranks: tuple[int, ...]
    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Iterations:
    """All iterations of all attempts, a row each, in the order of attempt and number."""

    attempt: Ints
    number: Ints
    seconds: Floats  # NaN: unknown
    deviations: Floats  # of the DTW distance above the middle
    entry: Ints  # first line
    odd: Mapping[int, Oddity]  # row → how it differs

    def __len__(self) -> int:
        return len(self.number)


def no_iterations() -> Iterations:
    """Return none."""
    none, never = np.empty(0, np.int64), np.empty(0)
    return Iterations(none, none, never, never, none, {})


@dataclass(frozen=True, slots=True)
class Opinion:
    """Everything that header and panes say of a snapshot's job."""

    version: int  # of the snapshot
    outcome: str
    verdict: Verdict
    attempt: int  # that is told of
    attempts: tuple[int, ...]
    accused: tuple[int, ...]
    ranks: tuple[Suspect, ...]  # by evidence, best first; then by the statistical ranking
    nodes: tuple[Suspect, ...]
    job: tuple[Reason, ...]  # what befell everybody
    events: tuple[Seen, ...]
    iterations: Iterations
    entry: int = UNKNOWN  # the line that the verdict rests on
    quotes: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # entry → (place, text)
    judged: int = 0  # entries that were looked at
    whole: int = 0  # entries there were
