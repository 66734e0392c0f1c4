"""The telemetry pane over a written job: list, search, chart, band, zoom, and the cursor it shares with the log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot

from l4tui.actions import keymap
from l4tui.app import L4App
from l4tui.charts import Curve, View, draw
from l4tui.config import Config
from l4tui.engine.discovery import discover
from l4tui.engine.iterations import Timeline
from l4tui.engine.job import Job
from l4tui.engine.telemetry.bands import Band, Line
from l4tui.engine.telemetry.eventfiles import EventWriter
from l4tui.gauges import job_gauges, telling
from l4tui.panes.plotting import Drawing, Told
from l4tui.panes.telemetry import Listed, Shown
from l4tui.screens.job import JobScreen
from tests.l4tui.screen import until

RANKS, STEPS, FIRST_NAN = 6, 60, 50
SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Six ranks; rank 4 is slow from step 30 on, the loss of rank 2 is no number from step 50 on."""
    lines = []
    for step in range(1, STEPS + 1):
        for rank in range(RANKS):
            loss = "nan" if rank == 2 and step >= FIRST_NAN else f"{10 / step + rank / 100:.4f}"
            took = 300 if rank == 4 and step >= 30 else 100 + rank
            lines.append(
                f"[rank{rank}]: 2026-01-02 03:{step // 60:02d}:{step % 60:02d},000 INFO step {step}/60 loss {loss} "
                f"lr {0.001 / step:.3e} took {took} ms"
            )
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    monitor = ["#Date       Time        gpu   pwr  gtemp", "#YYYYMMDD   HH:MM:SS    Idx     W      C"]
    monitor += [f" 20260102   03:00:{s:02d}      0   {300 + s}     60" for s in range(1, 59)]
    (tmp_path / "dmon.txt").write_text("\n".join(monitor) + "\n")
    return tmp_path


@asynccontextmanager
async def charted(
    job: Path, size: tuple[int, int] = (120, 40), **settings: object
) -> AsyncIterator[tuple[Pilot[int], JobScreen, Shown]]:
    """Open the pane and wait for its chart."""
    config = Config(**{"follow": False, "theme": "l4tui", "lens": "lines", "cache": False, **settings})  # type: ignore[arg-type]
    app = L4App(discover([str(job)]), config, keymap())
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, JobScreen)
        screen.judge = lambda snapshot: screen.ruling._replace(version=snapshot.version)
        await until(pilot, lambda: screen.view.rows.length >= RANKS * STEPS, 10)
        screen._look_round()
        await pilot.press("6")
        await until(pilot, lambda: isinstance(screen.pane, Shown) and screen.pane.drawing is not None, 10)
        pane = screen.pane
        assert isinstance(pane, Shown)
        await until(pilot, lambda: pane.has_focus and pane.listed is not None and has_all(pane.listed))
        await still(pilot, pane)
        yield pilot, screen, pane


def has_all(listed: Listed) -> bool:
    """Whether all lines have been read."""
    return listed.is_done and any(g.name == "loss" and g.samples == RANKS * STEPS for g in listed.gauges)


async def still(pilot: Pilot[int], pane: Shown) -> None:
    """Wait until what was asked for last is drawn."""
    pane.drawing = None
    pane.draw()
    await until(pilot, lambda: pane.drawing is not None, 10)


def text_of(pane: Shown) -> str:
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


async def choose(pilot: Pilot[int], pane: Shown, name: str) -> None:
    """Search for a series."""
    await pilot.press("/", *name, "enter")
    await still(pilot, pane)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("plain", [False, True])
