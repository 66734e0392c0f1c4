"""What sets each line apart from those of other ranks: a column of kinds and one of scores, for the export."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import survey
from l4tui.engine.library.following import Following
from l4tui.engine.library.loading import load
from l4tui.engine.report.divergence import lines_of
from l4tui.engine.rows import RowBuilder
from l4tui.engine.snapshot import Snapshot

KINDS = ("extra", "missing", "value", "order", "late")


class Apart(NamedTuple):
    """The lines that show a difference, ascending; the most telling one of each."""

    entries: NDArray[np.int64]
    kind: NDArray[np.int8]  # index into KINDS
    score: NDArray[np.float64]

    def of(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each entry stands in this table; -1: nothing sets it apart."""
        if not len(self.entries):
            return np.full(len(entries), -1, np.int64)
        at = np.minimum(np.searchsorted(self.entries, entries), len(self.entries) - 1)
        return np.where(self.entries[at] == entries, at, -1)


def apart(snap: Snapshot) -> Apart:
    """Find the lines of a finished job that set ranks apart; costs its rows, some 300 ns a line."""
    table = RowBuilder().update(snap)
    told: dict[int, tuple[int, float]] = {}
    for d in survey(snap, table, follows=Following(load())).found:  # most telling first
        for entry in lines_of(snap, table, d):
            told.setdefault(entry, (KINDS.index(d.kind), d.score))
    entries = sorted(told)
    kinds, scores = [told[e][0] for e in entries], [told[e][1] for e in entries]
    return Apart(np.array(entries, np.int64), np.array(kinds, np.int8), np.array(scores, np.float64))
