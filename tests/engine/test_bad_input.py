"""Input that is broken, endless or faster than we are: told in words, memory bounded, nothing lost that can be read."""

import gzip
import os
import random
from pathlib import Path

import pytest

from l4tui.engine import backlog, sniff
from l4tui.engine.descriptors import SourceError
from l4tui.engine.discovery import discover, look_at
from l4tui.engine.job import Job
from l4tui.engine.model import LineClass
from l4tui.engine.options import Options
from l4tui.engine.snapshot import BAR, READ
from l4tui.engine.sources import open_pipe
from l4tui.engine.spill import Spill

LINES = b"".join(b"[rank%d]: step %d loss 2.5\n" % (n % 8, n) for n in range(4000))


def read(path: Path, jobs: int = 1, **options: object) -> Job:
    job = Job(discover([str(path)]).choose(0).sources, Options(jobs=jobs, **options))
    job.read_all()
    return job


def test_random_bytes_behind_text_are_lines_like_any_others(tmp_path):
    noise = random.Random(3).randbytes(300_000)
    path = tmp_path / "job.log"
    path.write_bytes(LINES + noise + b"\n" + LINES)
    snap = read(path).snapshot()
    assert snap.counts().lines == 8001 + noise.count(b"\n")
    assert sum(snap.counts().per_rank.values()) >= 8000