async def test_the_chart_fits_every_terminal(
    job: Path, size: tuple[int, int], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    async with charted(job, size, ascii=plain) as (_, _, pane):
        text = text_of(pane)
        assert "loss, middle of 6" in text and "11 not finite, first at 50, rank 2" in text
        assert "iteration" in text and all(len(row) <= size[0] for row in text.splitlines())
        assert not plain or text.isascii()
        picture = pane.drawing and pane.drawing.picture
        assert picture and len(picture.rows) == pane.chart_size[1]


@pytest.mark.parametrize(
    ("verdict", "name"),
    [
        ("rank 4 in train: took takes 300 where its peers need 102, from iteration 30 on.", "took"),
        ("The whole job in train, iteration 9: the lr jumps from 0.1 to 9.", "lr"),
        ("rank 4 in train: it raised its own error: took 4 s.", "loss"),
    ],
)
def test_the_series_that_the_verdict_is_about_is_drawn_first(verdict: str, name: str) -> None:
    names = ["data", "loss", "lr", "took"]
    assert names[telling(names, verdict)] == name


async def test_a_band_names_who_lies_outside(job: Path) -> None:
    async with charted(job) as (pilot, _, pane):
        await choose(pilot, pane, "took")
        assert "outside: rank 4" in text_of(pane)
        await pilot.press("v")
        await still(pilot, pane)
        assert "rank 0" in text_of(pane) and "each rank" in text_of(pane)
        await pilot.press("v", "[", "]", "]")
        await still(pilot, pane)
        assert pane.rank == 0 and "outside" not in text_of(pane)
        await pilot.press("escape", "escape")
        assert pane.rank is None and pane.wanted == ""


async def test_the_cursors_of_chart_and_log_are_one(job: Path) -> None:
    async with charted(job) as (pilot, screen, pane):
        await choose(pilot, pane, "took")
        await pilot.press("0")
        await until(pilot, lambda: int(screen.snapshot.iteration[screen.cursor_entry or 0]) == 1)
        for _ in range(200):
            if pane.cursor >= 30:
                break
            await pilot.press("right")
        assert screen.cursor_entry is not None and pane.cursor == 30
        assert int(screen.snapshot.iteration[screen.cursor_entry]) == 30
        assert "iteration 30" in text_of(pane).splitlines()[-1] and "rank 4 300" in text_of(pane).splitlines()[-1]
        await pilot.press("tab")
        screen.show_entry(int(np.flatnonzero(screen.snapshot.iteration == 7)[0]))
        await until(pilot, lambda: pane.cursor == 7)


async def test_zoom_log_scale_and_smoothing(job: Path) -> None:
    async with charted(job) as (pilot, _, pane):
        await pilot.press("0", "+")
        await still(pilot, pane)
        assert pane.drawing is not None and pane.drawing.view.high < 32 and "zoomed" in text_of(pane)
        await pilot.press("%", "~")
        await still(pilot, pane)
        assert "log scale" in text_of(pane) and "mean of 5" in text_of(pane)
        await pilot.press("-", "-", "-")
        await still(pilot, pane)
        assert pane.zoom is None


async def test_the_window_follows_the_cursor(job: Path) -> None:
    async with charted(job) as (pilot, screen, pane):
        await pilot.press("0", "+", "+")
        await still(pilot, pane)
        assert pane.zoom is not None and pane.zoom[1] < 20
        await pilot.press("$")
        await still(pilot, pane)
        assert pane.cursor == STEPS and pane.zoom[0] > 40 and pane.zoom[1] == STEPS
        await pilot.press("tab")
        screen.show_entry(int(np.flatnonzero(screen.snapshot.iteration == 25)[0]))
        await until(pilot, lambda: pane.zoom is not None and pane.zoom[0] < 25 < pane.zoom[1])


async def test_several_series_and_the_machines_on_one_axis(job: Path) -> None:
    async with charted(job) as (pilot, _, pane):
        await choose(pilot, pane, "loss")
        await pilot.press("m")
        await choose(pilot, pane, "")
        await choose(pilot, pane, "lr")
        assert "loss" in text_of(pane) and pane.pinned == ["loss"]
        outside = [g for g in pane.listed.gauges if g.is_outside] if pane.listed else []
        assert any("pwr" in g.name or "power" in g.name for g in outside)
        await pilot.press("escape")
        pane.at = [g.name for g in pane.shown].index(outside[0].name)
        await still(pilot, pane)
        assert pane.drawing is not None and pane.drawing.picture is not None
        await pilot.press("enter", "right")  # no line holds its values


async def test_event_files_stand_at_their_own_steps(job: Path) -> None:
    for run in ("eval", "train"):
        writer = EventWriter(job / run, 1.0)
        writer.add("score", np.arange(5, 56, 10), np.full(6, 1_600_000_000.0), np.arange(6.0))
        writer.close()
    async with charted(job) as (pilot, _, pane):
        await choose(pilot, pane, "score")
        drawing = pane.drawing
        assert drawing is not None and drawing.xs is not None
        assert np.unique(drawing.xs).tolist() == [5, 15, 25, 35, 45, 55]
        assert "eval" in text_of(pane) and "train" in text_of(pane)
        await choose(pilot, pane, "no such")
        assert "no series has such a name" in text_of(pane)


def test_iterations_that_begin_anew_with_every_epoch_stand_in_time(tmp_path: Path) -> None:
    lines = [
        f"[rank{rank}]: 2026-01-02 03:{epoch:02d}:{step:02d},000 INFO step {step}/60 loss {9 - epoch - step / 60:.4f}"
        for epoch in range(RANKS) for step in range(1, STEPS) for rank in range(RANKS)
    ]  # fmt: skip
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    found = discover([str(tmp_path)])
    job = Job(found.choose(0).sources)
    job.read_all()
    gauges, snap = job_gauges(job, Config()), job.snapshot()
    gauges.index.update(snap)
    timeline = Timeline()
    timeline.update(snap, 0)
    axis = gauges.axis(snap, timeline)
    loss = gauges.samples(next(g for g in gauges.names() if g.name == "loss"), snap, axis, [0])
    assert not axis.by_iteration and loss.x.tolist() == sorted(loss.x.tolist()) and loss.x[-1] == 358


async def test_elsewhere_the_keys_say_where_they_belong(job: Path) -> None:
    async with charted(job) as (pilot, screen, _):
        await pilot.press("6", "+")
        assert "6 opens" in screen._said


def test_a_chart_knows_the_cells_of_its_axis() -> None:
    x = np.arange(0.0, 101.0)
    view = View(60, 12, 0, 100)
    picture = draw([Curve(Line("a", x, x * 1e6)), Curve(Line("b", x, -x), on_right=True)], view)
    assert len(picture.rows) == 12 and 0 < picture.left < picture.right < 60
    assert picture.column(0, view) == picture.left and picture.column(100, view) == picture.right
    assert picture.column(101, view) == -1
    flat = draw([Curve(Line("a", x, np.zeros(101)))], view._replace(is_log=True, low=5, high=5))
    assert len(flat.rows) == 12


def test_where_no_rank_has_a_value_none_of_its_neighbours_is_told() -> None:
    at = np.array([1.0, 2.0, 3.0, 6.0])
    band = Band(at, at * 10, at * 10 - 1, at * 10 + 1, 4, ())
    told = Told("loss", band, (), np.array([3.0, 4.0]), np.array([1, 4]))
    drawing = Drawing(None, View(40, 10, 0.0, 60.0), (0.0, 60.0), told=(told,))  # 1.5 iterations a cell
    assert drawing.at(2.0) == [("loss 20 [19..21]", "plain")]
    assert drawing.at(3.0) == [("loss: not finite", "error"), ("loss 30 [29..31]", "plain")]
    assert drawing.at(4.0) == [("loss: not finite on 4 ranks", "error")]
    assert drawing.at(6.0) == [("loss 60 [59..61]", "plain")]
    assert drawing.at(50.0) == [("loss: no value", "quiet")]
