"""Studies of a job that grows, asked for by several threads in any order."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from l4tui.study import Analyst
from tests.engine.small_jobs import Growing, trainer


def test_an_older_snapshot_is_studied_with_the_rows_of_a_newer_one(tmp_path: Path) -> None:
    """The thread that draws may have gathered rows of lines that the snapshot of a study does not have."""
    lines = [f"{line}\n" for line in trainer(40)]
    growing, analyst = Growing(tmp_path), Analyst()
    growing.add("".join(lines[:60]))
    older = growing.job.snapshot()
    growing.add("".join(lines[60:]))
    newer = growing.job.snapshot()
    analyst.shown(newer, Event(), None, at_once=False)
    study = analyst.study(older, final=False)
    assert study.snapshot is newer and len(study.table.row) == newer.length > older.length
    assert study.ranks.lines.sum() == len(lines)
