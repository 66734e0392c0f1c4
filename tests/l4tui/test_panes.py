"""Panes: the grid of ranks, call sites, Compare; at three sizes, in ASCII and without colours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from l4tui import panes
from l4tui.actions import ACTIONS
from l4tui.engine.compare import CONSENSUS
from l4tui.judge import Ruling
from l4tui.panes.compare import read_columns
from l4tui.panes.ranks import Cell, flow
from l4tui.sidebyside import fitting
from tests.l4tui.demo_screen import SIZES, job_of, opened, picture, press
from tests.l4tui.fake import FakeJob
from tests.l4tui.screen import shown, until

GRID, SITES, COMPARE = "2", "5", "|"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return job_of(tmp_path_factory.mktemp("jobs") / "job-1", "rank-exception")


def test_every_pane_has_an_action_and_a_key_of_its_own() -> None:
    known = {action.id for action in ACTIONS}
    assert {f"pane_{entry.name}" for entry in panes.PANES} <= known
    assert len({entry.key for entry in panes.PANES}) == len(panes.PANES)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("key", [entry.key for entry in panes.PANES])
async def test_a_pane_opens_and_closes_with_its_key(failed: Path, key: str, size: tuple[int, int]) -> None:
    async with opened(failed, size) as (pilot, screen):
        before = picture(screen)
        await press(pilot, screen, key)
        assert screen.pane is not None and screen.pane.has_focus
        assert picture(screen) != before
        if size == (80, 24):
            assert screen.is_pane_alone == (key != GRID)  # 16 ranks take little room
        await press(pilot, screen, key)
        assert screen.pane is None and screen.view.has_focus and picture(screen) == before


@pytest.mark.parametrize("size", SIZES)
async def test_panes_in_ascii_without_colours(
    failed: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(failed, size, ascii=True) as (pilot, screen):
        for key in (GRID, SITES, COMPARE):
            await press(pilot, screen, key)
            assert all(row.isascii() for row in picture(screen)), key


async def test_tab_gives_the_keys_to_the_log_and_back(failed: Path) -> None:
    async with opened(failed, (200, 60)) as (pilot, screen):
        await press(pilot, screen, GRID, "tab")
        row = screen.view.row
        await press(pilot, screen, "k")
        assert screen.view.row == row - 1
        await press(pilot, screen, "tab", "k")
        assert screen.view.row == row - 1
        await press(pilot, screen, "1")
        assert screen.pane is None


async def test_a_pane_follows_the_size_of_the_screen(failed: Path) -> None:
    async with opened(failed, (200, 60)) as (pilot, screen):
        await press(pilot, screen, SITES)
        assert not screen.is_pane_alone
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: screen.is_pane_alone)
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: not screen.is_pane_alone)
        await press(pilot, screen, GRID)
        await pilot.resize_terminal(80, 24)  # where a small pane has its place below the log
        await until(pilot, lambda: screen.size.height == 24 and screen.view.display and screen.pane.size.height == 5)
        await pilot.resize_terminal(80, 12)
        await until(pilot, lambda: screen.is_pane_alone)


# The grid of ranks


@pytest.mark.parametrize("size", SIZES)
async def test_the_grid_marks_the_suspect_and_enter_scopes_to_it(failed: Path, size: tuple[int, int]) -> None:
    async with opened(failed, size, ruling=Ruling(0, "failed", "rank 3 did it", ranks=(3,))) as (pilot, screen):
        await press(pilot, screen, GRID)
        await until(pilot, lambda: screen.ruling.ranks and screen.pane.cells[screen.pane.at].rank == 3)
        text = "\n".join(picture(screen))
        assert "▲3" in text and "1 suspect" in text and "rank 3" in text
        await press(pilot, screen, "enter")
        assert screen.scope.ranks == "3" and screen.scope.lens == "lines"
        assert screen.pane is not None and screen.view.display


async def test_the_cursor_moves_among_the_ranks(failed: Path) -> None:
    async with opened(failed, (120, 40), ruling=Ruling(0, "", ranks=(0,))) as (pilot, screen):
        await press(pilot, screen, GRID)
        for key, at in (("g", 0), ("l", 1), ("right", 2), ("h", 1), ("G", 15), ("g", 0), ("down", 0), ("h", 0)):
            await press(pilot, screen, key)
            assert screen.pane.at == at, key  # both nodes stand in one row


async def test_panes_are_found_as_they_were_left(failed: Path) -> None:
    async with opened(failed, (120, 40)) as (pilot, screen):
        await press(pilot, screen, GRID, "g", "l", "l")
        assert screen.pane.at == 2
        await press(pilot, screen, SITES, "j", "l")
        board, place = screen.pane.board, (screen.pane.line, screen.pane.column)
        await press(pilot, screen, GRID)
        assert screen.pane.at == 2
        await press(pilot, screen, SITES)
        assert screen.pane.board.by == board.by and (screen.pane.line, screen.pane.column) == place


def test_many_ranks_flow_into_few_rows() -> None:
    cells = [Cell(rank, f"n{rank // 8:04}", "with", 1, 0, 1, "") for rank in range(8192)]
    lines = flow(cells, 79, 1)
    assert sum(group.size for line in lines for group in line) == 8192
    assert len(lines) < 260 and all(len(line) >= 4 for line in lines[:-1])
    wide = [Cell(rank, "n0", "with", 1, 0, 1, "") for rank in range(200)]
    assert [group.size for line in flow(wide, 79, 1) for group in line] == [64, 64, 64, 8]


async def test_no_rank_no_harm() -> None:
    async with shown(FakeJob(0)) as (pilot, screen):
        for key in (GRID, SITES, COMPARE):
            await pilot.press(key, "j", "l", "enter", "n", "d", "x", "G", "escape")
        assert screen.pane is None


# Call sites


@pytest.mark.parametrize("size", SIZES)
async def test_the_matrix_scopes_to_a_cell_and_hides_a_site(failed: Path, size: tuple[int, int]) -> None:
    async with opened(failed, size) as (pilot, screen):
        await press(pilot, screen, SITES, "d")
        board, line = screen.pane.board, screen.pane.line
        assert abs(int(board.matrix.deviation[line, screen.pane.column])) == 3
        label, rank = board.labels[line], board.columns[screen.pane.column]
        assert any(label in row and "▲" in row for row in picture(screen))
        await press(pilot, screen, "x")
        assert [(f.kind, f.keep) for f in screen.scope.filters] == [("site", False)]
        await press(pilot, screen, "enter")
        assert screen.scope.ranks == rank and screen.scope.filters[-1].keep
        assert 0 < screen.view.rows.length < 200


async def test_the_matrix_turns_to_events_and_to_nodes(failed: Path) -> None:
    async with opened(failed) as (pilot, screen):
        await press(pilot, screen, SITES)
        assert len(screen.pane.board.columns) == 16
        await press(pilot, screen, "v")
        assert screen.pane.board.by == "event" and "Events by rank" in "\n".join(picture(screen))
        await press(pilot, screen, "z")
        assert len(screen.pane.board.columns) == 2
        await press(pilot, screen, "G", "l", "enter")
        assert screen.scope.ranks.startswith("node:")


# Compare


@pytest.mark.parametrize(("width", "many"), [(40, 2), (80, 2), (120, 4), (200, 6), (400, 6)])
def test_columns_that_fit(width: int, many: int) -> None:
    assert fitting(width) == many


def test_columns_as_typed() -> None:
    assert read_columns("all,17") == (CONSENSUS, 17)
    assert read_columns("17") == (CONSENSUS, 17)
    assert read_columns("3-5 9") == (3, 4, 5, 9)
    for wrong in ("", "all", "0-20", "x", "1,1,all,all"[:0]):
        with pytest.raises(ValueError, match=r"compared|no rank"):
            read_columns(wrong)


@pytest.mark.parametrize("size", SIZES)
async def test_the_culprit_stands_beside_what_most_said(failed: Path, size: tuple[int, int]) -> None:
    async with opened(failed, size) as (pilot, screen):
        await press(pilot, screen, "d", COMPARE)
        pane, culprit = screen.pane, screen.study.survey.stops[0].ranks[0]
        assert pane.columns == (CONSENSUS, culprit)
        here = picture(screen)
        assert any("what most said" in row and f"rank {culprit}" in row for row in here)
        assert any("╌╌" in row and "Error" in row for row in here)  # a gap beside what only one said
        await press(pilot, screen, "enter")
        assert screen.pane is None and screen.cursor_rank == culprit


async def test_who_is_accused_is_compared_where_the_cursors_row_names_nobody(failed: Path) -> None:
    async with opened(failed, (120, 40)) as (pilot, screen):
        await press(pilot, screen, "g")
        screen.ruling = screen.ruling._replace(ranks=(5,), version=screen.snapshot.version, is_final=True)
        assert screen.divergence is None
        await press(pilot, screen, COMPARE)
        assert screen.pane.columns == (CONSENSUS, 5)


async def test_differences_are_walked_and_columns_scroll_together(failed: Path) -> None:
    async with opened(failed, (200, 60)) as (pilot, screen):
        await press(pilot, screen, COMPARE)
        await press(pilot, screen, "r", *(["backspace"] * 20), *"1-6", "enter")
        pane = screen.pane
        assert pane.columns == (1, 2, 3, 4, 5, 6)
        await press(pilot, screen, "g", "n")
        first = pane._spot
        assert pane._window.rows[pane.at].differs
        await press(pilot, screen, "n")
        assert pane._spot > first and pane._window.rows[pane.at].differs
        await press(pilot, screen, "N")
        assert pane._spot == first
        await press(pilot, screen, "l")
        assert pane.left > 0
        await press(pilot, screen, "]")
        assert pane.columns[-1] == 7
        await press(pilot, screen, "escape")
        assert screen.pane is None


async def test_compare_scrolls_through_the_whole_job(failed: Path) -> None:
    async with opened(failed, (80, 24)) as (pilot, screen):
        await press(pilot, screen, COMPARE, "g")
        seen = {screen.pane._spot}
        for _ in range(40):
            await press(pilot, screen, "space")
            seen.add(screen.pane._spot)
        assert screen.pane._window.is_last and len(seen) > 5
        last = screen.pane._spot
        for _ in range(60):
            await press(pilot, screen, "b")
        assert screen.pane._spot == (0, -1) < last


def test_two_ranks_are_compared_with_each_other() -> None:
    from types import SimpleNamespace

    from l4tui.sidebyside import columns_for

    study = SimpleNamespace(ranks=SimpleNamespace(rank=np.array([0, 1])), survey=SimpleNamespace(stops=[]))
    assert columns_for(study, (), None) == (0, 1)  # type: ignore[arg-type]
