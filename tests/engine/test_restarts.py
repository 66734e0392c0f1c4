"""Restarts that are told by a number, and those that are not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine.keeping import restarts_of, restarts_row
from l4tui.engine.model import Speaker
from l4tui.engine.restarts import Restarts
from tests.engine.small_jobs import Growing, read, stamp

SPEAKERS = [Speaker(-1, local_rank=r) for r in range(2)]
CLOSING = b"Sending process 71 closing signal SIGTERM"
FAILED = b"failed (exitcode: -9) local_rank: 1 (pid: 72) of binary: /usr/bin/python"


def hello(rank: int, pid: int) -> bytes:
    return b"rank %d starts on n1, local rank %d, pid %d" % (rank, rank, pid)


def cuts(restarts: Restarts, lines: list[bytes | tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut a block of telling lines and of (voice, iteration)."""
    taught = [(i, line) for i, line in enumerate(lines) if isinstance(line, bytes)]
    mark = np.array([-1 if isinstance(line, bytes) else line[1] for line in lines])
    voice = np.array([0 if isinstance(line, bytes) else line[0] for line in lines])
    return restarts.cuts(taught, mark, voice, SPEAKERS)


def test_a_number_that_is_told() -> None:
    restarts = Restarts()
    assert cuts(restarts, [hello(0, 71), b"rank 0 starts on n1, local rank 0, pid 81, restart 1"]) == [(0, 0), (1, 1)]
    assert cuts(restarts, [b"rank 1 starts on n1, local rank 1, pid 82, restart 1"]) == [(0, 1)]


def test_another_process_after_the_agent_ended_the_first() -> None:
    restarts = Restarts()
    assert cuts(restarts, [hello(0, 71), hello(1, 72)]) == [(0, 0)]
    assert cuts(restarts, [CLOSING, FAILED, hello(1, 82), hello(0, 81)]) == [(0, 0), (2, 1)]
    assert restarts.pids == {0: 81, 1: 82}


def test_another_process_that_nobody_ended_is_of_another_host() -> None:
    assert cuts(Restarts(), [hello(0, 71), hello(0, 91)]) == [(0, 0)]


def test_iterations_that_fall_back_after_the_agent_ended_a_process() -> None:
    restarts = Restarts()
    assert cuts(restarts, [(0, 40), (1, 40), (0, 41), CLOSING, (1, 41), (0, 30), (1, 30)]) == [(0, 0), (5, 1)]
    assert cuts(restarts, [(0, 31), (1, 31)]) == [(0, 1)]


def test_iterations_that_fall_back_of_themselves_are_epochs() -> None:
    assert cuts(Restarts(), [(0, 40), (0, 1), (0, 2)]) == [(0, 0)]


def test_each_stream_has_its_own_iterations() -> None:
    assert cuts(Restarts(), [(0, 41), CLOSING, (1, 40)]) == [(0, 0)]


OMP = b"Setting OMP_NUM_THREADS environment variable for each process to be 1 in default"
KILLED = b"srun: error: n1: task 1: Killed"
TABLE = b"  exitcode  : -9 (pid: 72)"
NCCL = b"comm 0x55d0 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 97000 - Init START"


@pytest.mark.parametrize(
    ("lines", "begins"),
    [
        ([OMP, (0, 4), TABLE, OMP, OMP, (0, 5)], [3]),  # torchrun in a loop; a second agent begins beside the first
        ([NCCL, KILLED, NCCL, NCCL], [2]),  # it fell before its first iteration
        ([(0, 4), (1, 4), KILLED, (0, 4), (0, 3)], [4]),
        ([hello(0, 71), (0, 4), KILLED, hello(0, 81)], [3]),
        ([(0, 4), KILLED, b"srun: job 12 has been allocated resources", OMP], [2]),
        ([OMP, (0, 4), OMP], []),  # another node's agent
        ([KILLED, OMP, OMP], []),  # what ended there did not run in this log
        ([OMP, (0, 4), CLOSING, b"1/3 attempts left; will restart worker group", CLOSING, NCCL, NCCL], [3]),
    ],
)
def test_a_job_that_is_launched_again(lines: list[bytes | tuple[int, int]], begins: list[int]) -> None:
    assert [entry for entry, _ in cuts(Restarts(), lines)[1:]] == begins


