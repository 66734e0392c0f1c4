"""Time the diagnosis after indexing: `python -m tests.bench.diagnosis [RANKS EVENTS ITERATIONS]`.

The job is columns in memory: every rank writes two lines an iteration, thousands of other events are scattered over
ranks and iterations, one rank fails with a traceback and its peers time out. The budget is 10 s on one core for 1,024
ranks × 5,000 events × 2,000 iterations, scikit-learn's import among them.
"""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

import numpy as np

from l4tui.engine import stages
from l4tui.engine.diagnosis import diagnose
from l4tui.engine.evidence.record import Ints, Journal
from l4tui.engine.library import load
from l4tui.engine.model import Level, LineClass

SECOND = 10**9
STEP, BACKWARD, CLOSED, LOST = 0, 1, 2, 3  # events; the rest are chatter


class Size(NamedTuple):
    """How large a job."""

    ranks: int = 1024
    events: int = 5000
    iterations: int = 2000
    chatter: int = 400_000  # lines of the other events


def texts(events: int) -> list[str]:
    """Return the message of each event; names are words, since digits are masked."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    errors = ["RuntimeError: Connection closed by peer", "RuntimeError: ring lost"]
    fixed = ["step 5 of 9 loss 2.5", "backward done", *errors]
    names = (letters[n // 676 % 26] + letters[n // 26 % 26] + letters[n % 26] for n in range(events - len(fixed)))
    return [*fixed, *(f"worker note {name} seen" for name in names)]


def job(size: Size, culprit: int = 777, seed: int = 0) -> Journal:
    """Lay out the columns of a job in which `culprit` fails in the last iteration."""
    rng = np.random.default_rng(seed)
    grid = size.ranks * size.iterations
    iteration = np.repeat(np.arange(1, size.iterations + 1), size.ranks)
    rank = np.tile(np.arange(size.ranks), size.iterations)
    noise = rng.integers(1, size.iterations + 1, size.chatter)
    popular = 4 + (rng.pareto(1.0, size.chatter) * 20).astype(np.int64) % (size.events - 4)
    last = np.full(size.ranks + 40, size.iterations + 1)
    failing = np.r_[np.full(40, culprit), np.arange(size.ranks)]
    errors = np.where(failing == culprit, LOST, CLOSED)
    parts = {
        "iteration": np.r_[iteration, iteration, noise, last],
        "rank": np.r_[rank, rank, rng.integers(0, size.ranks, size.chatter), failing],
        "event": np.r_[np.full(grid, BACKWARD), np.full(grid, STEP), popular, errors],
        "late": np.r_[np.zeros(grid), np.full(grid, 0.8), rng.random(size.chatter), np.linspace(0, 0.9, len(last))],
    }
    order = np.lexsort((parts["late"], parts["iteration"]))
    return _journal(size, {name: column[order] for name, column in parts.items()})


def _journal(size: Size, parts: dict[str, Ints]) -> Journal:
    n = len(parts["rank"])
    event = parts["event"].astype(np.int64)
    words = texts(size.events)
    is_error = (event == CLOSED) | (event == LOST)
    nodes = tuple(f"n{i}" for i in range(-(-size.ranks // 8)))
    rows = np.arange(n)
    unknown = np.full(n, -1)
    return Journal(
        time=((parts["iteration"] + parts["late"]) * SECOND).astype(np.int64),
        rank=parts["rank"],
        local_rank=parts["rank"] % 8,
        node=parts["rank"] // 8,
        attempt=np.zeros(n, np.int64),
        iteration=parts["iteration"],
        marked=event == STEP,
        stage=np.full(n, stages.TRAIN),
        level=np.where(is_error, Level.ERROR, Level.INFO),
        event=event,
        site=unknown,
        shape=event,
        line_class=np.where(is_error, LineClass.RAISED, LineClass.HEAD),
        record=rows,
        source=np.zeros(n, np.int64),
        line=rows + 1,
        launcher=np.zeros(n, np.bool_),
        nodes=nodes,
        sources=("job.log",),
        stages=stages.NAMES,
        templates=[w.replace("5", "<*>").replace("9", "<*>") for w in words],
        sites=[],
        node_ranks={name: list(range(8 * i, min(8 * i + 8, size.ranks))) for i, name in enumerate(nodes)},
        world_size=size.ranks,
        read=lambda wanted: [words[int(event[r])] for r in wanted],
    )


def main(argv: list[str]) -> int:
    """Print a table of what each ranker costs."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    size = Size(*map(int, argv)) if argv else Size()
    journal = job(size)
    library = load()
    print(f"{size.ranks} ranks × {size.events} events × {size.iterations} iterations, {len(journal):,} lines, one core")
    for ranker in ("l4", "blame"):
        began, used = time.perf_counter(), time.process_time()
        found = diagnose(journal, library, ranker=ranker)
        places = found.case.l4.degrees()
        wall, cpu = time.perf_counter() - began, time.process_time() - used
        odd = [o.iteration for o in found.case.l4.temporal.flagged]
        print(
            f"{ranker:<6} {wall:6.2f} s  {cpu:6.2f} s CPU  accused {found.blame.accused[:3]}  rank 777 is L4's"
            f" #{places.get(777, (0,))[0]}  {len(odd)} odd iterations, last {odd[-1:]}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
