"""Silence, overdue iterations, gaps of collectives, counts by rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from l4tui.engine.iterations import Timeline
from l4tui.engine.matrix import By, Counting, State, deviation, states
from l4tui.engine.progress import Progress
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.stall import Pace, pace_of, silent_ranks
from tests.engine.small_jobs import Growing, read, stamp, trainer

SECOND = 10**9


def timeline_of(snap: Snapshot) -> Timeline:
    timeline = Timeline()
    timeline.update(snap, 0)
    return timeline


def without(lines: list[str], rank: int, after: int) -> list[str]:
    """Leave out what a rank says in the steps after one."""
    kept = []
    for line in lines:
        step = line.partition(" step ")[2].partition(" ")[0].partition("/")[0]
        if not (line.startswith(f"{rank}:") and step.isdigit() and int(step) > after):
            kept.append(line)
    return kept


def test_pace(tmp_path: Path) -> None:
    snap = read(tmp_path / "job.log", without(list(trainer(30)), 2, 20)).snapshot()
    ranks = Progress().update(snap)
    now = int(snap.clock.max())
    stall = pace_of(timeline_of(snap), ranks, now)
    assert (stall.pace, stall.iteration, stall.usual_ns, stall.silent_ranks) == (Pace.RUNNING, 31, SECOND, (2,))
    assert ranks.iteration.tolist() == [30, 30, 20, 30]
    assert states(ranks.rank, ranks.iteration, ()) == [State.WITH, State.WITH, State.BEHIND, State.WITH]
    assert pace_of(timeline_of(snap), ranks, now + 60 * SECOND).pace is Pace.SILENT


def test_iterations_overdue_while_lines_come(tmp_path: Path) -> None:
    lines = [*trainer(10), *(f"{r}: {stamp(40 + r)} - INFO - w.py:1 - waiting for peers" for r in range(4))]
    snap = read(tmp_path / "job.log", lines).snapshot()
    stall = pace_of(timeline_of(snap), Progress().update(snap), int(snap.clock.max()))
    assert stall.pace is Pace.OVERDUE
    assert stall.silent_ranks == ()


def test_progress_follows_and_the_first_to_fall_silent_comes_first(tmp_path: Path) -> None:
    lines = without(without(list(trainer(30)), 2, 12), 1, 8)
    growing = Growing(tmp_path)
    progress = Progress()
    for at in range(0, len(lines), 40):
        growing.add("".join(f"{line}\n" for line in lines[at : at + 40]))
        ranks = progress.update(growing.job.snapshot())
    assert silent_ranks(ranks, SECOND) == (1, 2)
    whole = read(tmp_path / "job.log").snapshot()
    assert [a.tolist() for a in ranks] == [a.tolist() for a in Progress().update(whole)]


def test_matrix_counts_and_deviates(tmp_path: Path) -> None:
    def odd(step: int, rank: int) -> list[str]:
        return ["WARNING - io.py:5 - slow read"] * (rank == 3)

    snap = read(tmp_path / "job.log", trainer(20, odd=odd)).snapshot()
    counting = Counting()
    counting.update(snap)
    sites = counting.matrix(snap, By.SITE)
    at = [snap.sites[i] for i in sites.things.tolist()].index("io.py:5")
    assert sites.columns.tolist() == [0, 1, 2, 3]
    assert sites.counts[at].tolist() == [0, 0, 0, 20]
    assert sites.deviation[at].tolist() == [0, 0, 0, 3]
    events = counting.matrix(snap, By.EVENT)
    assert events.counts.sum() == snap.length
    assert deviation(np.array([[10, 10, 2]]), np.array([10.0])).tolist() == [[0, 0, -2]]
