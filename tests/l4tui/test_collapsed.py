"""The collapsed lens and the stops of `d`, on jobs of the demo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from l4tui.collapsed import set_words
from l4tui.engine.outline import LINE, RULE, Outline
from tests.l4tui.demo_screen import SIZES, job_of, opened, picture, press, settled
from tests.l4tui.fake import FakeJob
from tests.l4tui.screen import screen_rows, shown, until


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return job_of(tmp_path_factory.mktemp("jobs") / "job-1", "rank-exception")


@pytest.fixture(scope="module")
def hung(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return job_of(tmp_path_factory.mktemp("jobs") / "job-2", "hang-collective")


@pytest.mark.parametrize("size", SIZES)
async def test_ranks_that_agree_are_one_row(failed: Path, size: tuple[int, int]) -> None:
    async with opened(failed, size) as (pilot, screen):
        assert screen.scope.lens == "collapsed"
        await press(pilot, screen, "g", "t", *"i12", "enter")
        rows = screen_rows(screen)
        assert any(" all " in row and ".." in row for row in rows)
        assert any("── iteration 12" in row for row in rows)
        assert screen._situation().account.lines == screen.snapshot.counts().lines


@pytest.mark.parametrize("size", SIZES)
async def test_d_goes_to_the_culprit_first(failed: Path, size: tuple[int, int]) -> None:
    async with opened(failed, size) as (pilot, screen):
        await press(pilot, screen, "g", "d")
        culprit = screen.study.survey.stops[0].ranks
        assert len(culprit) == 1
        here = screen_rows(screen)[screen.view.row - screen.view.top]
        assert f" {culprit[0]} " in here and "▲" in here
        assert f"rank {culprit[0]}" in "".join(screen._place()) and screen._said.startswith("1/")
        await press(pilot, screen, "d")
        assert screen._said.startswith("2/")
        await press(pilot, screen, "D")
        assert screen._said.startswith("1/")


async def test_a_missing_rank_is_named_in_the_row_of_the_others(hung: Path) -> None:
    async with opened(hung) as (pilot, screen):
        await press(pilot, screen, "d")
        here = screen_rows(screen)[screen.view.row - screen.view.top]
        assert "all but " in here and "▽" in here


async def test_rows_unfold_and_iterations_fold(failed: Path) -> None:
    async with opened(failed) as (pilot, screen):
        await press(pilot, screen, "g", "t", *"i12", "enter", "j")
        key, length = screen.view.cursor_key, screen.view.rows.length
        members = int(screen.view.rows.table.count[key])
        await press(pilot, screen, "enter")
        assert screen.view.cursor_key == key and screen.view.rows.length >= length + members
        await press(pilot, screen, "j")
        assert LINE <= screen.view.cursor_key < RULE
        await press(pilot, screen, "k", "enter")
        assert screen.view.rows.length == length
        await press(pilot, screen, "z")
        assert screen.view.cursor_key >= RULE and screen.view.rows.length < length
        assert any("▸ iteration 12" in row for row in screen_rows(screen))
        await press(pilot, screen, "z", "Z")
        assert screen.view.rows.length == len(screen.view.rows.blocks)
        await press(pilot, screen, "Z")
        assert screen.view.rows.length == length


async def test_turning_the_lens_keeps_the_line(failed: Path) -> None:
    async with opened(failed) as (pilot, screen):
        await press(pilot, screen, "t", *"i12", "enter", "j")
        entry = screen.cursor_entry
        await press(pilot, screen, "v")
        assert screen.scope.lens == "lines" and screen.view.cursor_key == entry
        await press(pilot, screen, "v")
        assert screen._situation().lens.startswith("rank ") and screen.view.cursor_key == entry
        await press(pilot, screen, "v")
        assert isinstance(screen.view.rows, Outline) and screen.cursor_entry == entry


async def test_a_line_that_is_gone_to_stays_the_line_of_its_row(failed: Path) -> None:
    async with opened(failed) as (pilot, screen):
        rows, snap = screen.view.rows, screen.snapshot
        row = next(key for key in rows.keys(0, rows.length).tolist() if key < LINE and rows.table.count[key] == 16)
        lines = np.flatnonzero(rows.table.row == row)
        entry = int(lines[snap.ranks.rank[snap.speaker[lines]] == 11][0])
        assert int(rows.entries(np.array([row]))[0]) != entry
        screen.show_entry(entry)
        await settled(pilot, screen)
        assert screen.view.cursor_key == row and screen.cursor_entry == entry and screen.cursor_rank == 11
        await press(pilot, screen, "v")
        assert screen.scope.lens == "lines" and screen.cursor_entry == entry


async def test_hits_of_a_search_are_rows(failed: Path) -> None:
    async with opened(failed) as (pilot, screen):
        await press(pilot, screen, "g", "slash", *"step 11 ", "enter")
        await until(pilot, lambda: "step 11 " in screen_rows(screen)[screen.view.row - screen.view.top])
        await press(pilot, screen, "n")
        assert "step 11 " in screen_rows(screen)[screen.view.row - screen.view.top]  # all 16 hits are one row


async def test_a_scope_shows_the_rows_that_hold_its_lines(failed: Path) -> None:
    async with opened(failed) as (pilot, screen):
        whole = screen.view.rows.length
        await press(pilot, screen, "r", *"4-5", "enter")
        assert 0 < screen.view.rows.length < whole and "ranks 4-5" in screen.scope.conditions
        await press(pilot, screen, "backspace")
        assert screen.view.rows.length == whole


async def test_one_rank_alone_is_read_line_by_line(failed: Path) -> None:
    async with opened(failed) as (pilot, screen):
        before = screen.scope
        for keys in (["r", *"5", "enter"], ["]"]):
            await press(pilot, screen, *keys)
            rows = screen.view.rows
            ranks = set(screen.snapshot.rank(rows.entries(rows.keys(0, 9))).tolist())
            assert screen.scope.lens == "lines" and ranks == {int(screen.scope.ranks)}
        await press(pilot, screen, "escape")
        assert screen.scope == before


@pytest.mark.parametrize("size", SIZES)
async def test_ascii_and_no_colour_say_the_same(
    hung: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(hung, size, ascii=True) as (pilot, screen):
        await press(pilot, screen, "d")
        await until(pilot, lambda: any("all but " in row and " v " in row for row in picture(screen)))
        shown_text = picture(screen)
        assert all(row.isascii() for row in shown_text)
        assert any("-- iteration" in row for row in shown_text)


async def test_what_comes_later_moves_nothing_on_screen() -> None:
    job = FakeJob(4000)
    async with shown(job, lens="collapsed", size=(100, 30)) as (pilot, screen):
        await pilot.press("g", "ctrl+d", "ctrl+d")
        await until(pilot, lambda: screen.view.cursor_line is not None and not screen.view.following)
        await until(pilot, lambda: screen.study is not None and screen.is_settled)
        before = screen_rows(screen)
        job.grow(300)
        await until(pilot, lambda: screen.snapshot.length == 4300 and screen.is_settled)
        assert [row[:60] for row in screen_rows(screen)] == [row[:60] for row in before]


async def test_rows_that_others_join_are_read_again() -> None:
    job = FakeJob(4003)
    async with shown(job, lens="collapsed", size=(100, 30)) as (pilot, screen):
        last = screen_rows(screen)[-1]
        job.grow(37)
        await until(pilot, lambda: screen.snapshot.length == 4040 and screen.is_settled)
        await until(pilot, lambda: screen_rows(screen)[-1] != last)


def test_sets_of_ranks_in_words() -> None:
    everyone = np.arange(64)
    assert set_words(everyone, everyone, 14) == "all"
    assert set_words(np.delete(everyone, 17), everyone, 14) == "all but 17"
    assert set_words(np.array([3]), everyone, 14) == "3"
    assert set_words(np.array([*range(7), *range(8, 16)]), everyone, 14) == "[0-6,8-15]"
    assert set_words(np.arange(0, 64, 2), everyone, 14) == "[0,2,4,6,+28]"
    assert set_words(np.arange(0, 4096, 2), np.arange(4096), 8) == "[0,+2047]"[:0] + "2,048 ranks"
    assert set_words(np.array([], np.int64), everyone, 14) == ""
