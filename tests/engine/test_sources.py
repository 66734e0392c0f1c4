"""Bytes from files, pipes and compressed files."""

import bz2
import errno
import fcntl
import gzip
import importlib.util
import lzma
import os
import pickle
import threading
from multiprocessing import get_context

import pytest

from l4tui.engine import descriptors
from l4tui.engine.blocks import blocks
from l4tui.engine.descriptors import Descriptors, OpenFile
from l4tui.engine.sources import Source, SourceError, open_path, open_pipe
from l4tui.engine.spill import Pump, Spill

TEXT = b"".join(b"2024-05-01 10:00:00 step %d\n" % i for i in range(60_000))


def read(source: Source) -> bytes:
    return b"".join(block.data for block in blocks(source, final=True))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gz", "xz", "bz2"])
@pytest.mark.parametrize("tail", [b"", b"torn"])
def test_compressed_text_is_the_text(tmp_path, pack, tail):
    path = tmp_path / "job.log.packed"
    path.write_bytes(pack(TEXT[:100]) + pack(TEXT[100:] + tail))
    source = open_path(str(path))
    assert read(source) == TEXT + tail
    assert source.is_final
    assert source.problem == ""
    assert source.pread(500_000, 20) == TEXT[500_000:500_020]


def test_compressed_pages_are_not_inflated_ahead(tmp_path):
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(TEXT * 4))
    source = open_path(str(path))
    next(blocks(source, size=4096))
    assert source.size() <= 1 << 20


def test_cut_gzip_gives_what_is_there(tmp_path):
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(TEXT)[:-2000])
    source = open_path(str(path))
    got = read(source)
    assert len(got) > 100_000
    assert TEXT.startswith(got)
    assert "end early" in source.problem


