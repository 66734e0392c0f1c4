"""A job over sources that grow, end, are rotated or come packed: every line once, in its own dialect."""

import gzip
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from l4tui.engine.discovery import discover
from l4tui.engine.export import Rows
from l4tui.engine.job import Job
from l4tui.engine.model import Flag
from l4tui.engine.search import Search
from l4tui.engine.sources import open_pipe

LABELLED = b"".join(b"%2d: step %d of rank\n" % (n % 12, n) for n in range(2400))


def until(job: Job, reached: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        job.wait(0.1)
        job.poll()
    assert reached()


def follow(path: Path) -> Job:
    found = discover([str(path)])
    job = Job(found.choose(0).sources, found=found, follow=True)
    job.read_all(final=False)
    return job


def per_rank(job: Job) -> dict[int, int]:
    return dict(job.snapshot().counts().per_rank)


def test_packed_log_reads_like_the_plain_one(tmp_path):
    (tmp_path / "job.log.gz").write_bytes(gzip.compress(LABELLED))
    job = follow(tmp_path / "job.log.gz")
    assert per_rank(job) == dict.fromkeys(range(12), 200)
    job.close()


def test_slow_pipe_reads_like_the_file():
    out, into = os.pipe()
    job = Job([open_pipe(out)])
    os.close(out)

    def write() -> None:
        with os.fdopen(into, "wb") as file:
            time.sleep(0.3)
            file.write(LABELLED)

    writer = threading.Thread(target=write)
    writer.start()
    job.read_all()
    writer.join()
    assert per_rank(job) == dict.fromkeys(range(12), 200)


def test_pipe_with_a_prompt_does_not_hold_up_the_others():
    out, into = os.pipe()
    job = Job([open_pipe(out)], follow=True)
    os.close(out)
    os.write(into, b"password: ")
    until(job, lambda: job.unfinished == ("-", b"password: "))
    polling = threading.Thread(target=job.poll, daemon=True)
    polling.start()
    polling.join(20)  # one that waits for the pipe waits for ever
    assert not polling.is_alive()
    os.write(into, b"ok\n")
    until(job, lambda: job.readers[0].at == 13)
    assert job.snapshot().length == 1
    os.close(into)
    job.close()


def test_rotation_is_a_line_of_its_own(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"old 1\nold 2\n")
    job = follow(path)
    path.rename(tmp_path / "job.log.1")
    with (tmp_path / "job.log.1").open("ab") as file:
        file.write(b"late\n")
    path.write_bytes(b"new 1\n")
    until(job, lambda: job.snapshot().length >= 5)
    snap = job.snapshot()
    assert [snap.raw(e) for e in range(snap.length) if not snap.flags[e] & Flag.NOTE] == [
        b"old 1",
        b"old 2",
        b"late",
        b"new 1",
    ]
    assert int(snap.flags[3]) & Flag.NOTE
    assert b"rotated" in snap.raw(3)
    job.close()


def test_burst_is_absorbed(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(b"")
    job = follow(path)

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for number in range(20):
                file.write(b"".join(b"[rank%d]: step %d\n" % (n % 8, number * 2000 + n) for n in range(2000)))
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    until(job, lambda: job.snapshot().length == 40_000, 20)
    writer.join()
    assert per_rank(job) == dict.fromkeys(range(8), 5000)
    job.close()


def test_a_number_too_large_is_no_iteration(tmp_path):
    lines = [b"[rank0]: iteration 7/ 9 | loss 1.5", b"[rank0]: iteration 99999999999999999999/ 9 | loss 1.5"]
    (tmp_path / "job.log").write_bytes(b"\n".join(lines * 3) + b"\n")
    job = follow(tmp_path / "job.log")
    assert set(job.snapshot().iteration.tolist()) <= {7, 8}
    job.close()


def test_a_line_written_bit_by_bit_is_one_line_and_one_record(tmp_path, monkeypatch):
    monkeypatch.setattr("l4tui.engine.job.UNFINISHED_S", 0.0)  # as if it had long been silent
    path = tmp_path / "job.log"
    head = b"".join(b"[rank%d]: 2026-01-31 12:03:%02d,000 - run - INFO - step %d\n" % (n % 4, n, n) for n in range(40))
    path.write_bytes(head)
    job = follow(path)
    bits = (b"[rank1]: 2026-01-31 12:04:00,000 - run", b" - INFO - step 41", b" 42 ... done\n[rank2]: x\n")
    for entries, bit in zip((41, 42, 44), bits, strict=True):
        with path.open("ab") as file:
            file.write(bit)
        until(job, lambda entries=entries: job.snapshot().length == entries)
    snap = job.snapshot()
    rows = [
        row
        for batch in Rows(snap, ("line", "segment", "record")).batches(threading.Event())
        for row in zip(*batch.values(), strict=True)
    ]
    assert rows[40:] == [(41, 0, 40), (41, 1, 40), (41, 2, 40), (42, 0, 43)]
    assert snap.ranks.rank[snap.speaker[40:44]].tolist() == [1, 1, 1, 2]
    assert [(place.line, place.segment) for place in snap.places(range(40, 44))] == [row[:2] for row in rows[40:]]
    assert snap.counts().lines == 42
    job.close()


def test_a_page_of_a_huge_line_reads_its_beginning(tmp_path):
    lines = b"[rank0]: " + b"x" * 5000 + b"\n[rank1]: 1%\r" + b"9" * 5000 + b"\r[rank1]: 100%\n"
    (tmp_path / "job.log").write_bytes(lines)
    job = follow(tmp_path / "job.log")
    assert job.snapshot().texts([0, 1], 109) == ["[rank0]: " + "x" * 100, "[rank1]: 100%"]
    assert len(job.snapshot().text(0)) == 5009
    job.close()


def test_nothing_is_found_where_nothing_has_been_read(tmp_path):
    (tmp_path / "job.log").write_bytes(b"")
    job = follow(tmp_path / "job.log")
    assert list(Search(job.snapshot(), "x").batches(threading.Event())) == []
    job.close()


def test_a_file_that_is_cut_ends_neither_the_reading_nor_what_reads_its_lines(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(LABELLED[:2000])
    job = follow(path)
    before = job.snapshot().length
    os.truncate(path, 0)
    until(job, lambda: job.snapshot().length > before)  # our note
    with path.open("ab") as file:
        file.write(LABELLED)
    until(job, lambda: job.snapshot().length > before + 2000)
    snap = job.snapshot()
    texts = snap.texts(range(snap.length))
    assert texts[-1].endswith("step 2399 of rank")
    assert "cut" in "".join(text for text in texts if "job.log" in text)
    job.close()


def test_another_dialect_does_not_forget_lines_whose_text_is_gone(tmp_path):
    cut, other = tmp_path / "node-0.log", tmp_path / "node-1.log"
    for path in (cut, other):
        path.write_text("starting up\n" * 50)
    found = discover([str(tmp_path)])
    job = Job(found.choose(0).sources, found=found, follow=True)
    job.read_all()
    assert job.snapshot().counts().lines == 100
    cut.write_text("")
    while not job.poll():
        job.wait(0.1)
    with other.open("a") as file:  # lines that are read otherwise than the first ones were
        file.writelines(f"[default{n % 4}]:step {n // 4} loss 2.5\n" for n in range(4000))
    while job.snapshot().counts().lines < 4000:
        job.poll()
        job.wait(0.1)
    assert job.snapshot().counts().lines == 4100
    job.close()
