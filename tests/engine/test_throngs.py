"""Thousands of ranks in one log: a sample shows each of them once or twice, and few of a step."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from l4tui.engine.formats import Parser, detect
from l4tui.engine.formats.crews import Crew

RANKS = 4096
Form = Callable[[int, str], str]
FORMS: dict[str, Form] = {
    "logging": lambda rank, text: f"2026-03-02 09:00:23,408 - root - INFO - [rank {rank}] {text}",
    "titan": lambda rank, text: f"[titan] 2026-03-02 09:00:23,408 - root - INFO - [rank {rank}] {text}",
    "glog": lambda rank, text: f"I0302 09:00:23.408327 {20000 + rank * 7 % 9973} trainer.py:214] [rank {rank}] {text}",
    "json": lambda rank, text: f'{{"level": "info", "rank": {rank}, "message": "{text}"}}',
}


def crowd(form: Form, texts: list[str]) -> list[bytes]:
    """A sample: forty ranks at each of thirty places, all but rank 0 and its neighbours."""
    chance = random.Random(5)
    out = []
    for place in range(30):
        for rank in chance.sample(range(13, RANKS), 40):
            text = texts[place * len(texts) // 30]
            out.append(form(rank, text.format(chance.random() * 9)).encode())
    return out


@pytest.mark.parametrize("name", FORMS)
def test_each_of_thousands_is_told(name: str) -> None:
    lines = crowd(FORMS[name], ["model built in {:.2f} s", "step 5 loss {:.4f} forward 178", "exits cleanly"])
    parser = Parser(detect(lines))
    for line in lines[::37]:
        ranks = [line[s.start : s.end] for s in parser.parse(line).spans if s.field in ("rank", "self_rank")]
        assert ranks and ranks[0].decode() in line.decode()


@pytest.mark.parametrize("name", ("logging", "json"))
def test_results_of_thousands_are_no_ranks(name: str) -> None:
    """One thing is said of each: where a document stands among all."""
    lines = crowd(FORMS[name], ["score {:.4f} of the document"])
    parser = Parser(detect(lines))
    assert not any(s.field in ("rank", "self_rank") for s in parser.parse(lines[0]).spans)


def test_few_numbers_are_no_throng() -> None:
    ids = [k * 7 % 64 for k in range(200)]
    assert not Crew(ids, [b"step 1"] * 100 + [b"done"] * 100).is_throng()
    assert not Crew(range(400), [b"step 1"] * 200 + [b"done"] * 200).is_throng()  # a list counts up