def test_broken_xz_is_a_problem_not_an_exception(tmp_path):
    path = tmp_path / "job.log.xz"
    path.write_bytes(lzma.compress(TEXT)[:50] + b"garbage" * 100)
    source = open_path(str(path))
    assert TEXT.startswith(read(source))
    assert "broken" in source.problem


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_text_before_a_bad_byte_is_read(tmp_path, pack):
    packed = bytearray(pack(TEXT))
    packed[len(packed) // 2] ^= 255
    path = tmp_path / "job.log.packed"
    path.write_bytes(packed)
    source = open_path(str(path))
    there = len(TEXT) // 3
    assert read(source)[:there] == TEXT[:there]
    assert "broken" in source.problem


@pytest.mark.skipif(importlib.util.find_spec("zstandard") is not None, reason="zstandard is installed")
@pytest.mark.skipif(importlib.util.find_spec("compression") is not None, reason="zstd is in the standard library")
def test_missing_zstandard_is_said(tmp_path):
    path = tmp_path / "job.log.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 40)
    source = open_path(str(path))
    assert read(source) == b""
    assert "zstandard" in source.problem


def test_zstd(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    pack = zstandard.ZstdCompressor().compress
    path = tmp_path / "job.log.zst"
    path.write_bytes(pack(TEXT[:100]) + pack(TEXT[100:]))
    source = open_path(str(path))
    assert read(source) == TEXT
    assert source.problem == ""
    path.write_bytes(pack(TEXT)[:-500])
    source = open_path(str(path))
    assert TEXT.startswith(read(source))
    assert "end early" in source.problem
    path.write_bytes(pack(bytes(300 << 20)))
    inflating = blocks(open_path(str(path)), size=1 << 20)
    next(inflating)  # a bomb is inflated as far as it is read


def test_a_pipe_whose_descriptor_is_a_large_number():
    """A job of more than a thousand files has descriptors that select() does not take."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1400:
        pytest.skip("too few descriptors are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1400), hard))
    low, into = os.pipe()
    high = fcntl.fcntl(low, fcntl.F_DUPFD, 1200)
    held = [os.dup(low) for _ in range(1200 - low)]  # whatever is opened next is as high
    try:
        source = open_pipe(high)
        with os.fdopen(into, "wb") as file:
            file.write(TEXT)
        for fd in (low, high, *held):
            os.close(fd)
        assert read(source) == TEXT
        assert source.problem == ""
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_pipe_is_read_to_its_end():
    out, into = os.pipe()
    source = open_pipe(out)
    os.close(out)

    def write() -> None:
        with os.fdopen(into, "wb") as file:
            file.write(TEXT + b"torn")

    writer = threading.Thread(target=write)
    writer.start()
    assert read(source) == TEXT + b"torn"
    writer.join()
    assert source.path == "-"
    assert source.is_final


def test_what_cannot_be_read_as_a_pipe_is_closed_and_told(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY)  # a folder: ready to be read, and then not readable
    pump = Pump(lambda: fd, Spill(1 << 20, tmp_path), "test")
    pump._thread.join(20)
    assert pump.is_final and "directory" in pump.problem
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_fifo(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    source = open_path(str(path))
    with path.open("wb") as file:
        file.write(TEXT)
    assert read(source) == TEXT


def test_full_spill_drops_whole_lines_and_counts_them():
    spill = Spill(cap=20)
    for piece in (b"line 1\nline 2\n", b"line 3\nline 4\nline 5\n", b"x\n"):
        spill.append(piece)
    assert spill.file.pread(0, 100) == b"line 1\nline 2\n"
    assert spill.dropped_lines == 4
    assert "20 bytes" in spill.problem


def test_stdin_from_a_file_starts_where_the_shell_left_off(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"first\nsecond\n")
    fd = os.open(path, os.O_RDONLY)
    os.read(fd, 6)
    source = open_pipe(fd)
    assert read(source) == b"second\n"
    os.close(fd)


def test_closed_stdin_is_one_line():
    fd = os.open("/dev/null", os.O_RDONLY)
    os.close(fd)
    with pytest.raises(SourceError, match="closed"):
        open_pipe(fd)


@pytest.mark.parametrize("path, words", [("missing.log", "no such file"), (".", "is a directory")])
def test_what_cannot_be_read_is_one_line(tmp_path, monkeypatch, path, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=words):
        open_path(path)


def test_more_files_than_descriptors(tmp_path, monkeypatch):
    monkeypatch.setattr(descriptors, "POOL", Descriptors(limit=8))
    files = []
    for number in range(40):
        path = tmp_path / f"rank-{number}.log"
        path.write_bytes(b"%d\n" % number)
        files.append(OpenFile(str(path)))
    for _ in range(3):
        assert [file.pread(0, 9) for file in files] == [b"%d\n" % number for number in range(40)]
        assert sum(file.is_open for file in files) <= 8


def test_renamed_file_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(descriptors, "POOL", Descriptors(limit=8))
    path = tmp_path / "job.log"
    path.write_bytes(b"old\n")
    source = open_path(str(path))
    source.close()
    path.rename(tmp_path / "job.log.1")
    path.write_bytes(b"new\n")
    assert source.pread(0, 9) == b"old\n"


def test_replaced_file_is_an_error_not_other_text(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"old\n")
    source = open_path(str(path))
    source.close()
    (tmp_path / "other").write_bytes(b"new\n")
    (tmp_path / "other").replace(path)
    with pytest.raises(SourceError, match="gone"):
        source.pread(0, 9)


def _read_elsewhere(pickled: bytes) -> bytes:
    source = pickle.loads(pickled)
    return source.pread(0, 5)


def test_sources_reach_worker_processes(tmp_path):
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(TEXT))
    source = open_path(str(path))
    read(source)
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(_read_elsewhere, (pickle.dumps(source),)) == TEXT[:5]


def test_a_file_that_its_server_has_lost_is_a_problem_of_the_source(tmp_path, monkeypatch):
    path = tmp_path / "job.log"
    path.write_bytes(TEXT)
    source = open_path(str(path))

    def stale(*_: object) -> int:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(descriptors.os, "lseek", stale)
    with pytest.raises(SourceError, match="stale file handle"):
        source.size()
