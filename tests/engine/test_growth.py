"""A log that grows in pieces cut anywhere ends as the same log read in one go."""

from __future__ import annotations

import os
import random
import time
from itertools import pairwise
from pathlib import Path

import pytest

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.reader import UNFINISHED_S
from tests.engine.small_jobs import read, trainer


class Clock:
    """Stands in for the module `time`: goes on when it is told to."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def time(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    for module in ("job", "reader"):
        monkeypatch.setattr(f"l4tui.engine.{module}.time", moved)
    return moved


def follow(path: Path) -> Job:
    found = discover([str(path)])
    job = Job(found.choose(0).sources, found=found, follow=True)
    job.read_all(final=False)
    return job


def rows(job: Job) -> list[tuple[object, ...]]:
    snap = job.snapshot()
    columns = ("record", "iteration", "stage", "flags", "time")
    told = zip(*(getattr(snap, name).tolist() for name in columns), strict=True)
    raws = snap.raws(range(snap.length))
    return list(zip(raws, snap.ranks.rank[snap.speaker].tolist(), told, strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_line_held_in_the_middle_is_one_line(tmp_path: Path, clock: Clock, seed: int, end: str) -> None:
    chance = random.Random(seed)
    text = ("\n".join(trainer(12)) + end).encode()
    cuts = [0, *sorted(chance.sample(range(1, len(text)), 49)), len(text)]
    path = tmp_path / "job.log"
    path.write_bytes(b"")
    job = follow(path)
    for begin, until in pairwise(cuts):
        with path.open("ab") as file:
            file.write(text[begin:until])
        for _ in range(3):  # cold files are looked at within 5 s
            clock.ahead += UNFINISHED_S / 5
            job.poll()
    clock.ahead += UNFINISHED_S
    job.poll()
    whole = read(path)
    assert rows(job) == rows(whole)
    assert job.unfinished is None
    job.close()


def test_an_unfinished_line_is_told_until_it_ends(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(b"one\nsaving checkpoint ... ")
    job = follow(path)
    assert job.snapshot().length == 1
    clock.ahead += 2
    job.poll()
    assert job.unfinished == (str(path), b"saving checkpoint ... ")
    with path.open("ab") as file:
        file.write(b"done\n")
    clock.ahead += 6
    job.poll()
    assert job.unfinished is None
    assert job.snapshot().raw(1) == b"saving checkpoint ... done"
    job.close()


def test_a_file_at_rest_needs_no_newline(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(b"one\nRuntimeError: x")
    long_ago = time.time() - 60
    os.utime(path, (long_ago, long_ago))
    job = follow(path)
    assert job.snapshot().length == 2
    job.close()
