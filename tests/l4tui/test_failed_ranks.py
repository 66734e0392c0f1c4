"""Which ranks the grid calls failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4tui.engine.progress import Progress
from l4tui.panes.ranks import failed_ranks
from tests.engine.small_jobs import read, trainer

RAISED = [
    "[rank1]: Traceback (most recent call last):",
    '[rank1]:   File "train.py", line 3, in setup',
    "[rank1]: ModuleNotFoundError: No module named 'fused'",
]


@pytest.mark.parametrize(("goes_on", "failed"), [(True, set()), (False, {1})])
def test_who_went_on_after_an_exception_has_not_failed(tmp_path: Path, goes_on: bool, failed: set[int]) -> None:
    lines = list(trainer(6))
    snap = read(tmp_path / "job.log", [*RAISED, *lines] if goes_on else [*lines, *RAISED]).snapshot()
    assert failed_ranks(snap, Progress().update(snap)) == failed
