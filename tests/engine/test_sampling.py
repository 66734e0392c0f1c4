"""Lines of any length tell the dialect: who writes does not depend on how much is written."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4tui.engine import reading, sampling
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.options import Options

RANKS, ROUNDS = 24, 8
PREFIXES = ("[rank{}]: ", "{}: ", "{:>2}: ", "[default{}]:", "[{}]:")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sixty-fourth of all sizes: lines of 1 kB are then what lines of 60 kB are."""
    for name in ("SAMPLE", "FAR", "FARTHEST", "CHUNK", "FEW"):
        monkeypatch.setattr(sampling, name, getattr(sampling, name) >> 6)
    monkeypatch.setattr(reading, "SETTLED", reading.SETTLED >> 6)


def lines_of(prefix: str, payloads: tuple[int, ...], seed: int = 7) -> Iterator[bytes]:
    """Yield what ranks say in turns, each step in another order, behind headers of one form."""
    chance = random.Random(seed)
    for step in range(ROUNDS):
        for rank in chance.sample(range(RANKS), RANKS):
            words = " ".join(f"w{chance.random():.5f} norm" for _ in range(chance.choice(payloads) // 13 + 1))
            yield f"{prefix.format(rank)}2026-03-01 12:00:{step:02d},{rank:03d} INFO step {step} {words}\n".encode()


def heard(path: Path) -> dict[int, int]:
    found = discover([str(path)])
    job = Job(found.choose(0).sources, Options(), found=found, follow=False)
    job.read_all()
    return job.snapshot().counts().per_rank


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("payloads", [(60,), (1000,), (20, 20, 1000), (5000,)])
@pytest.mark.parametrize("prefix", PREFIXES)
def test_ranks_are_read_however_long_lines_are(tmp_path: Path, prefix: str, payloads: tuple[int, ...]) -> None:
    (tmp_path / "job.log").write_bytes(b"".join(lines_of(prefix, payloads)))
    assert heard(tmp_path / "job.log") == dict.fromkeys(range(RANKS), ROUNDS)


@pytest.mark.usefixtures("small")
def test_a_growing_log_of_long_lines_is_judged_again_until_it_has_shown_enough(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    lines = list(lines_of("{}: ", (1000,)))
    path.write_bytes(b"".join(lines[:17]))
    found = discover([str(path)])
    job = Job(found.choose(0).sources, Options(), found=found, follow=True)
    job.read_all()
    assert not job.readers[0].is_settled
    with path.open("ab") as more:
        more.writelines(lines[17:])
    for _ in range(100):
        if job.snapshot().counts().lines == len(lines):
            break
        job.poll(threading.Event())
    assert job.snapshot().counts().per_rank == dict.fromkeys(range(RANKS), ROUNDS)


@pytest.mark.usefixtures("small")
def test_heads_of_long_lines_are_those_of_the_text(tmp_path: Path) -> None:
    chance = random.Random(3)
    text = b"\n".join(b"%d:" % n + b"x" * chance.choice((0, 5, 4094, 9000, 40_000)) for n in range(200))
    (tmp_path / "job.log").write_bytes(text)
    source = discover([str(tmp_path / "job.log")]).choose(0).sources[0]
    whole = [line[: sampling.SHOWN] for line in text.split(b"\n")]
    for begin in (0, 1, 5000, len(text) // 2, len(text) - 3):
        heads = list(sampling._heads(source, begin, len(text)))
        assert [head for _, head in heads] == whole[len(whole) - len(heads) :]
        assert all(text[at : at + len(head)] == head for at, head in heads)
        assert len(heads) == (200 if begin == 0 else text[begin:].count(b"\n"))


def test_of_ordinary_lines_no_more_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.log").write_bytes(b"2026-03-01 12:00:00 INFO of the usual length\n" * 40_000)
    source = discover([str(tmp_path / "job.log")]).choose(0).sources[0]
    asked: list[int] = []
    pread = source.pread
    monkeypatch.setattr(source, "pread", lambda at, length: asked.append(length) or pread(at, length))
    lines = sampling.sample(source, source.size())
    assert sampling.tells(lines, source.size()) and sum(asked) == sampling.SAMPLE * 3 // 2
