"""Small blocks of many sources, mapped and merged at once, are what each gives in turn."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine import ranges, reading
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job, Options
from l4tui.engine.segments import Segments
from l4tui.engine.snapshot import Snapshot

LINES = [
    "2026-03-02 09:00:0{n},000 - train - INFO - train.py:1{n} - step {n}/900 | loss 2.{n}",
    "2026-03-02 09:00:0{n},100 - train - INFO - train.py:20 - building model on device {n}",
    "2026-03-02 09:00:0{n},200 - train - ERROR - train.py:30 - lost the data of shard {n}",
    "2026-03-02 09:00:0{n},300 - ckpt - INFO - ckpt.py:9 - saving checkpoint at iteration {n}",
    "2026-03-02 09:00:0{n},400 - ckpt - INFO - ckpt.py:9 - checkpoint saved",
    "2026-03-02 09:00:0{n},500 - comm - INFO - comm.py:7 - rank {n} starts on n1, local rank {n}, pid 7{n}, restart 0",
    "n1:33{n}:44{n} [{n}] NCCL INFO comm 0x2dd5904f35c{n} rank {n} nranks 8 cudaDev {n} busId ab000 - Init COMPLETE",
    "Traceback (most recent call last):",
    '  File "train.py", line 1{n}, in <module>',
    "    loss.backward()",
    "RuntimeError: expected {n} tensors",
    "[rank{n}]: ValueError: {n} is no shape",
    "rank {n} starts on n1, local rank {n}, pid 8{n}, restart 1",
    "Sending process 7{n} closing signal SIGTERM",
    "10:00:0{n} evaluation begins",
    "Mar  2 09:00:0{n} n1 kernel: a line without a year {n}",
    "  indented text {n}",
    "",
    "\x1b[32mgreen\x1b[0m {n}",
    "{n}0%|##   | {n}/10\r100%|#####| 10/10",
    "words that nothing tells of {n}",
    "read 0x7f00{n}ab90{n}c of worker {n}",
]
TEXT = st.lists(st.tuples(st.sampled_from(LINES), st.integers(0, 9)), max_size=25)
FILES = st.lists(st.tuples(TEXT, st.sampled_from(["", "the end {n}", "\n"])), min_size=2, max_size=6)


def read(folder: Path, small: int, by_workers: bool = False) -> Snapshot:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "SMALL", small)
        job = Job(discover([str(folder)]).whole().sources, Options(jobs=2 if by_workers else 1))
        if by_workers:
            patch.setattr(reading, "WORTHWHILE", 0)
            patch.setattr(job._workers, "run", lambda function, tasks, stop: map(function, tasks))
        job.read_all()
        snap = job.snapshot()
        job.close()
        return snap


def same(one: Snapshot, other: Snapshot) -> None:
    assert one.length == other.length
    for name, column in one.columns.items():
        assert np.array_equal(column, other.columns[name]), name
    for name, values in zip(one.blocks._fields, one.blocks, strict=True):
        assert np.array_equal(values, getattr(other.blocks, name)), name
    assert np.array_equal(one.rank(), other.rank())
    assert list(one.keys) == list(other.keys)
    assert list(one.templates) == list(other.templates)
    assert one.counts() == other.counts()


def written(rows: Sequence[tuple[str, int]]) -> str:
    return "".join(line.replace("{n}", str(n)) + "\n" for line, n in rows)


@settings(deadline=None, max_examples=60)
@given(FILES)
def test_files_read_together_are_what_each_is_in_turn(files: list[tuple[list[tuple[str, int]], str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for k, (rows, end) in enumerate(files):
            (folder / f"rank-{k}.log").write_text("job starts\n" + written(rows) + end)
        in_turn = read(folder, -1)
        same(read(folder, 1 << 16), in_turn)
        same(read(folder, 1 << 16, by_workers=True), in_turn)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(TEXT, min_size=3, max_size=3), min_size=1, max_size=4))
def test_files_that_grow_together_are_what_each_is_in_turn(polls: list[list[list[tuple[str, int]]]]) -> None:
    snaps = []
    for small in (1 << 16, -1):
        with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranges, "SMALL", small)
            paths = [Path(name) / f"rank-{k}.log" for k in range(3)]
            for path in paths:
                path.write_text("job starts\n")
            job = Job(discover([name]).whole().sources)
            job.read_all(final=False)
            for texts in polls:
                for path, rows in zip(paths, texts, strict=True):
                    with path.open("a") as file:
                        file.write(written(rows))
                job.read_all(final=False)
            snaps.append(job.snapshot())
            job.close()
    same(*snaps)


def test_segments() -> None:
    parts = Segments([2, 3, 1])
    assert parts.each([7, 8, 9]).tolist() == [7, 7, 8, 8, 8, 9]
    assert parts.each([7, 8, 9], np.array([1, 5])).tolist() == [7, 9]
    assert parts.first().tolist() == [0, 0, 2, 2, 2, 5]
    assert parts.of(np.array([0, 2, 5])).tolist() == [0, 1, 2]
    assert parts.last(np.array([0, 1, 5])) == [1, -1, 5]
    assert Segments([4]).each([7]) == 7
