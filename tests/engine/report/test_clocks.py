"""A node whose clock is off is told of in the report."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from l4tui.engine.diagnosis import diagnose
from l4tui.engine.evidence.from_snapshot import journal_from
from l4tui.engine.library import load
from l4tui.engine.report import build_report, render_text
from tests.engine.small_jobs import read

BEGIN = datetime(2026, 3, 1, 10)


@pytest.mark.parametrize(
    ("ahead_s", "words"),
    [(2.5, "node02 is 2.5 s ahead"), (-3.0, "node02 is 3.0 s behind"), (0.4, "")],
)
def test_clocks_more_than_a_second_off_are_told(tmp_path: Path, ahead_s: float, words: str) -> None:
    for node in range(4):
        lines = []
        for i in range(30):
            for rank in (2 * node, 2 * node + 1):
                t = BEGIN + timedelta(seconds=i + rank / 100 + (ahead_s if node == 2 else 0.0))
                stamp = f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03}"
                lines.append(f"[rank{rank}]: {stamp} INFO train.py:10 iteration {i} loss 2.0")
        (tmp_path / f"node0{node}.log").write_text("\n".join(lines) + "\n")
    snap = read(tmp_path).snapshot()
    assert snap.nodes[:4] == ("node00", "node01", "node02", "node03")
    report = build_report(snap, diagnose(journal_from(snap), load()), read_bytes=0, index_s=0.0, diagnose_s=0.0)
    job = report["job"]
    assert isinstance(job, dict)
    assert [c["node"] for c in job["clocks"]] == (["node02"] if words else [])
    text = render_text(report)
    assert words in text and ("\nclocks " in text) == bool(words)
