"""The machine itself confirms: Xid, ECC, port events, kernel messages on the suspect's own node."""

from __future__ import annotations

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN

KIND = "hardware"


def judge(case: Case) -> list[Finding]:
    """Accuse the writer of a device error, and the node of a kernel's message."""
    out: dict[tuple[str, int, str | None], Finding] = {}
    for s in case.roles(Role.INITIATING):
        p = s.pattern
        if not p.hardware or case.completed:
            continue
        rank, node = s.rank, None
        if p.blames is Blames.NODE:
            rank = next(iter(case.subjects(s)), UNKNOWN)
            named = s.groups.get("node", s.groups.get("node2", s.groups.get("host")))
            node = case.homes.address.get(named or "", named) or case.node_at(s.row)
        if rank < 0 and node is None:
            node = case.node_at(s.row)
        key = (p.id, rank, None if rank >= 0 else node)
        if rank < 0 and node is None:
            continue
        where = f"rank {rank}" if rank >= 0 else str(node)
        iteration = case.iteration_at(rank, s.row)
        if iteration < 0 and rank >= 0:
            iteration = case.iteration_of(rank)
        rows = (*out[key].rows, s.row) if key in out else (s.row,)
        out[key] = Finding(
            KIND,
            Strength.STRONG if p.strong else Strength.WEAK,
            f"{where}: {p.meaning}",
            rank,
            key[2],
            rows,
            True,
            iteration,
            p.stage,
            p.cause,
            p.actions,
        )
    return list(out.values())
