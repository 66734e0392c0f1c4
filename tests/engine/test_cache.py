"""Kept indexes: taken up where they fit, extended by what is new, never believed where anything is doubtful."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import cache as caches
from l4tui.engine import cachefile
from l4tui.engine.cache import IndexCache
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job, Options


def text(node: int, steps: range) -> str:
    lines = []
    for step in steps:
        for local in range(4):
            stamp = f"2026-03-01 10:{step // 60 % 60:02d}:{step % 60:02d},{local:03d}"
            lines.append(f"[default{local}]:{stamp} INFO train.py:99: iteration {step}/900 | loss: {1 / (step + 1):f}")
        if step % 50 == 0:
            lines += ["[default1]:Traceback (most recent call last):", f'[default1]:  File "a{node}.py", line 3, in f']
            comm = f"[2] NCCL INFO comm 0x5d rank {node * 4 + 2} nranks 8"
            lines.append(f"[default2]:n{node}:4{step}0:17 {comm} - Init COMPLETE")
    return "".join(line + "\n" for line in lines)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(caches, "LEAST", 1)
    folder = tmp_path / "logs"
    folder.mkdir()
    for node in range(2):
        (folder / f"node-{node}.log").write_text(text(node, range(300)))
    return folder


def open_job(logs: Path, cache: IndexCache | None) -> Job:
    return Job(discover([str(logs)]).choose(0).sources, Options(cache=cache))


def same(one: Job, other: Job) -> None:
    first, second = one.snapshot(), other.snapshot()
    assert first.length == second.length
    for name in ("clock", "iteration", "stage", "flags", "record"):
        assert np.array_equal(first.columns[name], second.columns[name]), name
    for name in ("rank", "level", "kind", "event"):
        assert np.array_equal(getattr(first, name)(), getattr(second, name)()), name
    assert list(first.templates) == list(second.templates)
    assert first.counts() == second.counts()
    assert first.places(range(0, first.length, 97)) == second.places(range(0, first.length, 97))
    assert first.texts(range(0, first.length, 97)) == second.texts(range(0, first.length, 97))


def read(logs: Path, cache: IndexCache | None) -> tuple[Job, int]:
    """Read and return how many bytes were mapped anew."""
    job = open_job(logs, cache)
    mapped = 0
    original = job.merger.__class__.add_all

    def counted(self, pieces):
        nonlocal mapped
        pieces = list(pieces)
        mapped += sum(piece.part.size for piece in pieces)
        original(self, pieces)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job.merger.__class__, "add_all", counted)
        job.read_all()
    return job, mapped


@pytest.fixture
def kept(tmp_path: Path) -> IndexCache:
    return IndexCache(tmp_path / "cache")


def test_second_run_reads_nothing(logs, kept):
    first, mapped = read(logs, kept)
    assert mapped > 0
    again, mapped = read(logs, kept)
    assert mapped == 0
    same(first, again)
    same(open_and_read(logs), again)


def open_and_read(logs: Path) -> Job:
    return read(logs, None)[0]


def test_grown_log_reads_only_what_is_new(logs, kept):
    read(logs, kept)
    more = text(0, range(300, 340))
    path = logs / "node-0.log"
    with path.open("a") as file:
        file.write(more)
    grown, mapped = read(logs, kept)
    assert mapped == len(more)
    assert grown.snapshot().counts() == open_and_read(logs).snapshot().counts()
    again, mapped = read(logs, kept)
    assert mapped == 0
    same(grown, again)


def test_one_growing_file_ends_as_if_read_at_once(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(caches, "LEAST", 1)
    path = tmp_path / "job.log"
    whole = text(0, range(200)).encode()
    cut = whole.index(b"\n", len(whole) // 2) + 1
    path.write_bytes(whole[:cut])
    read(path, kept)
    path.write_bytes(whole)
    job, mapped = read(path, kept)
    assert mapped == len(whole) - cut
    same(open_and_read(path), job)


@pytest.mark.parametrize("where", [10, -10])
def test_changed_log_is_read_anew(logs, kept, where):
    read(logs, kept)
    path = logs / "node-1.log"
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    before = path.stat()
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    _, mapped = read(logs, kept)
    assert mapped == sum(path.stat().st_size for path in logs.iterdir())


def test_rewritten_log_of_the_same_size_is_read_anew(logs, kept):
    read(logs, kept)
    path = logs / "node-1.log"
    os.utime(path, (1, 1))
    assert read(logs, kept)[1] > 0


def test_new_file_in_front_is_added(logs, kept):
    read(logs, kept)
    added = text(7, range(40))
    (logs / "node-00.log").write_text(added)
    job, mapped = read(logs, kept)
    if mapped == len(added):  # else the cache's name rests on the new file's inode, and all is read anew
        assert job.snapshot().counts() == open_and_read(logs).snapshot().counts()
        assert {p.source for p in job.snapshot().places(range(0, job.snapshot().length, 20))} == {0, 1, 2}


@pytest.mark.parametrize("harm", ["empty", "foreign", "cut", "flipped table", "flipped column", "other numbers"])
def test_harmed_index_is_ignored_and_replaced(logs, kept, harm):
    first, _ = read(logs, kept)
    (path,) = kept.folder.iterdir()
    data = bytearray(path.read_bytes())
    if harm == "empty":
        data = bytearray()
    elif harm == "foreign":
        data[:20] = b"SQLite format 3\0????"
    elif harm == "cut":
        del data[-5000:]
    elif harm == "flipped table":
        data[200] ^= 0xFF
    elif harm == "flipped column":
        contents = cachefile.read(path)
        at = data.index(contents.arrays["column.plan"].tobytes()[:64])
        data[at] ^= 0xFF
    else:
        contents = cachefile.read(path)
        arrays = {name: array.copy() for name, array in contents.arrays.items()}
        arrays["column.speaker"][3] = 2**30
        cachefile.write(path, contents.table, arrays)
        data = bytearray(path.read_bytes())
    path.write_bytes(data)
    job, mapped = read(logs, kept)
    assert mapped > 0
    same(first, job)
    assert read(logs, kept)[1] == 0


def test_two_jobs_share_one_index(logs, kept):
    read(logs, kept)
    one, other = open_job(logs, kept), open_job(logs, kept)
    one.read_all()
    other.read_all()
    read(logs, kept)
    same(one, other)


def test_other_options_have_another_index(logs, kept):
    read(logs, kept)
    job = Job(discover([str(logs)]).choose(0).sources, Options(cache=kept, utc_offset_s=3600))
    job.read_all()
    assert len(list(kept.folder.iterdir())) == 2
    assert int(job.snapshot().clock.max()) == int(open_and_read(logs).snapshot().clock.max()) - 3600 * 10**9


def test_oldest_indexes_make_room(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(caches, "LEAST", 1)
    sizes = []
    for k in range(3):
        path = tmp_path / f"job{k}.log"
        path.write_text(text(k, range(100)))
        read(path, kept)
        found = sorted(kept.folder.iterdir(), key=lambda p: p.stat().st_mtime)
        sizes = [p.stat().st_size for p in found]
        os.utime(found[-1], (k + 1, k + 1))
    small = IndexCache(kept.folder, sum(sizes[1:]) + 100)
    path = tmp_path / "job3.log"
    path.write_text(text(3, range(100)))
    read(path, small)
    left = sorted(kept.folder.iterdir())
    assert sum(p.stat().st_size for p in left) <= small.cap
    assert read(path, small)[1] == 0
    assert read(tmp_path / "job0.log", small)[1] > 0


def test_index_over_the_cap_is_not_kept_and_says_so(logs, tmp_path):
    job, _ = read(logs, IndexCache(tmp_path / "cache", 1000))
    assert "exceed" in job.remarks[0]


def test_full_disk_is_a_remark(logs, kept, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cachefile.Path, "replace", fail)
    job, mapped = read(logs, kept)
    assert mapped > 0
    assert job.remarks == [f"the index is not kept: {kept.folder}: no space left on device"]
    monkeypatch.undo()
    assert list(kept.folder.iterdir()) == []


@pytest.mark.parametrize("odd", ["file for folder", "folder for file", "may only be read"])
def test_a_cache_that_cannot_be_used_is_done_without(logs, kept, monkeypatch, odd):
    first, _ = read(logs, kept)
    (path,) = kept.folder.iterdir()
    if odd == "may only be read":
        path.write_bytes(b"foreign")

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(cachefile.Path, "unlink", refuse)
        monkeypatch.setattr(caches.os, "utime", refuse)
    else:
        path.unlink()
        if odd == "folder for file":
            path.mkdir()
        else:
            kept.folder.rmdir()
            kept.folder.write_text("x")
    job, mapped = read(logs, kept)
    assert mapped > 0
    same(first, job)