def test_a_file_of_random_bytes_is_no_log(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(random.Random(4).randbytes(100_000))
    with pytest.raises(SourceError, match="no log: binary"):
        discover([str(path)])


def test_lines_that_are_all_different_end_in_shared_plans(tmp_path, monkeypatch):
    monkeypatch.setattr("l4tui.engine.mapper.MOST_KEYS", 100)
    monkeypatch.setattr("l4tui.engine.planbook.MOST_PLANS", 100)
    words = random.Random(5)
    text = b"".join(b"[rank%d]: %s\n" % (n % 8, words.randbytes(12).hex(" ").translate(LETTERS).encode())
                    for n in range(3000))  # fmt: skip
    path = tmp_path / "job.log"
    path.write_bytes(text)
    snap = read(path).snapshot()
    assert snap.counts().per_rank == dict.fromkeys(range(8), 375)
    assert len(snap.plans.event) < 1000


LETTERS = str.maketrans("0123456789", "ghijklmnop")


def test_progress_through_a_packed_file_ends_with_the_file(tmp_path):
    path = tmp_path / "job.log.gz"
    path.write_bytes(gzip.compress(LINES * 100, 1))
    told: list[tuple[int, int]] = []
    Job(discover([str(path)]).choose(0).sources).read_all(progress=lambda done, total: told.append((done, total)))
    assert len(told) > 2
    assert all(done < total for done, total in told[:-1])
    assert told[-1][0] == 100 * len(LINES)


def test_a_pipe_tells_no_total():
    out, into = os.pipe()
    os.write(into, LINES[:4096])
    os.close(into)
    source = open_pipe(out)
    os.close(out)
    assert source.expected in (-1, 4096)
    Job([source]).read_all()
    assert source.expected == 4096


def test_what_is_left_to_read_is_told_while_following(tmp_path, monkeypatch):
    monkeypatch.setattr(backlog, "TURN", 1000)
    monkeypatch.setattr(backlog, "SHARE", 1000)
    path = tmp_path / "job.log"
    path.write_bytes(LINES)
    found = discover([str(path)])
    job = Job(found.choose(0).sources, found=found, follow=True)
    job.read_all(final=False)
    with path.open("ab") as file:
        file.write(LINES * 2)
    while not job.poll():
        job.wait(0.1)
    told = [job.behind]
    while job.behind:
        assert job.wait(60.0)  # at once: there is more to read
        assert job.poll()
        told.append(job.behind)
    assert len(told) > 2
    assert told == sorted(told, reverse=True)
    assert job.snapshot().counts().lines == 3 * LINES.count(b"\n")
    job.close()


def test_dropped_lines_are_told_with_the_place_where_they_are_missing(tmp_path):
    out, into = os.pipe()
    source = open_pipe(out, cap=1000)
    os.close(out)
    os.write(into, LINES[:4000])
    os.close(into)
    job = Job([source])
    job.read_all()
    kept = job.snapshot().counts().lines
    missing = LINES[:4000].count(b"\n") - kept
    assert missing > 0
    (words,) = job.troubles
    assert words == f"-: {missing} lines dropped, from line {kept + 1} on: more than 1,000 bytes"


def test_a_full_disk_keeps_what_fits(tmp_path, monkeypatch):
    spill = Spill(1 << 20, tmp_path)
    spill.append(b"one\ntwo\n")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    spill.append(b"three\nfour\n")
    assert (spill.size, spill.lines, spill.dropped_lines) == (8, 2, 2)
    assert spill.problem == "no space left on device"


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    (tmp_path / "a.log").write_bytes(LINES)
    (tmp_path / "b.log").write_bytes(LINES)

    def look(path: str, size: int) -> sniff.Content:
        if path.endswith("b.log"):
            raise SourceError(f"{path}: permission denied")
        return look_at(path, size)

    monkeypatch.setattr("l4tui.engine.discovery.look_at", look)
    found = discover([str(tmp_path)])
    assert found.unread == (f"{tmp_path / 'b.log'}: permission denied",)
    assert len(found.choose(0).sources) == 1


def test_a_file_that_goes_away_before_it_is_read_is_told(tmp_path):
    for name in "abc":
        (tmp_path / f"rank-{name}.log").write_bytes(LINES)
    sources = discover([str(tmp_path)]).choose(0).sources
    gone = next(source for source in sources if source.path.endswith("b.log"))
    gone.close()  # as if its descriptor had been given back
    Path(gone.path).unlink()
    job = Job(sources)
    job.read_all()
    assert job.snapshot().counts().lines == 8000
    assert any("rank-b.log: no such file" in words for words in job.troubles)


def test_a_file_cut_while_a_page_of_it_is_shown_reads_as_empty(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(LINES)
    snap = read(path).snapshot()
    os.truncate(path, 100)
    assert snap.texts([0])[0].startswith("step 0")
    assert snap.texts([3999]) == [""]


def test_lines_like_no_others_keep_rank_time_and_failures(tmp_path, monkeypatch):
    monkeypatch.setattr("l4tui.engine.mapper.MANY_KEYS", 100)
    monkeypatch.setattr("l4tui.engine.crowds.MOST", 50)
    words = random.Random(6)
    lines = []
    for n in range(4000):
        text = words.randbytes(12).hex(" ", 3).translate(LETTERS)
        lines.append(f"[rank{n % 8}]: 2026-01-05 10:00:{n % 60:02d},{n % 1000:03d} INFO train.py:{n % 40 + 10}: {text}")
    lines[3500] = "[rank4]: RuntimeError: CUDA error: an illegal memory access was encountered"
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines) + "\n")
    job = read(path)
    snap = job.snapshot()
    assert snap.counts().per_rank == dict.fromkeys(range(8), 500)
    assert snap.clock[3999] - snap.clock[3960] == 39_039_000_000
    assert snap.text(3999) == lines[3999].split(": ", 2)[2]
    assert snap.plans.line_class[snap.plan[3500]] == LineClass.RAISED
    assert len(snap.plans.event) < 4000
    assert any("lines are of words like no others" in words for words in job.troubles)


def test_of_a_line_without_end_what_is_looked_at_is_bounded(tmp_path):
    path = tmp_path / "job.log"
    state = b"[rank3]: 10%|#   | 1/10 [00:01]"
    path.write_bytes(
        b"short\n" + b"[rank1]: " + b"x" * (3 * BAR) + b"\n" + (state + b"\r") * (2 * BAR // 32) + b"[rank3]: end\n"
    )
    job = read(path)
    snap = job.snapshot()
    first, long, bar = snap.texts(range(3))
    assert first == "short"
    assert READ // 2 < len(long) <= READ
    assert bar.endswith("end")
    assert len(bar) <= len("[rank3]: end")
    assert len(snap.raws([2], READ)[0]) <= READ + BAR
    assert len(snap.texts([1], most=0)[0]) >= 3 * BAR
    job.close()
