"""Columns beyond the cap are in files, and nobody notices."""

import errno
import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import store
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job, Options
from l4tui.engine.sharing import shared, touch
from l4tui.engine.store import Growing


def read(path: Path, **options: int) -> Job:
    job = Job(discover([str(path)]).choose(0).sources, Options(**options))
    job.read_all()
    return job


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text("".join(f"[rank{k % 8}]: step {k} of 20000\n" for k in range(20_000)))
    return path


def test_columns_past_the_cap_are_mapped(log):
    small, large = read(log, max_mem=100_000), read(log)
    assert any(column.is_mapped for column in small.store.columns.values())
    assert not any(column.is_mapped for column in large.store.columns.values())
    for name, column in large.snapshot().columns.items():
        assert np.array_equal(column, small.snapshot().columns[name])


def test_full_disk_keeps_them_in_memory_and_says_so(log, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    job = read(log, max_mem=100_000)
    assert job.snapshot().length == 20_000
    assert job.store.remark == "--max-mem: no space left on device for the index: it stays in memory"


def test_views_outlive_growth():
    column = Growing(np.int32, room=4)
    column.extend(np.arange(3))
    before = column.view()
    column.expected = 1000
    column.extend(np.arange(500))
    assert column.room == 1000
    assert before.tolist() == [0, 1, 2]
    assert column.view()[3:].tolist() == list(range(500))


def test_places_are_counted_where_they_are() -> None:
    values = Growing(np.int64)
    values.extend(np.arange(10))
    values.count(np.array([3, 9, 3], np.int32))
    values.count(np.array([], np.int32))
    assert values.view().tolist() == [0, 1, 2, 5, 4, 5, 6, 7, 8, 10]


def test_memory_that_is_asked_for_ahead_holds_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FEW", 0)
    monkeypatch.setattr(store, "TOUCHED", 5000)
    values = Growing(np.int64)
    values.expected = 300_000
    for begin in range(0, 400_000, 1000):
        values.make_room(begin + 1000, shared)
        values.extend(np.arange(begin, begin + 1000))
    assert np.array_equal(values.view(), np.arange(400_000))
    touch(np.zeros(10), 0, 10)  # memory of another kind is left alone


def test_entries_that_are_let_go_are_gone_at_once(log: Path) -> None:
    """Without a collection of cycles: a report on gigabytes needs the memory for what comes next."""
    job = read(log)
    column = weakref.ref(job.store.columns["clock"].view().base)
    gc.disable()
    try:
        job.release()
        assert column() is None
    finally:
        gc.enable()


def test_counts_of_a_kept_index_go_on():
    kept = np.zeros(4, np.int64)
    kept.flags.writeable = False  # as what is mapped from a file
    counts = Growing(np.int64)
    counts.replace(kept)
    counts.count(np.array([1, 1, 3]))
    assert counts.view().tolist() == [0, 2, 0, 1]
    assert not kept.any()
