"""Every key of the table, pressed on a fake job."""

from __future__ import annotations

import re

import pytest
from textual.widgets import Static

from l4tui import handlers
from l4tui.actions import ACTIONS, Action, KeyClash, keymap, split_keys
from l4tui.engine.outline import Outline
from l4tui.judge import Ruling
from l4tui.widgets.sheet import ListSheet, TextSheet
from tests.l4tui.fake import FakeJob
from tests.l4tui.screen import screen_rows, shown, until


def test_every_action_has_a_handler_and_no_handler_is_left_over() -> None:
    handlers.load()
    assert set(handlers.HANDLERS) == {action.id for action in ACTIONS}


def test_a_key_clash_names_both_actions() -> None:
    table = (Action("one", ("a",), "", ""), Action("two", ("b",), "", ""))
    with pytest.raises(KeyClash, match=r"'a' is wanted by 'one' and by 'two'"):
        keymap({"two": "a"}, table)


def test_an_unknown_action_in_the_keymap_gets_a_hint() -> None:
    with pytest.raises(KeyClash, match="did you mean 'search'"):
        keymap({"serch": "a"})


def test_keys_that_terminals_keep_are_refused() -> None:
    with pytest.raises(KeyClash, match=r"ctrl\+s"):
        keymap({"search": "ctrl+s"})


def test_keys_read_from_settings() -> None:
    assert split_keys("slash, ctrl+f") == ("/", "ctrl+f")
    assert keymap({"search": "ctrl+f"})["ctrl+f"] == "search"
    assert "/" not in keymap({"search": "ctrl+f"})


async def test_it_starts_at_the_end_and_moves() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        view = screen.view
        assert view.row == 999 and view.following
        for keys, row in (
            ("k", 998), ("up", 997), ("j", 998), ("g", 0), ("j", 1), ("G", 999), ("home", 0), ("end", 999), ("g", 0),
            ("space", view.page - 1), ("b", 0), ("ctrl+d", view.page // 2), ("ctrl+u", 0), ("pagedown", view.page - 1),
        ):  # fmt: skip
            await pilot.press(keys)
            assert view.row == row, keys


async def test_scrolling_up_pauses_and_tells_how_many_lines_wait() -> None:
    job = FakeJob(1000)
    async with shown(job) as (pilot, screen):
        await pilot.press("b")
        assert not screen.view.following
        top = screen.view.top
        job.grow(50)
        await until(pilot, lambda: screen.view.rows.length == 1050)
        assert screen.view.top == top
        assert screen._situation().waiting == 1050 - top - screen.view.page
        await pilot.press("G")
        assert screen.view.following and screen.view.row == 1049
        job.grow(10)
        await until(pilot, lambda: screen.view.row == 1059)
        await pilot.press("F")
        assert not screen.view.following
        await pilot.press("F")
        assert screen.view.following


async def test_reading_can_be_paused() -> None:
    job = FakeJob(1000)
    async with shown(job) as (pilot, screen):
        await pilot.press("=")
        assert not screen.feed.reading
        job.grow(10)
        await pilot.pause(0.2)
        assert screen.view.rows.length == 1000
        await pilot.press("=")
        await until(pilot, lambda: screen.view.rows.length == 1010)


async def test_search_counts_marks_and_jumps() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press("g", "slash", *"cuda", "enter")
        await until(pilot, lambda: screen.view.row == 399)
        await until(pilot, lambda: screen._finder and screen._finder.count == 2)
        await pilot.press("n")
        await until(pilot, lambda: screen.view.row == 799)
        await pilot.press("n")
        await until(pilot, lambda: screen.view.row == 399)
        assert "from the top" in screen._said
        await pilot.press("N")
        await until(pilot, lambda: screen.view.row == 799)
        assert screen._situation().found == 2
        await pilot.press("escape")
        assert not screen.search_pattern


async def test_search_takes_in_what_is_added() -> None:
    job = FakeJob(390)
    async with shown(job) as (pilot, screen):
        await pilot.press("slash", *"cuda", "enter")
        await until(pilot, lambda: screen._finder and screen._finder.covered == 390)
        job.grow(100)
        await until(pilot, lambda: screen._finder and screen._finder.count == 1)


async def test_a_bad_pattern_is_said_and_nothing_breaks() -> None:
    async with shown(FakeJob(100)) as (pilot, screen):
        await pilot.press("slash", *"(", "enter")
        await pilot.pause()
        assert "unterminated" in screen._said or "missing" in screen._said
        await pilot.press("&", *"[", "enter")
        assert not screen.scope.filters


async def test_filters_in_out_off_and_cleared() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        rows = screen.view.rows
        await pilot.press("&", *"collated", "enter")
        await until(pilot, lambda: screen.view.rows is not rows and 0 < screen.view.rows.length < 1000)
        await until(pilot, lambda: all("collated" in row for row in screen_rows(screen) if "batch" in row))
        kept = screen.view.rows.length
        await pilot.press("&", *"!batch 2", "enter")
        await until(pilot, lambda: screen.view.rows.length < kept)
        assert [f.keep for f in screen.scope.filters] == [True, False]
        await pilot.press("backslash")
        await until(pilot, lambda: screen.view.rows.length == 1000)
        await pilot.press("backslash", "backspace")
        await until(pilot, lambda: screen.view.rows.length == kept)
        await pilot.press("&", "enter")
        await until(pilot, lambda: screen.view.rows.length == 1000)
        await pilot.press("escape")
        await until(pilot, lambda: screen.view.rows.length == kept)


async def test_one_rank_keeps_the_line_and_steps() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press(":", *"500", "enter")
        assert screen.view.cursor_key == 499
        rank = screen.cursor_rank
        await pilot.press("]")
        await until(pilot, lambda: screen.view.rows.length < 200)
        assert screen.scope.ranks == str(rank) and screen.view.cursor_key == 499
        await pilot.press("]")
        await until(pilot, lambda: screen.cursor_rank == rank + 1)
        await pilot.press("[", "[")
        await until(pilot, lambda: screen.cursor_rank == rank - 1)
        await pilot.press("escape")
        await until(pilot, lambda: screen.view.rows.length == 1000)


async def test_enter_opens_a_rank_and_then_all_lines_around() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press(":", *"500", "enter", "enter")
        await until(pilot, lambda: screen.view.rows.length < 200)
        await pilot.press("enter")
        await until(pilot, lambda: screen.view.rows.length == 1000)
        assert screen.view.cursor_key == 499
        await pilot.press("v")
        await until(pilot, lambda: screen.view.rows.length < 200)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(screen.view.rows, Outline))
        assert screen.cursor_entry == 499
        await pilot.press("v")
        await until(pilot, lambda: screen.view.rows.length == 1000)
        assert screen.view.cursor_key == 499


