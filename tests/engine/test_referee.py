"""The process that judges: same opinion as here, large jobs condensed, and an end whenever its owner ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from l4tui.engine import condensed
from l4tui.engine.appraisal import appraise
from l4tui.engine.job import Job
from l4tui.engine.library import load
from l4tui.engine.referee import Manner, Referee
from tests.engine.small_jobs import read, stamp, trainer

OWNER = """
import sys, threading
from tests.engine.test_referee import referee_of
from tests.engine.small_jobs import read
from pathlib import Path

if __name__ == "__main__":
    job = read(Path(sys.argv[1]))
    referee = referee_of(job)
    assert referee.judge(job.snapshot()) is not None
    print(referee._process.pid, flush=True)
    threading.Event().wait()
"""


def referee_of(job: Job) -> Referee:
    return Referee(lambda: Manner([r.dialect for r in job.readers], job.options.formats))


def crashed(ranks: int) -> list[str]:
    """Write a job of 60 steps that ends with an error of rank 2 in step 40."""
    whole = list(trainer(60, ranks))
    before = whole[: next(n for n, line in enumerate(whole) if " step 41" in line)]
    error = "CUDA error: an illegal memory access was encountered"
    return [
        *before,
        f"2: {stamp(41)} - ERROR - train.py:30 - training failed",
        "2: Traceback (most recent call last):",
        '2:   File "train.py", line 30, in step',
        f"2: RuntimeError: {error}",
    ]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def started(referee: Referee) -> int:
    """Wait for the process of a referee; gives its pid."""
    until = time.monotonic() + 30
    while referee._process is None and time.monotonic() < until:
        time.sleep(0.001)
    assert referee._process is not None and referee._process.pid is not None
    return referee._process.pid


def test_the_opinion_is_that_of_this_process(tmp_path: Path) -> None:
    job = read(tmp_path / "job.log", crashed(4))
    referee = referee_of(job)
    try:
        told = referee.judge(job.snapshot())
        own = appraise(job.snapshot(), load())
        assert told is not None
        assert (told.accused, told.entry, told.verdict) == (own.accused, own.entry, own.verdict)
        assert told.accused == (2,)
    finally:
        referee.close()


def test_a_very_large_job_is_condensed_and_its_entries_are_those_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = read(tmp_path / "job.log", crashed(8))
    snap = job.snapshot()
    whole = appraise(snap, load())
    for name, value in {"RARE": 10, "GRAVE": 10, "EDGE": 5, "STRETCH": 2}.items():
        monkeypatch.setattr(condensed, name, value)
    monkeypatch.setattr(condensed.entries_that_matter, "__defaults__", (200,))
    told = appraise(snap, load())
    assert told.judged < whole.judged == snap.length
    assert whole.accused == (2,)
    assert told.accused == (2,)
    assert "illegal memory access" in snap.text(told.entry)


def test_closing_waits_for_nothing(tmp_path: Path) -> None:
    job = read(tmp_path / "job.log", trainer(40))
    referee = referee_of(job)
    answers: list[object] = []
    asking = threading.Thread(target=lambda: answers.append(referee.judge(job.snapshot())), daemon=True)
    asking.start()
    os.kill(started(referee), signal.SIGSTOP)  # long before it has imported what judges: it cannot answer
    closing = threading.Thread(target=referee.close, daemon=True)
    closing.start()
    for thread in (closing, asking):
        thread.join(20)
        assert not thread.is_alive()
    assert answers == [None]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_the_process_ends_with_its_owner(tmp_path: Path) -> None:
    read(tmp_path / "job.log", trainer(20))
    command = [sys.executable, "-c", OWNER, str(tmp_path / "job.log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as owner:
        assert owner.stdout is not None
        child = int(owner.stdout.readline())
        assert lives(child)
        os.kill(child, signal.SIGSTOP)  # as if it were at a long judgement: the pipe is not what ends it
        owner.kill()
        owner.wait()
        os.kill(child, signal.SIGCONT)
        until = time.monotonic() + 30
        while lives(child) and time.monotonic() < until:
            time.sleep(0.02)
        assert not lives(child)
