"""How often each rank or node wrote each event or call site, and who is far from what is usual."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import Kind
from l4tui.engine.snapshot import Snapshot

STEPS = (0.5, 1.0, 2.0)  # |log2| of the ratio to the usual count: slight, clear, far
FEW = 3  # counts that differ by less than this from the usual one are no deviation

Ints = NDArray[np.int64]


class By(StrEnum):
    """What rows are."""

    EVENT = "event"
    SITE = "site"


class Matrix(NamedTuple):
    """Counts: things × ranks (or nodes)."""

    things: Ints  # event or site ids
    columns: Ints  # ranks, or node ids
    counts: NDArray[np.int64]  # (things, columns)
    usual: NDArray[np.float64]  # per thing: median over the columns
    deviation: NDArray[np.int8]  # −3 … 3: far less … far more than usual


class Counting:
    """Follows snapshots of one job and counts by speaker; ranks are found when a matrix is asked for."""

    def __init__(self) -> None:
        self._generation = -1
        self._start_anew()

    def _start_anew(self) -> None:
        self._seen = 0
        self._keys = {by: np.zeros(0, np.int64) for by in By}
        self._counts = {by: np.zeros(0, np.int64) for by in By}

    def update(self, snap: Snapshot) -> None:
        """Count what is new."""
        if snap.generation != self._generation or snap.length < self._seen:
            self._generation = snap.generation
            self._start_anew()
        plan, speaker = snap.plan[self._seen : snap.length], snap.speaker[self._seen : snap.length]
        self._seen = snap.length
        if not len(plan):
            return
        pairs, many = np.unique(plan.astype(np.int64) << 32 | speaker, return_counts=True)
        who = pairs & 0xFFFFFFFF
        for by, column in ((By.EVENT, snap.plans.event), (By.SITE, snap.plans.site)):
            thing = column[pairs >> 32].astype(np.int64)
            told = thing >= 0
            keys = np.concatenate((self._keys[by], thing[told] << 32 | who[told]))
            counts = np.concatenate((self._counts[by], many[told]))
            self._keys[by], place = np.unique(keys, return_inverse=True)
            self._counts[by] = np.bincount(place, counts, len(self._keys[by])).astype(np.int64)

    def matrix(self, snap: Snapshot, by: By, nodes: bool = False) -> Matrix:
        """Return the counts by rank, or by node, with how far each is from the usual one."""
        thing, speaker = self._keys[by] >> 32, self._keys[by] & 0xFFFFFFFF
        of_speaker = snap.ranks.node if nodes else snap.ranks.rank
        column = np.where(snap.ranks.kind == Kind.RANK, of_speaker, -1)[speaker]
        told = column >= 0
        things, row = np.unique(thing[told], return_inverse=True)
        columns, at = np.unique(column[told], return_inverse=True)
        size = len(things) * len(columns)
        flat = np.bincount(row * len(columns) + at, self._counts[by][told], size) if size else np.zeros(0)
        counts = flat.reshape(len(things), len(columns)).astype(np.int64)
        usual = np.median(counts, axis=1) if size else np.zeros(len(things))
        return Matrix(things, columns.astype(np.int64), counts, usual, deviation(counts, usual))


def deviation(counts: NDArray[np.int64], usual: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return in steps from −3 to 3 how far counts are from the usual ones (a value per row)."""
    ratio = np.log2((counts + 1) / (usual[:, None] + 1))
    steps = np.searchsorted(STEPS, np.abs(ratio), "right")
    steps[np.abs(counts - usual[:, None]) < FEW] = 0
    return (np.sign(ratio) * steps).astype(np.int8)


class State(StrEnum):
    """What a rank does, for the grid."""

    WITH = "with"
    BEHIND = "behind"
    AHEAD = "ahead"
    SILENT = "silent"


def states(rank: Ints, iteration: Ints, silent: tuple[int, ...]) -> list[State]:
    """Return each rank's state: silent, else by its iteration against that of most."""
    told = iteration[iteration >= 0]
    usual = int(np.median(told)) if len(told) else -1
    out = []
    for number, at in zip(rank.tolist(), iteration.tolist(), strict=True):
        if number in silent:
            out.append(State.SILENT)
        elif at < 0 or abs(at - usual) <= 1:
            out.append(State.WITH)
        else:
            out.append(State.BEHIND if at < usual else State.AHEAD)
    return out
