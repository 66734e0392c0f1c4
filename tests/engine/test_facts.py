"""Every pattern of facts.toml reads its samples, and hostile text does no harm."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine import facts
from l4tui.engine.facts import About, Fact, attempt_told, expand, read, spoken_by, teaches
from l4tui.engine.model import Speaker

WHO = Speaker(0)
ROWS = tomllib.loads(Path(facts.__file__).with_name("facts.toml").read_text())["fact"]
SAMPLES = [(row["name"], sample) for row in ROWS for sample in row["samples"]]


def plain(value: object) -> object:
    return [plain(v) for v in value] if isinstance(value, tuple | list) else value


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SAMPLES)])
def test_samples(name: str, sample: dict[str, object]) -> None:
    lesson = next(one for one in facts.lessons() if one.name == name)
    line = str(sample["line"]).encode()
    low = line.lower()
    match = lesson.regex.search(line) if any(need in low for need in lesson.needs) else None
    if sample.get("not"):
        assert match is None
        return
    assert match is not None
    fact = facts._fact(lesson, match.groupdict())
    for field in Fact._fields[3:]:
        expected = sample.get(field, Fact._field_defaults[field])
        if field in sample or field not in ("nodes",):
            assert plain(getattr(fact, field)) == plain(expected), field
    assert teaches(line)
    assert fact._replace(speaker=WHO) in read(line, WHO)


def test_names_are_unique() -> None:
    assert len({row["name"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    "line",
    [
        b"step 12 loss 2.3 rank 3",
        b"timeout on rank 3 of world size 8",
        b"data parallel rank 3, data parallel world size 2",
        b"waiting for rank 3, local rank unknown",
        b"| iteration 12 | world record |",
        b"hostname: gx-1",
    ],
)
def test_of_others_teaches_no_rank(line: bytes) -> None:
    assert all(fact.rank < 0 for fact in read(line, WHO) if fact.about == About.WRITER)


def test_attempts() -> None:
    assert attempt_told(b"rank 2 starts on n1, local rank 2, pid 7, restart 1") == 1
    assert attempt_told(b"attempt 3/4 starting gang of 16 tasks") == 2
    assert attempt_told(b"GET failed (attempt 1/5), retrying") == -1
    assert attempt_told(b"rank 2 starts on n1, local rank 2, pid 7, restart 0") == 0


def test_lists_are_bounded() -> None:
    assert expand("0-1,3-4, 9") == (0, 1, 3, 4, 9)
    assert expand("0-999999999") == ()
    assert expand("9-1,x,-,4") == (4,)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=80), st.sampled_from([str(s["line"]).encode() for _, s in SAMPLES]), st.integers(0, 120))
def test_hostile_text(junk: bytes, line: bytes, at: int) -> None:
    text = line[:at] + junk + line[at:]
    teaches(text)
    for fact in read(text, WHO):
        assert all(-1 <= getattr(fact, name) < 2**31 for name in facts._NUMBERS)
        assert fact.node is None or re.fullmatch(r"[\w.:\-\ufffd]+", fact.node)


def test_a_line_that_tells_its_writer() -> None:
    line = b"Initializing distributed: GLOBAL_RANK: 5, MEMBER: 6/16"
    assert spoken_by(read(line, WHO), WHO).rank == 5
    weak = b"Process rank: 9, world size: 24"
    assert spoken_by(read(weak, WHO), WHO).self_rank == 9
    for speaker in (Speaker(0, launcher=True), Speaker(0, rank=2), Speaker(0, self_rank=2)):
        assert spoken_by(read(line, speaker), speaker) is speaker
    comm = b"rank 1 nranks 8 cudaDev 0 commId 0x1"  # of some communicator
    assert spoken_by(read(comm, WHO), WHO) is WHO
