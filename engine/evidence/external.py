"""An outside detector's finding, given by the person who asks."""

from __future__ import annotations

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.model import NO_TIME, UNKNOWN, Level

KIND = "external"
NEAR = 60 * 10**9  # ns around the given time whose lines are shown
SHOWN = 8  # rows


def judge(case: Case) -> list[Finding]:
    """Accuse whom the detector names, with the lines it wrote around that time."""
    out = []
    for s in case.suspicions:
        ranks = [s.rank] if s.rank >= 0 else case.on_node(s.node or "")
        rows = _near(case, ranks, s.time)
        iteration = int(case.journal.iteration[rows[-1]]) if rows else UNKNOWN
        where = f"rank {s.rank}" if s.rank >= 0 else f"node {s.node}"
        out.append(
            Finding(
                KIND,
                Strength.STRONG,
                f"an outside detector names {where}",
                s.rank,
                s.node if s.rank < 0 else None,
                rows,
                False,
                iteration,
            )
        )
    return out


def _near(case: Case, ranks: list[int], time: int) -> tuple[int, ...]:
    j = case.journal
    mine = case.mask & np.isin(j.rank, ranks)
    if time != NO_TIME:
        mine &= np.abs(j.clock - time) <= NEAR
    loud = np.flatnonzero(mine & (j.level >= Level.WARNING))
    rows = loud if len(loud) else np.flatnonzero(mine)
    return tuple(int(r) for r in rows[-SHOWN:])