async def test_ranks_are_picked_by_a_set() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press("r", *"node:n1,!5")
        await pilot.pause()
        assert "3 of 8 ranks" in str(screen.prompt.query_one("#prompt-note", Static).render())
        await pilot.press("enter")
        await until(pilot, lambda: screen.view.rows.length < 500)
        shown_ranks = screen.snapshot.ranks.rank[screen.snapshot.speaker[screen.view.rows.keys(0, 999)]]
        assert set(shown_ranks.tolist()) == {4, 6, 7}
        await pilot.press("r", *(["backspace"] * 12), *"99", "enter")
        assert "no line is of 99" in screen._said
        await pilot.press("r", *(["backspace"] * 12), *"9-", "enter")
        assert "no rank" in screen._said


@pytest.mark.parametrize(("start", "key", "row"), [(0, "e", 399), (999, "E", 799), (0, "w", 40), (500, "W", 428)])
async def test_errors_and_warnings_are_walked(start: int, key: str, row: int) -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press(":", *str(start + 1), "enter", key)
        await until(pilot, lambda: screen.view.row == row)


async def test_lines_of_one_call_site_are_walked_hidden_and_shown_alone() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press(":", *"21", "enter", "o")  # checkpoint saved, 20 70 120 …
        await until(pilot, lambda: screen.view.row == 70)
        await pilot.press("O")
        await until(pilot, lambda: screen.view.row == 20)
        await pilot.press("X")
        await until(pilot, lambda: screen.view.rows.length < 30)
        assert screen.scope.conditions == ("site ckpt.py:31",)
        await pilot.press("escape", "x")
        await until(pilot, lambda: 970 < screen.view.rows.length < 1000)
        assert screen.scope.conditions == ("!site ckpt.py:31",)


