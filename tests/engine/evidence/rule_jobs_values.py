"""More small jobs for rules of evidence: values that leave those of the peers, silence before a collective."""

from __future__ import annotations

from l4tui.engine.evidence.record import Said
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import SECOND, closed, launcher, said, steps


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


def tabled(which: int, who: int, world: int, step: int) -> list[Said]:
    """One rank prints a table of all ranks' own times, whose row of one rank is long from some step on."""
    head, unit = (("  forward:", "ms"), ("Time of data loading", "s"), ("compute", " ms"))[which]
    lines = []
    for n in range(1, step + 12):
        lines += [said(0, f"step {n} loss 2.5", n, marked=True), said(0, head, n)]
        for r in range(world):
            value = 160.0 if r == who and n > step else 100 + (n * r) % 4
            lines.append(said(0, f"    Rank {r}: {value:.2f}{unit}", n))
    return lines


def short_of_steps(which: int, who: int, world: int, step: int) -> list[Said]:
    """Before training, one rank stays at its second line while all others go on and wait until the time is over."""
    says = (
        ("setup begins", "scanning the manifest", "setup ends", "loader built", "at the barrier"),
        ("model created", "restoring shard 3", "restored", "optimizer created", "waiting for peers"),
        ("mesh built", "compiling kernels", "compiled", "warm-up done", "ready"),
    )[which]
    lines = [said(r, says[0], stage="data") for r in range(world)] + [said(who, says[1], stage="data")]
    for text in says[2:]:
        lines += [said(r, text, stage="data") for r in range(world) if r != who]
    return [*lines, launcher("slurmstepd: error: *** STEP 1.0 ON n0 CANCELLED AT 2026-01-01 DUE TO TIME LIMIT ***")]
