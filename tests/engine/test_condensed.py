"""A condensed snapshot holds what matters, at its true places."""

from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import condensed
from l4tui.engine.condensed import condense, tally
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.model import Level
from l4tui.engine.snapshot import Snapshot


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    for rank in range(4):
        lines = []
        for step in range(2000):
            stamp = f"2026-03-01 10:{step // 60 % 60:02d}:{step % 60:02d},{rank:03d}"
            lines.append(f"{stamp} INFO train.py:9: iteration {step}/2000 | loss: 1.5")
            lines += [f"{stamp} DEBUG data.py:{k}: batch {step} took {k} ms" for k in range(4)]
            if step == 777 and rank == 2:
                lines.append(f"{stamp} ERROR net.py:5: link is down")
        lines += ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: no"]
        (tmp_path / f"rank-{rank}.log").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(condensed, "RARE", 50)
    monkeypatch.setattr(condensed, "CHUNK", 999)
    monkeypatch.setattr(condensed, "EDGE", 20)
    job = Job(discover([str(tmp_path)]).choose(0).sources)
    job.read_all()
    return job.snapshot()


def test_small_jobs_are_as_they_are(whole):
    assert condense(whole) is whole


def test_what_matters_is_kept_at_its_place(whole):
    snap = condense(whole, 8000)
    assert 4000 < snap.length < 10_000
    originals = {tuple(p): e for e, p in enumerate(whole.places(range(whole.length)))}
    entries = [originals[tuple(p)] for p in snap.places(range(snap.length))]
    assert entries == sorted(entries)
    assert snap.raws(range(snap.length)) == whole.raws(entries)
    assert np.array_equal(snap.clock, whole.clock[entries])
    assert np.array_equal(np.array(entries)[snap.record], whole.record[entries])
    assert np.count_nonzero(snap.level() >= Level.ERROR) == np.count_nonzero(whole.level() >= Level.ERROR)
    assert [snap.text(e) for e in np.flatnonzero(snap.level() >= Level.ERROR)] == ["link is down"]
    assert sum(text == "ValueError: no" for text in snap.texts(range(snap.length))) == 4
    assert snap.counts() == whole.counts()


def test_kept_iterations_are_whole(whole):
    snap = condense(whole, 8000)
    every = np.bincount(whole.iteration[whole.iteration >= 0])
    kept = np.bincount(snap.iteration[snap.iteration >= 0], minlength=len(every))
    assert kept[1999] == every[1999]
    assert 100 < np.count_nonzero(kept == every) < 1000
    assert np.count_nonzero((kept > 0) & (kept < every)) < 100  # edges of speakers and rare lines


def test_tally_counts_all(whole):
    lines, records, begin, end = tally(whole)
    assert lines.sum() == whole.length
    assert records == np.count_nonzero(whole.record == np.arange(whole.length))
    assert (begin, end) == (whole.clock.min(), whole.clock.max())
