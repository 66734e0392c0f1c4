"""The end of a large job is there before the rest, and gives way to it."""

from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import preview
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job, Options


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for node in range(2):
        lines = [f"[rank{node * 4 + k % 4}]: step {k:06d} of 5000 took 0.5 s" for k in range(20_000)]
        (tmp_path / f"node-{node}.log").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(preview, "FROM", 1)
    monkeypatch.setattr(preview, "SHARE", 1)
    monkeypatch.setattr(preview, "LEAST", 50_000)
    monkeypatch.setattr(preview, "HEAD", 10_000)
    return tmp_path


def test_tails_come_first_and_the_whole_after_them(folder):
    job = Job(discover([str(folder)]).choose(0).sources, Options(tail_first=True))
    seen = []
    job.read_all(progress=lambda done, total: seen.append((done, job.snapshot())))
    early = seen[0][1]
    assert seen[0][0] == 0
    assert not early.is_complete
    assert early.generation == 0
    assert 0 < early.length < 10_000
    assert early.text(early.length - 1) == "step 019999 of 5000 took 0.5 s"
    assert early.place(early.length - 1)[:2] == (1, 20_000)  # an estimate: all lines are of one length here
    assert set(np.unique(early.rank()).tolist()) == set(range(8))
    assert all(snap is early for _, snap in seen)
    whole = job.snapshot()
    assert whole.is_complete
    assert whole.generation == 1
    assert whole.counts().lines == 40_000


def test_small_jobs_have_no_preview(tmp_path):
    (tmp_path / "job.log").write_text("[rank0]: one\n" * 100)
    job = Job(discover([str(tmp_path)]).choose(0).sources, Options(tail_first=True))
    job.read_all()
    assert job.snapshot().generation == 0
