"""Conditions: every kind in and out, combined, shown as chips that a key or a click takes away one by one."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import numpy as np
import pytest

from l4tui.engine.view import Filter, Scope
from tests.l4tui.demo_screen import SIZES, job_of, opened, picture, press
from tests.l4tui.fake import FakeJob
from tests.l4tui.screen import shown, until

ALL = (
    "only stage train",
    "only iteration 5-9",
    "hide level warning",
    "hide rank 3",
    "only node n0",
    "hide event collated",
    "only site train.py:142",
)


def rows_of(screen) -> np.ndarray:
    return np.flatnonzero(screen.viewer.bits(screen.snapshot, screen.scope, Event()))


async def narrowed(pilot, screen, commands: tuple[str, ...] = ALL) -> None:
    for command in commands:
        name, _, text = command.partition(" ")
        screen.act(name, text)
        assert not screen._said, screen._said
    await until(pilot, lambda: screen.is_settled)


async def test_all_kinds_combine() -> None:
    async with shown(FakeJob(1000), (200, 60)) as (pilot, screen):
        await narrowed(pilot, screen)
        snap, rows = screen.snapshot, rows_of(screen)
        speaker = snap.speaker[rows]
        assert len(rows) and set(snap.iteration[rows].tolist()) <= set(range(5, 10))
        assert set(snap.ranks.rank[speaker].tolist()) == {0, 1, 2}  # node n0 without rank 3
        assert set(snap.plan[rows].tolist()) == {0}  # train.py:142
        assert len(screen.scope.conditions) == len(ALL)


async def test_kinds_that_keep_are_alternatives_among_themselves() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await narrowed(pilot, screen, ("only rank 1", "only rank 5-6", "hide rank 6"))
        assert set(screen.snapshot.ranks.rank[screen.snapshot.speaker[rows_of(screen)]].tolist()) == {1, 5}


def test_a_choice_of_ranks_is_a_condition_per_item() -> None:
    scope = Scope(ranks="0-7,!3 node:n12", filters=(Filter("stage", "4", True, "train"),))
    assert scope.conditions == ("ranks 0-7", "!rank 3", "node n12", "stage train")
    assert scope.without(1).ranks == "0-7,node:n12"
    assert scope.without(3).filters == () and scope.without(3).ranks == scope.ranks
    assert Scope(ranks="5").without(0).ranks == ""


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("size", SIZES)
async def test_a_number_removes_a_chip(size: tuple[int, int], plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    async with shown(FakeJob(1000), size, ascii=plain) as (pilot, screen):
        await narrowed(pilot, screen, ALL[:3])
        sign = "x" if plain else "×"
        row = next(text for text in picture(screen) if " of 1,000" in text)
        assert f"1 stage train {sign}" in row and f"2 iteration 5-9 {sign}" in row
        await pilot.press("K", "2")
        await until(pilot, lambda: [f.kind for f in screen.scope.filters] == ["stage", "level"])
        assert not screen.prompt.is_open and screen.view.has_focus
        await pilot.press("K", "9", "enter")
        assert len(screen.scope.filters) == 2 and not screen.prompt.is_open
        await pilot.press("backspace", "K")
        assert screen.scope.conditions == ()
        await pilot.press("K")
        assert screen._said == "nothing is hidden"


async def test_two_figures_are_waited_for_where_there_are_so_many_chips() -> None:
    async with shown(FakeJob(1000), (200, 60)) as (pilot, screen):
        await narrowed(pilot, screen, tuple(f"hide iteration {n}" for n in range(1, 13)))
        await pilot.press("K", "1")
        assert screen.prompt.is_open
        await pilot.press("2")
        assert screen.scope.conditions[-1] == "!iteration 11" and not screen.prompt.is_open


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("size", SIZES)
async def test_a_click_removes_a_chip(size: tuple[int, int], plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    async with shown(FakeJob(1000), size, ascii=plain) as (pilot, screen):
        await narrowed(pilot, screen, ("only stage train", "hide level warning"))
        y = next(y for y, text in enumerate(picture(screen)) if " of 1,000" in text)
        await pilot.click(offset=(picture(screen)[y].index("1 stage") + 3, y))
        await until(pilot, lambda: [f.kind for f in screen.scope.filters] == ["level"])
        y = next(y for y, text in enumerate(picture(screen)) if " of 1,000" in text)
        await pilot.click(offset=(1, y))  # beside it
        assert len(screen.scope.filters) == 1


async def test_the_list_of_filters_removes_one(tmp_path: Path) -> None:
    async with opened(job_of(tmp_path / "job", "rank-exception")) as (pilot, screen):
        whole = screen.view.rows.length
        for command in ("only stage train", "only iteration 5-9", "hide level warning"):
            await press(pilot, screen, ":", *("space" if c == " " else c for c in command), "enter")
        assert 0 < screen.view.rows.length < whole
        screen.act("filters")
        await pilot.pause()
        await pilot.press("j", "enter")
        await until(pilot, lambda: [f.kind for f in screen.scope.filters] == ["stage", "level"])


@pytest.mark.parametrize(
    "command",
    [
        *("only stage x", "only iteration z", "hide level loud", "only site nosuch", "only what", "hide event nosuch"),
        *("only rank x", "only rank 99", "hide node nosuch", "only rank"),
    ],
)
async def test_what_is_no_condition_is_said(command: str) -> None:
    async with shown(FakeJob(1000)) as (_, screen):
        name, _, text = command.partition(" ")
        screen.act(name, text)
        assert screen._said_style == "error" and screen._said and not screen.scope.filters
