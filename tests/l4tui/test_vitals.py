"""What the header says of a job: where it has got to by time, whichever source was merged last."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from l4tui import vitals
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.options import Options
from l4tui.engine.snapshot import Snapshot
from l4tui.vitals import Vitals, vitals_of

RANKS = 4


def read(path: Path) -> Snapshot:
    found = discover([str(path)])
    job = Job(found.choose(0).sources, Options(), found=found, follow=False)
    job.read_all()
    return job.snapshot()


def said(minute: int, second: int, text: str) -> str:
    return f"2026-03-01 12:{minute:02d}:{second:02d},000 INFO {text}\n"


def steps(minute: int, first: int, last: int) -> str:
    return "".join(said(minute, n - first, f"iteration {n}/1000 | loss: 2.{n}") for n in range(first, last + 1))


def test_the_rank_that_prints_iterations_says_how_far_the_job_is(tmp_path: Path) -> None:
    """Others go on talking after it, in the last iteration that they were told of."""
    lines = [f"{rank}: {said(0, 0, 'iteration 2/1000 | loss: 2.5')}" for rank in range(RANKS)]
    for n in (3, 4):
        lines.append(f"3: {said(n, 0, f'iteration {n}/1000 | loss: 2.5')}")
        lines += [f"{rank}: {said(n, k, f'comm op all_gather {k}')}" for k in range(1, 9) for rank in (1, 0, 2)]
    (tmp_path / "job.log").write_text("".join(lines))
    assert vitals_of(read(tmp_path)).iteration == 4


def test_the_file_that_is_merged_last_does_not_decide(tmp_path: Path) -> None:
    for rank, last in enumerate((12, 12, 11, 7)):
        (tmp_path / f"rank_{rank}.log").write_text(steps(0, 1, last))
    assert vitals_of(read(tmp_path)).iteration == 12


@pytest.mark.parametrize("again", [(7, 9), (7, 15)])
def test_after_a_restart_its_iterations_count(tmp_path: Path, again: tuple[int, int]) -> None:
    agent = "[torch.distributed.elastic] Worker group FAILED. 2/3 attempts left; will restart worker group"
    for rank in range(RANKS):
        prefix = f"[default{rank}]:"
        first, second = steps(0, 1, 12), steps(5, *again)
        text = "".join(f"{prefix}{line}\n" for line in first.splitlines())
        text += said(2, 0, agent) + "".join(f"{prefix}{line}\n" for line in second.splitlines())
        (tmp_path / f"node_{rank}.log").write_text(text)
    assert vitals_of(read(tmp_path)).iteration == again[1]


def test_a_file_of_an_earlier_run_does_not_count(tmp_path: Path) -> None:
    for name, minute, first, last in (("job.log", 9, 4, 6), ("job.log.1", 0, 1, 12)):
        own = steps(minute, first, last).splitlines()
        (tmp_path / name).write_text("".join(f"[default{rank}]:{line}\n" for line in own for rank in range(RANKS)))
    snapshot = read(tmp_path)
    assert len(snapshot.sources) == 2 and vitals_of(snapshot).iteration == 6


def test_a_source_may_end_before_the_time_that_it_begins_with(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.log").write_text(steps(9, 1, 3) + steps(0, 4, 6))
    assert vitals_of(read(tmp_path)).iteration == 6


def test_a_bad_end_is_that_of_the_latest_lines(tmp_path: Path) -> None:
    end = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: x\n'
    (tmp_path / "rank_0.log").write_text(steps(0, 1, 12) + said(9, 0, "saving checkpoint") + end)
    for rank in range(1, RANKS):
        (tmp_path / f"rank_{rank}.log").write_text(steps(0, 1, 12) + steps(1, 13, 50) * 20)
    assert vitals_of(read(tmp_path)).ends_badly


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vitals, "TAIL", 40)
    monkeypatch.setattr(vitals, "LEAST", 3)


@pytest.mark.usefixtures("brief")
def test_the_ends_of_all_sources_are_looked_at_and_no_more(tmp_path: Path) -> None:
    for rank in range(RANKS):
        (tmp_path / f"rank_{rank}.log").write_text(steps(0, 1, 5 if rank == 2 else 50))
    snapshot = read(tmp_path)
    ends = vitals._ends(snapshot)
    assert ends is not None and (np.diff(ends) > 0).all()
    source = snapshot.source_of(ends)
    assert sorted(np.bincount(source).tolist()) == [5, 10, 10, 10]
    for one in range(RANKS):
        everything = np.flatnonzero(snapshot.source_of(np.arange(snapshot.length)) == one)
        assert ends[source == one].tolist() == everything[-10:].tolist()
    assert vitals_of(snapshot).iteration == 50


def test_nothing_is_known_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("no time, no iteration, no rank\n" * 3)
    assert vitals_of(read(tmp_path)) == Vitals(heard=0)
