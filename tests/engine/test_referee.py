"""The judging process: the same opinion as here, ended at once, an error told in words; entries of a condensed job."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import appraisal
from l4tui.engine.appraisal import appraise
from l4tui.engine.condensed import entries_that_matter
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.library import load
from l4tui.engine.referee import Manner, Referee, RefereeError
from l4tui.engine.snapshot import Snapshot

STEPS = 30


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Four ranks, of which rank 2 raises in iteration 30; iteration 20 has a line of its own."""
    lines = []
    for step in range(1, STEPS + 1):
        for rank in range(4):
            lines.append(f"[rank{rank}]: 2026-01-02 03:04:{step:02d},000 INFO step {step}/40 loss 2.5{rank}")
        if step == 20:
            lines.append("[rank1]: 2026-01-02 03:04:20,500 INFO defragmenting the allocator, this takes a while")
    lines += ["[rank2]: Traceback (most recent call last):", '[rank2]:   File "/x/train.py", line 7, in fit']
    lines += ["[rank2]: KeyError: 'tokens'"]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    out = Job(discover([str(tmp_path / "job.log")]).jobs[0].sources)
    out.read_all()
    return out


def referee_of(job: Job) -> Referee:
    return Referee(lambda: Manner([r.dialect for r in job.readers], job.options.formats))


def test_an_opinion_is_numbered_by_entries_and_quotes_lines(job: Job) -> None:
    snap = job.snapshot()
    found = appraise(snap, load())
    assert found.accused == (2,) and found.ranks[0].rank == 2 and found.verdict.scope == "ranks"
    assert "KeyError" in snap.text(found.entry) and "KeyError" in found.quotes[found.entry][1]
    table = found.iterations
    assert table.number.tolist()[:3] == [1, 2, 3] and np.nanmedian(table.seconds) == 1.0
    assert all(int(snap.iteration[e]) == n for e, n in zip(table.entry.tolist(), table.number.tolist(), strict=True))


def test_the_process_says_the_same_again_and_again(job: Job) -> None:
    snap, referee = job.snapshot(), referee_of(job)
    try:
        here = appraise(snap, load())
        for _ in range(2):
            there = referee.judge(snap)
            assert there is not None and there.verdict == here.verdict and there.ranks == here.ranks
    finally:
        referee.close()
    assert referee.judge(snap) is None


def test_closing_ends_a_judgement_at_once(job: Job) -> None:
    snap, referee = job.snapshot(), referee_of(job)
    answers: list[object] = []
    waiting = threading.Thread(target=lambda: answers.append(referee.judge(snap)))
    waiting.start()
    time.sleep(0.2)
    began = time.monotonic()
    referee.close()
    waiting.join(5)
    assert answers == [None] and time.monotonic() - began < 2


def test_what_goes_wrong_there_is_told_here(job: Job) -> None:
    referee = referee_of(job)
    broken: Snapshot = replace(job.snapshot(), templates=())
    try:
        with pytest.raises(RefereeError, match="Error"):
            referee.judge(broken)
        assert referee.judge(job.snapshot()) is not None
    finally:
        referee.close()


def test_a_condensed_job_keeps_the_numbers_of_the_whole(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    snap = job.snapshot()
    few = entries_that_matter(snap, 1)
    assert few is not None
    few[0:8] = False  # what is left out shifts all that follows
    few[snap.record[few]] = True
    monkeypatch.setattr(appraisal, "entries_that_matter", lambda snap: few)
    found = appraise(snap, load())
    assert found.judged < found.whole == snap.length and "KeyError" in snap.text(found.entry)
