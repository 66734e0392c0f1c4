"""Opinions on the fake job, as the judge would have them."""

from __future__ import annotations

import numpy as np

from l4tui.engine.opinion import Iterations, Oddity, Opinion, Reason, Seen, Suspect
from l4tui.engine.verdict import Verdict
from l4tui.judge import Ruling, ruling_of

NAMED = "the desync report names rank 3"
HOSTILE = "[red]died[/] \x1b[2J \u202e of \udcff hunger"


def iterations_of(count: int, odd: tuple[int, ...] = (12,), lines: int = 40) -> Iterations:
    """Iterations of the fake job: 2 s each, the odd ones 9 s."""
    number = np.arange(1, count + 1)
    seconds = np.where(np.isin(number, odd), 9.0, 2.0)
    told = {
        int(n) - 1: Oddity("slow", f"iteration {n} took much longer than others (9.0 deviations)", 9.0, (3,), ())
        for n in odd
    }
    return Iterations(np.zeros(count, np.int64), number, seconds, np.where(seconds > 2, 9.0, 0.1), number * lines, told)


def opinion(scope: str = "ranks", **changes: object) -> Opinion:
    """Rank 3 is named and fell silent; the statistics find rank 5 odder."""
    reasons = (
        Reason(14.0, "explicit_blame", NAMED, (799, 803)),
        Reason(9.0, "silence", f"rank 3 {HOSTILE}", (643,)),
        Reason(0.0, "straggler", "rank 3 was late before", ()),
    )
    other = Reason(0.0, "spatial", "rank 5 writes other events than its peers: 4 × “saved”", (85,))
    ranks = (
        Suspect(3, "n0", 23.0, 0.995, 2, 0.61, reasons, (6,), 12),
        Suspect(5, "n1", 0.0, 0.0, 1, 0.74, (other,), (), 20),
    )
    nodes = (Suspect(-1, "n0", 23.0, 0.995, 1, 0.61, reasons), Suspect(-1, "n1", 0.0, 0.0, 2, 0.2))
    events = (
        Seen(4, "initiating", "RuntimeError: <*>", 2, (3,), "train", 12, (799, 803), "c10d.desync-report",
             "the desync report names ranks", "desync", ("look at its last line",), "A6"),
        Seen(3, "cascade", "slow batch <*>", 9, tuple(range(8)), "train", 13, (820,)),
        Seen(2, "teardown", "checkpoint saved to <*>", 40, (), "teardown", -1, (900,)),
    )  # fmt: skip
    found = {
        "version": 0, "outcome": "failed", "attempt": 0, "attempts": (0,), "accused": (3,), "ranks": ranks,
        "nodes": nodes, "job": (), "events": events, "iterations": iterations_of(24), "entry": 799,
        "verdict": Verdict(f"rank 3 on n0 in train, iteration 12: {NAMED}.", "desync", "train", 12, scope, 0.93,
                           ("drain n0",)),
        "quotes": {799: ("job.log:800", "RuntimeError: desync"), 643: ("job.log:644", HOSTILE)}, "judged": 1000,
    }  # fmt: skip
    return Opinion(**(found | changes))  # type: ignore[arg-type]


def nobody() -> Opinion:
    """A job that has nothing against anybody."""
    verdict = Verdict("The job completed; nothing accuses a rank.", "unknown", None, None, "none", 0.9, ())
    return opinion(outcome="completed", verdict=verdict, accused=(), ranks=(), nodes=(), events=(), entry=-1)


def whole_job() -> Opinion:
    """A fault of everybody."""
    verdict = Verdict("The whole job in init: 8 of 8 ranks raised.", "config", "init", None, "job", 0.9, ("fix it",))
    job = (Reason(0.0, "jobwide", "8 of 8 ranks raised", (799,)),)
    return opinion(verdict=verdict, accused=(), ranks=(), nodes=(), job=job)


def ruling(found: Opinion | None = None) -> Ruling:
    """What the screen is told."""
    return ruling_of(found or opinion())
