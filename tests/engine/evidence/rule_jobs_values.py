"""More small jobs for rules of evidence: values that leave those of the peers, silence before a collective."""

from __future__ import annotations

from l4tui.engine.evidence.record import Said
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import SECOND, closed, said, steps


def outlying(which: int, who: int, world: int, step: int) -> list[Said]:
    """One rank's value grows to several times that of its peers and stays there."""
    label, usual, odd = (("loss", 2.5, 9.1), ("grad_norm", 0.4, 31.0), ("mem_gib", 40.0, 77.0))[which]
    lines = []
    for n in range(1, step + 30):
        for r in range(world):
            value = odd if r == who and n > step + 6 else usual + 0.01 * ((n * 7 + r * 3) % 5)
            lines.append(said(r, f"step {n} | {label} {value:.3f} | lr 0.1", n, marked=True))
    return [*lines, *closed(0 if who else 1, step + 30)]


def silent_before(which: int, who: int, world: int, step: int) -> list[Said]:
    """All report a time-out, the silent one too; its own last line is older than the collective that timed out."""
    timeout = (600_000, 1_800_000, 240_000)[which]
    end = step + 16
    lines = [x for x in steps(range(world), end) if x.rank != who or x.iteration <= step + 3 + which]
    at = (1_800_000_000 + end) * SECOND + timeout * 10**6
    for r in range(world):
        work = (
            f"WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)={timeout}) ran for {timeout + 9}"
        )
        text = f"[Rank {r}] Watchdog caught collective operation timeout: {work} milliseconds before timing out."
        lines.append(said(r, text, end, level=Level.ERROR, time=at))
    return lines
