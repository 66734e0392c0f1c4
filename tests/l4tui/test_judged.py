"""Panes of the verdict: rankings, reasons, events, iterations, auto-scope, confirm; at every size, plain and ASCII."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Input

from l4tui.engine.library import load
from l4tui.engine.opinion import Opinion
from l4tui.judge import Ruling
from l4tui.panes.diagnosis import Shown as Diagnosis
from l4tui.panes.iterations import Shown as Iterations
from l4tui.panes.listing import ranks_in_words
from l4tui.screens import sheets
from l4tui.screens.job import JobScreen
from tests.l4tui.fake import FakeJob, FakeSnapshot
from tests.l4tui.opinions import iterations_of, nobody, opinion, ruling, whole_job
from tests.l4tui.screen import shown, until

SIZES = [(80, 24), (120, 40), (200, 60)]


def rows_of(screen: JobScreen) -> list[str]:
    """Give the text of the open pane."""
    assert screen.pane is not None
    return [screen.pane.render_line(y).text.rstrip() for y in range(screen.pane.size.height)]


async def judged(pilot: Pilot[int], screen: JobScreen) -> None:
    """Wait for the verdict, which is made once a second."""
    screen._look_round()
    await until(pilot, lambda: screen.ruling.opinion is not None)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("plain", [False, True])
async def test_both_rankings_stand_side_by_side(
    size: tuple[int, int], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    async with shown(FakeJob(1000), size, ruling=ruling(), ascii=plain) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("3")
        await until(pilot, lambda: screen.pane is not None and screen.pane.size.height > 5)
        assert isinstance(screen.pane, Diagnosis)
        text = "\n".join(rows_of(screen))
        assert "failed" in text and "93 % sure" in text and "iteration 12" in text
        rank3 = next(row for row in rows_of(screen) if "rank 3 " in row and "+23" in row)
        assert "#2 0.61" in rank3 and "named outright" in rank3
        assert "the desync report names rank 3" in text and "job.log:800" in text
        assert "\x1b" not in text and "\u202e" not in text
        assert not plain or text.isascii()
        assert all(len(row) <= size[0] for row in rows_of(screen))


async def test_one_key_sorts_by_the_other_ranking() -> None:
    async with shown(FakeJob(1000), (120, 40), ruling=ruling()) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("3")
        names = [item.thing.name for item in _items(screen) if hasattr(item.thing, "l4_place")]
        assert names == ["rank 3", "rank 5", "n0", "n1"]
        await pilot.press("v")
        names = [item.thing.name for item in _items(screen) if hasattr(item.thing, "l4_place")]
        assert names == ["rank 5", "rank 3", "n0", "n1"]


async def test_enter_goes_to_the_lines_one_after_the_other() -> None:
    async with shown(FakeJob(1000), (200, 60), ruling=ruling()) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("3")
        await until(pilot, lambda: screen.pane is not None and screen.pane.has_focus)
        await pilot.press("enter")
        assert screen.cursor_entry == 799 and screen.pane is not None
        await pilot.press("enter")
        assert screen.cursor_entry == 803
        await pilot.press("j", "j", "j", "enter")
        assert screen.cursor_entry == 643


async def test_alone_the_pane_gives_way_to_the_log() -> None:
    async with shown(FakeJob(1000), (80, 24), ruling=ruling()) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("3")
        await until(pilot, lambda: screen.is_pane_alone)
        await pilot.press("enter")
        assert screen.pane is None and screen.cursor_entry == 799


async def test_folding_keeps_the_cursor() -> None:
    async with shown(FakeJob(1000), (200, 60), ruling=ruling()) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("3")
        before = len(_items(screen))
        await pilot.press("z")
        assert len(_items(screen)) < before and _pane(screen).current.key == ("suspect", "rank 3")
        await pilot.press("right")
        assert len(_items(screen)) == before
        await pilot.press("Z", "Z")
        text = "\n".join(rows_of(screen))
        assert "checkpoint saved to" in text and "look at its last line" in text


async def test_a_pane_is_found_as_it_was_left() -> None:
    async with shown(FakeJob(1000), (200, 60), ruling=ruling()) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("3", "z", "v", "G")
        left, key = len(_items(screen)), _pane(screen).current.key
        await pilot.press("3")
        assert screen.pane is None
        await pilot.press("3")
        await until(pilot, lambda: screen.pane is not None and screen.pane.size.width)
        assert len(_items(screen)) == left and _pane(screen).current.key == key
        names = [item.thing.name for item in _items(screen) if hasattr(item.thing, "l4_place")]
        assert names == ["rank 5", "rank 3", "n0", "n1"]


@pytest.mark.parametrize(
    ("found", "words"), [(nobody(), "nothing accuses a rank"), (whole_job(), "8 of 8 ranks raised")]
)
async def test_nobody_and_the_whole_job_are_verdicts(found: Opinion, words: str) -> None:
    async with shown(FakeJob(1000), ruling=ruling(found)) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("3")
        text = "\n".join(rows_of(screen))
        assert words in text and ("nobody" in text or "the whole job" in text)
        await pilot.press("j", "k", "z", "Z", "G", "g", "A", "escape")


async def test_before_the_verdict_the_pane_waits() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press("3")
        assert "being judged" in rows_of(screen)[1]
        await pilot.press("j", "enter", "v", "z", "A", "4", "s", "j", "G", "enter", "escape")


async def test_auto_scope_shows_the_suspect_its_node_and_peers_around_its_iteration() -> None:
    async with shown(FakeJob(1000), ruling=ruling()) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("A")
        assert screen.scope.ranks == "3,6,node:n0"
        assert [f.words for f in screen.scope.filters] == ["iterations 11-13"]
        await until(pilot, lambda: 0 < screen.view.rows.length < 200)
        keys = screen.view.rows.keys(0, 1000)
        ranks = {int(screen.snapshot.ranks.rank[screen.snapshot.speaker[e]]) for e in keys.tolist()}
        assert ranks == {0, 1, 2, 3, 6} and {int(screen.snapshot.iteration[e]) for e in keys.tolist()} == {11, 12, 13}
        await pilot.press("escape")
        await until(pilot, lambda: screen.view.rows.length == 1000)


async def test_iterations_of_any_number_are_walked() -> None:
    table = iterations_of(100_000, odd=(12, 70_000), lines=0)
    async with shown(FakeJob(1000), ruling=ruling(opinion(iterations=table))) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("4")
        await until(pilot, lambda: screen.is_pane_alone)
        assert isinstance(screen.pane, Iterations)
        assert "100,000" in rows_of(screen)[0] and "2 odd" in rows_of(screen)[0]
        began = time.thread_time()  # the drawing thread's own: the machine may be busy
        await pilot.press("g", "s", "s")
        assert time.thread_time() - began < 1.0
        assert screen.pane.current.key == (0, 70_000)
        await pilot.press("v")
        assert screen.pane.length == 2 and "70,000" in "\n".join(rows_of(screen))
        await pilot.press("S")
        assert screen.pane.current.key == (0, 12)


async def test_odd_iterations_are_walked_from_the_log_too() -> None:
    async with shown(FakeJob(1000), ruling=ruling()) as (pilot, screen):
        await judged(pilot, screen)
        await pilot.press("g", "s")
        assert screen.cursor_entry == 480 and "took much longer" in screen._said
        await pilot.press("s")
        assert screen.cursor_entry == 480 and "went on from the top" in screen._said
        await pilot.press("4", "enter")
        assert screen.cursor_entry == 480


async def test_confirm_files_the_event_and_it_matches_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with shown(FakeJob(1000, odd={799: "flux capacitor 12 overheated on slot 7"}), ruling=ruling()) as (
        pilot,
        screen,
    ):
        await judged(pilot, screen)
        screen.show_entry(799)
        await pilot.press("C")
        await until(pilot, lambda: bool(screen.app.screen.query(Input)))
        for words in ("bogus", "swap it", "it overheats"):
            screen.app.screen.query_one(f"#{screen.app.focused.id}", Input).value = words  # type: ignore[union-attr]
            await pilot.press("enter")
        assert screen.app.screen is not screen  # the cause is none
        screen.app.screen.query_one("#form-cause", Input).value = "gpu"
        await pilot.press("enter")
        await until(pilot, lambda: "kept as own." in screen._said, 20)
    first = load().patterns[0]
    assert first.user and first.cause == "gpu" and first.actions == ("swap it",)
    assert first.search("flux capacitor 3 overheated on slot 9") and first.may_match(
        "flux capacitor 0 overheated on slot 0"
    )


async def test_a_slow_judge_holds_up_neither_keys_nor_the_end() -> None:
    stop = threading.Event()

    def slow(snapshot: FakeSnapshot) -> Ruling:
        stop.wait(20)
        return Ruling(snapshot.version, "")

    began = time.perf_counter()
    async with shown(FakeJob(1000)) as (pilot, screen):
        screen.judge, screen.end_judging = slow, stop.set  # type: ignore[assignment]
        screen.ruling = Ruling(-1, "")
        screen._look_round()
        await pilot.press("k", "k", "3")
    assert time.perf_counter() - began < 10


async def test_a_running_job_is_judged_so_far() -> None:
    job = FakeJob(1000)
    async with shown(job, ruling=ruling(), follow=True) as (pilot, screen):
        job.grow(10)
        await until(pilot, lambda: screen.snapshot.length == 1010 and screen.is_live)
        screen.ruling = Ruling(-1, "")
        screen._judging, screen._judge_from = False, 0.0
        screen.judge_on(at_rest=False)
        await until(pilot, lambda: screen.ruling.version >= 0)
        assert not screen.ruling.is_final
        screen.tell()
        assert "so far: rank 3" in "".join(screen.header.render_line(1).text)


async def test_the_header_says_that_a_verdict_is_made_and_where_it_leads() -> None:
    async with shown(FakeJob(1000), ruling=ruling(), judged=False, keys={"evidence": "B"}) as (pilot, screen):
        await until(pilot, lambda: "being judged" in screen.header.render_line(0).text)
        pilot.app.may_judge.set()  # type: ignore[attr-defined]
        await judged(pilot, screen)
        await pilot.pause()
        first, last = screen.header.render_line(0).text, screen.header.render_line(screen.header.size.height - 1).text
        assert first.endswith("B evidence  3 why") and "judged" not in first  # the verdict fills its row
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: last != screen.header.render_line(1).text)
        assert screen.header.render_line(1).text.endswith("B evidence  3 why")
        assert "why" not in screen.header.render_line(0).text


async def test_the_header_says_that_there_is_no_suspect() -> None:
    async with shown(FakeJob(1000), ruling=ruling(nobody())) as (pilot, screen):
        await judged(pilot, screen)
        await until(pilot, lambda: "no suspect" in screen.header.render_line(0).text)


def test_ranks_are_written_as_sets() -> None:
    assert ranks_in_words((3,)) == "rank 3" and ranks_in_words(()) == ""
    assert ranks_in_words((0, 1, 2, 5, 7, 9)) == "ranks 0-2,5,7,…"


def _pane(screen: JobScreen) -> Diagnosis:
    assert isinstance(screen.pane, Diagnosis)
    return screen.pane


def _items(screen: JobScreen) -> list:
    pane = _pane(screen)
    return [pane.item(i) for i in range(pane.length)]


def test_that_nobody_is_accused_is_told_where_something_went_wrong() -> None:
    assert ruling(nobody()).sentence == ""
    verdict = replace(nobody().verdict, summary="The log names no culprit.")
    failed = replace(nobody(), outcome="failed", verdict=verdict)
    assert ruling(failed).sentence == "The log names no culprit." and ruling().sentence.startswith("rank 3 on n0")


async def test_a_sheet_that_comes_late_does_not_lie_over_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    may = threading.Event()
    monkeypatch.setattr(sheets, "fields_text", lambda *_: may.wait(15) and Text("late"))
    async with shown(FakeJob(100)) as (pilot, screen):
        await pilot.press("p", ":")
        await until(pilot, lambda: screen.prompt.is_open)
        may.set()
        await until(pilot, lambda: not any(worker.group == "sheet" and worker.is_running for worker in screen.workers))
        assert pilot.app.screen is screen and isinstance(screen.focused, Input)
        await pilot.press("5", "enter")
        await until(pilot, lambda: screen.view.row == 4)
