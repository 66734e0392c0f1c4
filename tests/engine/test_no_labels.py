"""Numbers that look like labels and are a program's own: epochs, classes, devices. No rank may come of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.engine.reading import ranks_of


def loss(rng: random.Random) -> str:
    return f"{rng.random():.4f}"


def logs() -> dict[str, list[str]]:
    """Return logs of one process by what their numbers are."""
    rng = random.Random(3)
    table = [f"{c}: precision {loss(rng)} recall {loss(rng)}" for _ in range(20) for c in range(10)]
    devices = [
        text
        for step in range(30)
        for text in (
            f"gpu-host  Thu Nov 29 10:00:{step:02d} 2026  535.54",
            *(f"[{g}] A100 | {40 + g}'C, {rng.randrange(99):3d} % | {rng.randrange(80000):5d} MB |" for g in range(8)),
        )
    ]
    return {
        "epochs in brackets": [f"[{k // 40}] loss {loss(rng)}" for k in range(400)],
        "epochs before a colon": [f"{k // 40}: loss {loss(rng)}" for k in range(400)],
        "epochs of epochs": [f"({k // 30}/10) loss {loss(rng)}" for k in range(300)],
        "folds": [f"[{fold}/5] step {k} loss {loss(rng)}" for fold in range(5) for k in range(60)],
        "epochs that train and test": [f"[{k // 8}] {'train' if k % 2 else 'test'} {loss(rng)}" for k in range(160)],
        "a table of classes": table,
        "predicted classes": [f"[{rng.randrange(10)}] predicted {loss(rng)}" for _ in range(300)],
        "named classes": [
            f"[{c}] {('cat', 'dog', 'bird', 'fish')[c]} {loss(rng)}" for c in rng.choices(range(4), k=300)
        ],
        "classes before a colon": [f"{rng.randrange(10)}: predicted {loss(rng)}" for _ in range(300)],
        "classes in parentheses": [f"({rng.randrange(10)}) predicted {loss(rng)}" for _ in range(300)],
        "a column": [f"{rng.randrange(10)}\t{loss(rng)}\tx" for _ in range(300)],
        "an index": [f"[{rng.randrange(8)}]: {loss(rng)}" for _ in range(300)],
        "devices": devices,
        "layers": [f"({i}): Linear(in={rng.randrange(999)})" for _ in range(20) for i in range(12)],
        "loaders": [f"[loader{rng.randrange(4)}]: {rng.choice(('fetched', 'waits'))} {k}" for k in range(300)],
        "quotes": [f"{rng.randrange(4)}> message {k}" for k in range(300)],
        "results by rank": [f"Rank {rng.randrange(5)}: score {loss(rng)}" for _ in range(300)],
    }


@pytest.mark.parametrize("kind", logs())
def test_no_rank(tmp_path: Path, kind: str) -> None:
    assert set(ranks_of(tmp_path, logs()[kind])) == {None}


@pytest.mark.parametrize("form", ["{}: step {} loss {}", "[{}] step {} loss {}"])
@pytest.mark.parametrize("ranks", [2, 8])
def test_numbers_that_race_are_ranks_though_they_say_one_thing(tmp_path: Path, form: str, ranks: int) -> None:
    rng = random.Random(5)
    truth: list[int] = []
    lines: list[str] = []
    for step in range(60):
        for rank in rng.sample(range(ranks), ranks):
            truth.append(rank)
            lines.append(form.format(rank, step, loss(rng)))
    assert ranks_of(tmp_path, lines) == truth


@pytest.mark.parametrize("head", ["2026-01-03 12:00:{:02},000 - INFO - ", "[12:00:{:02}] ", "[2026-01-03T12:00:{:02}]"])
@pytest.mark.parametrize("label", ["{}: ", "[{}] "])
def test_a_number_before_a_loggers_line_is_a_label_though_all_say_one_thing(
    tmp_path: Path, head: str, label: str
) -> None:
    lines = [label.format(rank) + head.format(step) + f"step {step}" for step in range(40) for rank in range(4)]
    assert ranks_of(tmp_path, lines) == [rank for _ in range(40) for rank in range(4)]