def test_any_cut_gives_the_same() -> None:
    lines = [(0, 40), (1, 40), CLOSING, (0, 30), FAILED, (1, 31), hello(1, 82), (1, 12), (1, 13), TABLE, OMP, NCCL]
    whole = cuts(Restarts(), lines)
    for k in range(len(lines)):
        restarts = Restarts()
        first = cuts(restarts, lines[:k])
        second = cuts(restarts_of(json.loads(json.dumps(restarts_row(restarts)))), lines[k:])  # as from a kept index
        assert first + [(entry + k, epoch) for entry, epoch in second[1:]] == whole


def attempt(begins: str, steps: range, at: float) -> list[str]:
    """Lines of one attempt: the launcher's, then ranks that build a model and count steps."""
    out = [begins]
    for r in range(4):
        out.append(f"{r}: {stamp(at + r / 10)} - INFO - model.py:10 - building model on device {r}")
        out.append(f"{r}: {stamp(at + 0.5 + r / 10)} - INFO - model.py:15 - weights are there")
    for step in steps:
        out += [
            f"{r}: {stamp(at + step + r / 10)} - INFO - train.py:20 - step {step}/99 | loss {9 - step / 9:.3f}"
            for r in range(4)
        ]
    return out


TWICE = [
    *attempt("[launcher] attempt 1/3 starting gang of 4 tasks", range(5, 12), 0),
    *attempt("[launcher] attempt 2/3 starting gang of 4 tasks", range(3, 6), 100),
]


@pytest.mark.parametrize("cut", [0, 33, 36, 37, 38, 44])
def test_what_a_new_attempt_says_before_its_first_step_is_in_no_iteration(tmp_path: Path, cut: int) -> None:
    if cut:
        growing = Growing(tmp_path)
        for part in (TWICE[:cut], TWICE[cut:]):
            growing.add("".join(f"{line}\n" for line in part))
        snap, skip = growing.job.snapshot(), 1
    else:
        snap, skip = read(tmp_path / "job.log", TWICE).snapshot(), 0
    first = skip + 9 + 4 * 7  # the launcher's second word
    attempts = snap.ranks.attempt[snap.speaker][skip:]
    assert attempts.tolist() == [0] * (first - skip) + [1] * (snap.length - first)
    assert snap.iteration[first : first + 9].tolist() == [-1] * 9
    assert snap.stage[first] != snap.stage[first - 1]
    assert snap.iteration[first + 9 :].tolist() == [step for step in (3, 4, 5) for _ in range(4)]


def run_of(pid: int, at: float) -> list[str]:
    """Lines of one launch of a job that loses task 1."""
    out = [f"{r}: rank {r} starts on n1, local rank {r}, pid {pid + r}" for r in range(4)]
    out += [f"{r}: {stamp(at + r / 10)} - INFO - model.py:15 - weights are there" for r in range(4)]
    for step in range(1, 6):
        out += [f"{r}: {stamp(at + step + r / 10)} - INFO - train.py:20 - step {step}/99 | loss 2.5" for r in range(4)]
    return [*out, "srun: error: n1: task 1: Killed"]


def test_a_loop_around_srun_makes_attempts(tmp_path: Path) -> None:
    one = run_of(100, 0)
    snap = read(tmp_path / "job.log", [*one, *run_of(200, 60), *run_of(300, 120)]).snapshot()
    attempts = snap.ranks.attempt[snap.speaker]
    assert attempts.tolist() == [n for n in range(3) for _ in one]
    assert (snap.iteration[len(one) : len(one) + 8] == -1).all()
    assert sorted(snap.counts().per_rank) == [0, 1, 2, 3]


def test_the_last_iteration_of_each_voice_is_kept_wherever_it_stands_in_the_list() -> None:
    voices = [Speaker(-1, local_rank=r) for r in range(500)]
    restarts = Restarts()
    for block in ([300, 301, 300], [299], [450, 20]):
        mark = np.arange(len(block)) + 10 * block[0]
        assert restarts.cuts([], mark, np.array(block), voices) == [(0, 0)]
    restarts.settle()
    assert {who.local_rank: number for who, number in restarts.marks.items()} == {
        300: 3002, 301: 3001, 299: 2990, 450: 4500, 20: 4501,
    }  # fmt: skip