async def test_going_to_times_iterations_lines_and_percents() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        for text, row in (("i12", 480), ("12:03:10", 200), ("-10s", 799)):
            await pilot.press("t", *text.replace(":", ":"), "enter")
            await until(pilot, lambda row=row: screen.view.row == row)
        await pilot.press("t", *"soon", "enter")
        assert "no time" in screen._said
        await pilot.press(":", *"50%", "enter")
        assert screen.view.row == 500
        await pilot.press(":", *"nonsense", "enter")
        assert "no such command" in screen._said
        await pilot.press(":", *"go-to i3", "enter")
        await until(pilot, lambda: screen.view.row == 120)


async def test_marks_with_notes() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press(":", *"100", "enter", "m", *"odd", "enter")
        assert screen.notes == {99: "odd"}
        await pilot.press("G", "m", "enter", "U")
        await until(pilot, lambda: screen.view.row == 99)
        assert "odd" in "".join(screen._place())
        await pilot.press("u")
        await until(pilot, lambda: screen.view.row == 999)
        await pilot.press("m")
        assert screen.notes == {99: "odd"}


async def test_copy_of_a_line_and_of_a_selection() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press("g", "j", "j", "j", "c")
        await until(pilot, lambda: pilot.app.clipboard)
        assert pilot.app.clipboard.startswith("[rank3]: collated")
        await pilot.press("V", "j", "j", "y")
        await until(pilot, lambda: "copied 3 lines" in screen._said)
        assert [row.split("\t")[0] for row in pilot.app.clipboard.split("\n")] == ["3", "4", "5"]
        assert screen.view.selected_from is None


async def test_wrap_shows_the_whole_line_and_scrolling_sideways_reaches_its_end() -> None:
    long = "start " + "x" * 300 + " end"
    async with shown(FakeJob(1000, odd={998: long})) as (pilot, screen):
        assert not any(" end" in row for row in screen_rows(screen))
        await pilot.press("ctrl+w")
        await pilot.pause()
        assert any(" end" in row for row in screen_rows(screen))
        assert screen.view.rows.keys(screen.view.row, screen.view.row + 1)[0] == 999
        await pilot.press("ctrl+w", "k", "$")
        await pilot.pause()
        assert any(" end" in row for row in screen_rows(screen))
        await pilot.press("0")
        assert screen.view.left == 0
        await pilot.press("l", "l", "h")
        assert screen.view.left == 16


async def test_sheets_open_and_close() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        for key in ("?", "f1", "p", "P", "f"):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(pilot.app.screen, TextSheet))
            await pilot.press("j", "escape")
            await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(pilot.app.screen, ListSheet))
        await pilot.press("g", "enter")
        await until(pilot, lambda: pilot.app.screen is screen and screen.view.row == 3)  # the first line with a time


async def test_the_help_can_be_read_to_its_end_and_is_laid_out_for_the_width() -> None:
    async with shown(FakeJob(1000)) as (pilot, _):
        await pilot.press("?")
        await until(pilot, lambda: isinstance(pilot.app.screen, TextSheet))
        sheet, text = pilot.app.screen.query_one("#sheet"), pilot.app.screen.query_one("#sheet-text")
        await until(pilot, lambda: sheet.max_scroll_y > 0)
        long = sheet.max_scroll_y
        for key, row in (("j", 1), ("space", sheet.size.height), ("b", 1), ("G", long), ("g", 0)):
            await pilot.press(key)
            await until(pilot, lambda row=row: sheet.scroll_y == row)
        assert "? F1" in str(text.render()) and "Signs" in str(text.render())
        await pilot.resize_terminal(130, 24)
        await until(pilot, lambda: sheet.max_scroll_y < long)  # two columns


async def test_the_palette_lists_the_actions_and_runs_one() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: pilot.app.screen is not screen)
        await pilot.press(*"first line")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen and screen.view.row == 0)


async def test_mouse_elapsed_redraw_dump_and_suspend_leave_the_screen_working() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.press("T")
        assert screen.view.since is not None
        await pilot.press("T", "ctrl+l", "L")
        await pilot.pause()
        assert screen.view.since is None
        await pilot.press("g")
        assert screen.view.row == 0


async def test_the_wheel_scrolls_and_a_click_moves_the_cursor() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        await pilot.click("#log", offset=(10, 3))
        assert screen.view.row == screen.view.top + 3


