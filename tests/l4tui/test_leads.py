"""Where `d` leads: differences between ranks and lines of the verdict; on labelled jobs, and on small ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from l4tui.engine.divergence import Divergence, Mark, Survey
from l4tui.engine.leads import EVIDENCE, MOST, leads
from l4tui.engine.opinion import Opinion, Reason, Seen, Suspect
from l4tui.engine.outline import RULE, Outline
from l4tui.widgets.glyphs import LEGEND, glyphs
from tests.bench.stops import CASES, Case, cases, find
from tests.l4tui.demo_screen import job_of, opened, picture, press
from tests.l4tui.fake import FakeJob
from tests.l4tui.opinions import NAMED, nobody, opinion, ruling
from tests.l4tui.screen import shown, until

ROW = np.arange(1000)  # each line a row of its own


def survey_of(*stops: tuple[int, tuple[int, ...]]) -> Survey:
    found = [
        Divergence(entry, entry, "extra", 0.9 - n / 100, ranks, 20, 0, f"ranks {ranks}", is_stop=True)
        for n, (entry, ranks) in enumerate(stops)
    ]
    return Survey(tuple(found), np.zeros(1000, np.uint8))


def visited(survey: Survey, found: Opinion | None) -> list[tuple[int, str]]:
    return [(lead.entry, lead.kind) for lead in leads(survey, ROW, found)]


def test_without_a_verdict_the_most_telling_difference_comes_first() -> None:
    assert visited(survey_of((5, (1,)), (9, (2,))), None) == [(5, "extra"), (9, "extra")]


def test_the_accused_come_first_by_their_own_difference() -> None:
    walk = visited(survey_of((5, (1,)), (9, (3,))), opinion())
    assert walk[:2] == [(9, "extra"), (5, "extra")]
    assert walk[2:] == [(799, EVIDENCE), (643, EVIDENCE)]  # what the verdict rests on besides


def test_an_accused_without_a_difference_is_shown_by_the_line_that_names_it() -> None:
    walk = leads(survey_of((5, (1,))), ROW, opinion())
    assert [(lead.entry, lead.kind) for lead in walk[:2]] == [(799, EVIDENCE), (5, "extra")]
    assert walk[0].words == NAMED and walk[0].ranks == (3,)


def test_a_difference_of_many_is_less_than_the_line_that_names_one_of_them() -> None:
    walk = visited(survey_of((5, (1, 3, 6, 7))), opinion())
    assert walk[:2] == [(799, EVIDENCE), (5, "extra")]


def test_what_a_launcher_says_of_the_accused_is_told_in_the_verdicts_words_and_once() -> None:
    walk = visited(survey_of((5, (1,)), (799, ())), opinion())
    assert walk[:2] == [(799, EVIDENCE), (5, "extra")] and (799, "extra") not in walk


def test_nobody_accused_leads_nowhere() -> None:
    assert visited(survey_of(), nobody()) == []


def test_lines_of_the_verdict_are_few_and_a_row_is_visited_once() -> None:
    reasons = tuple(Reason(9.0, "raised", f"reason {n}", (n, n + 500)) for n in range(10, 40))
    events = (Seen(4, "initiating", "boom", 2, (3,), "train", 12, (11,)), Seen(3, "cascade", "x", 1, (), "", 1, (700,)))
    found = opinion(ranks=(Suspect(3, "n0", 30.0, 0.9, 1, 0.5, reasons),), events=events, entry=12)
    walk = visited(survey_of((13, (9,))), found)
    assert walk[0] == (12, EVIDENCE) and len(walk) == len(set(walk)) == 1 + MOST
    assert [entry for entry, _ in walk].count(13) == 1 and (700, EVIDENCE) not in walk


def test_a_line_that_the_rows_do_not_hold_yet_is_visited_all_the_same() -> None:
    assert leads(survey_of(), ROW[:100], opinion())[0].row == -1


@pytest.mark.parametrize("plain", [False, True])
async def test_the_verdicts_line_is_marked_and_said(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    sign = "&" if plain else "►"
    for lens in ("lines", "collapsed"):
        async with shown(FakeJob(1000), (120, 40), ruling=ruling(), lens=lens, ascii=plain) as (pilot, screen):
            screen._look_round()
            await until(pilot, lambda: screen.leads and screen.leads[0].kind == EVIDENCE and screen.is_settled)
            await pilot.press("d")
            assert screen._said.startswith(f"1/{len(screen.leads)} {sign} evidence: {NAMED}")
            assert screen.view.rows.key_of(799) == screen.view.cursor_key
            await until(pilot, lambda: any(f" {sign} " in row and "▌"[plain:] in row for row in picture(screen)))
            await pilot.press("D")
            assert screen._said.startswith(f"{len(screen.leads)}/{len(screen.leads)} ")


async def test_a_line_that_is_folded_away_is_unfolded(tmp_path: Path) -> None:
    async with opened(job_of(tmp_path / "job", "rank-exception")) as (pilot, screen):
        await press(pilot, screen, "Z", "d")
        assert isinstance(screen.view.rows, Outline) and screen.view.cursor_key is not None
        assert screen.view.cursor_key < RULE and screen.cursor_entry == screen.leads[0].entry


async def test_before_the_verdict_a_dead_end_says_so() -> None:
    async with shown(FakeJob(1000), (120, 40)) as (pilot, screen):
        await until(pilot, lambda: screen.study is not None)
        screen.ruling = screen.ruling._replace(version=-1)
        screen.leads = []
        screen.act("next_divergent")
        assert screen._said.endswith("the verdict is being made")


NAMES = ("46-jax-heartbeat-thread-ids", "60-restart-resets-step", "082-y4-rank-kill", "001-a8-healthy")


@pytest.mark.skipif(not CASES.is_dir(), reason="labelled cases are not here")
@pytest.mark.parametrize("case", [c for c in cases(CASES) if c.folder.name in NAMES], ids=lambda c: c.folder.name)
async def test_labelled_jobs(case: Case) -> None:
    found = await find(case)  # all of them: python -m tests.bench.stops
    assert found.late <= 3 and (case.is_healthy or (found.presses == 1 and found.by_cursor))


@pytest.mark.parametrize("plain", [False, True])
async def test_what_others_may_still_say_has_a_sign_of_its_own(plain: bool) -> None:
    async with shown(FakeJob(1000), (120, 40), lens="collapsed", ascii=plain) as (pilot, screen):
        await until(pilot, lambda: screen.study is not None and screen.is_settled)
        entry = int(screen.view.rows.entries(screen.view.rows.keys(screen.view.row, screen.view.row + 1))[0])
        row = int(screen.study.table.row[entry])
        waits = Divergence(row, entry, "extra", 0.9, (3,), 24, 0, "only rank 3 said this", is_settled=False)
        marks = np.zeros(screen.study.table.length, np.uint8)
        marks[row] = Mark.PENDING
        screen.studied(screen.study._replace(survey=Survey((waits,), marks)))
        sign = ":" if plain else "⋯"
        await until(pilot, lambda: any(f" {sign} " in text for text in picture(screen)[2:-2]))
        assert screen._place()[0].startswith(f"{sign} so far only rank 3 said this") and screen.leads == []


@pytest.mark.parametrize("plain", [False, True])
async def test_the_help_explains_every_sign(plain: bool) -> None:
    async with shown(FakeJob(50), (200, 110), ascii=plain) as (pilot, _screen):
        await pilot.press("?")
        text = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        signs = glyphs(plain)
        for name, words in LEGEND.items():
            assert f"{getattr(signs, name)} " in text and words in text
        assert not plain or text.isascii()