async def test_q_asks_once_while_a_live_job_is_followed() -> None:
    job = FakeJob(1000)
    async with shown(job) as (pilot, screen):
        job.grow(10)
        await until(pilot, lambda: screen.is_live)
        await pilot.press("q")
        assert "q again" in screen._said and pilot.app.return_value is None
        await pilot.press("q")
        await pilot.pause()
        assert pilot.app.return_value == 0


async def test_q_closes_and_ctrl_c_interrupts() -> None:
    async with shown(FakeJob(100)) as (pilot, _):
        await pilot.press("q")
        await pilot.pause()
        assert pilot.app.return_value == 0
    async with shown(FakeJob(100)) as (pilot, _):
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert pilot.app.return_value == 130


async def test_the_verdict_stands_in_the_second_line_and_leads_to_its_evidence() -> None:
    ruling = Ruling(0, "failed", "rank 7 on n1 raised its own error", 399)
    async with shown(FakeJob(1000), ruling=ruling, judged=False) as (pilot, screen):
        await pilot.press("a")
        assert "no verdict" in screen._said
        pilot.app.may_judge.set()  # type: ignore[attr-defined]
        await until(pilot, lambda: "rank 7 on n1" in screen.header.render_line(1).text)
        assert "failed" in screen.header.render_line(0).text
        await pilot.press("a")
        assert screen.view.row == 399
        await pilot.press("r", *"0", "enter")
        await until(pilot, lambda: screen.view.rows.length < 200)
        await pilot.press("a")
        await until(pilot, lambda: screen.view.rows.length == 1000 and screen.view.row == 399)


async def test_keys_follow_the_settings() -> None:
    async with shown(FakeJob(1000), keys={"first": "ctrl+g"}) as (pilot, screen):
        await pilot.press("g")
        assert screen.view.row == 999
        await pilot.press("ctrl+g")
        assert screen.view.row == 0


async def test_an_empty_log_is_a_working_screen() -> None:
    async with shown(FakeJob(0)) as (pilot, screen):
        opening = ("q", "ctrl+z", "ctrl+p", "?", "f1", "f", ":", "/", "&", "t", "r")
        await pilot.press(*(key for key in screen.keys if key not in opening))
        screen.close_pane()
        assert screen._place()[1] == "empty"


async def test_the_account_adds_up_on_screen() -> None:
    async with shown(FakeJob(1000), size=(120, 40)) as (_, screen):
        row = screen.status.render_line(screen.status.size.height - 1).text
        ranks, mixed, launcher, unknown, lines = (int(n.replace(",", "")) for n in re.findall(r"[\d,]+", row)[:5])
        assert ranks + mixed + launcher + unknown == lines == 1000


async def test_since_and_until_are_filters_that_can_be_removed() -> None:
    async with shown(FakeJob(1000), since="-10s", until="12:03:45") as (pilot, screen):
        await until(pilot, lambda: screen.view.rows.length < 1000)
        assert screen.scope.conditions == ("since -10s", "until 12:03:45")
        times = screen.snapshot.clock[screen.view.rows.keys(0, 1000)]
        assert len(times) and (times.max() - times.min()) < 10 * 10**9
        await pilot.press("&", "enter")
        await until(pilot, lambda: screen.view.rows.length == 1000)


async def test_sheets_are_ascii_too() -> None:
    async with shown(FakeJob(1000), ascii=True) as (pilot, screen):
        for key in ("?", "p", "i", "f"):
            await pilot.press(key)
            await until(pilot, lambda: pilot.app.screen is not screen)
            await pilot.pause()
            text = "".join(segment.text for strip in pilot.app.screen._compositor.render_strips() for segment in strip)
            assert text.isascii(), {char for char in text if not char.isascii()}
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is screen)


async def test_a_verdict_that_fails_is_told_once() -> None:
    async with shown(FakeJob(1000)) as (pilot, screen):
        calls = []

        def fail(snapshot: object) -> Ruling:
            calls.append(snapshot)
            raise OSError("gone")

        screen.judge = fail  # type: ignore[assignment]
        screen.ruling = Ruling(-1, "")
        screen._look_round()
        await until(pilot, lambda: "no verdict: OSError: gone" in screen._said)
        screen._look_round()
        screen._look_round()
        await pilot.pause(0.1)
        assert len(calls) == 1
