"""Bars, header, status: what gives way, and that the account adds up."""

from __future__ import annotations

import pytest
from rich.style import Style

from l4tui.widgets.bars import Part, bar
from l4tui.widgets.cells import folded
from l4tui.widgets.glyphs import ASCII, LEVELS, UNICODE, sparkline
from l4tui.widgets.header import Health, duration, short, state_row
from l4tui.widgets.status import Account, Situation, account_row, place_row


def text_of(parts: list[Part], width: int) -> str:
    strip = bar(parts, width, lambda _: Style())
    assert strip.cell_length >= width
    return strip.text


def test_parts_give_way_in_order_and_a_group_together() -> None:
    parts = [Part("name"), Part("one", give=1), Part("two", give=9), Part("three", give=9), Part("end", right=True)]
    assert text_of(parts, 40).split() == ["name", "one", "two", "three", "end"]
    assert text_of(parts, 20).split() == ["name", "one", "end"]
    assert text_of(parts, 12).split() == ["name", "end"]
    assert text_of(parts, 40).endswith("end")


def test_what_is_short_stays_where_something_longer_had_to_go() -> None:
    parts = [Part("name"), Part("x" * 20, give=1), Part("y", give=2)]
    assert text_of(parts, 12).split() == ["name", "y"]


def test_the_last_part_is_cut_and_not_dropped() -> None:
    assert text_of([Part("job.log:1234", give=1, least=10), Part("5/9", give=5, right=True)], 8).strip() == "job.log…"


def test_words_are_folded_at_blanks() -> None:
    words = "rank 54 on trn58 in train, iteration 122: it raised its own error"
    assert folded(words, 40, 2) == ["rank 54 on trn58 in train, iteration", "122: it raised its own error"]
    assert folded(words, 80, 2) == [words] and folded(words, 40, 1) == [words]
    assert folded("x" * 30, 20, 2) == ["x" * 20, "x" * 10]
    assert folded("損失損失 é", 5, 3) == ["損失", "損失", "é"]
    assert folded("", 10, 2) == [""] and folded("ab", 0, 2) == ["ab"]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_the_header_fits_any_width(width: int) -> None:
    health = Health(
        name="job-4711", state="silent", silent_s=192, world_size=64, heard=63, nodes=8, stage="model_build",
        iteration=1204, durations=(0.4, 0.5, 0.4), progress=0.43, notice="2 left out (f)",
    )  # fmt: skip
    shown = text_of(state_row(health, UNICODE), width)
    assert len(shown) == width and "job-4711" in shown
    if width >= 60:
        assert "silent 3 m 12 s" in shown
    if width >= 120:
        assert "63/64 ranks" in shown and "model build" in shown and "indexing 43 %" in shown


def test_the_header_tells_bytes() -> None:
    half = Health(name="job", progress=0.5, indexed=(6_200_000_000, 12_400_000_000))
    assert "indexing 50 %  6.2 GB of 12.4 GB" in text_of(state_row(half, UNICODE), 80)
    pipe = Health(name="job", progress=0.0, indexed=(31_000_000, 0))
    assert "indexing, 31 MB read" in text_of(state_row(pipe, UNICODE), 80)
    late = Health(name="job", behind=1_500_000_000)
    assert "behind by 1.5 GB" in text_of(state_row(late, UNICODE), 80)
    assert "behind" not in text_of(state_row(Health(name="job", behind=100_000), UNICODE), 80)


def test_the_account_adds_up_in_words() -> None:
    situation = Situation(account=Account(1_204_551, 12, 340, 5, 1_204_908))
    shown = text_of(account_row(situation, UNICODE), 80)
    assert "1,204,551 by rank + 12 ≠" in shown and "= 1,204,908 lines" in shown


def test_what_stands_below_says_where_the_cursor_is() -> None:
    assert "500/1,000" in text_of(place_row(Situation(shown=1000, row=499, place="job.log:500"), UNICODE), 80)
    assert "0/0" in text_of(place_row(Situation(), UNICODE), 80)


def test_durations() -> None:
    assert [duration(s) for s in (5, 65, 192, 3700, 200_000)] == ["5 s", "1 m 5 s", "3 m 12 s", "1 h 1 m", "2 d 7 h"]
    assert [short(s) for s in (0.016, 1.234, 12.34, 300)] == ["16 ms", "1.23 s", "12.3 s", "5 m 0 s"]


def test_sparkline_shows_an_outlier_and_does_not_dramatise_noise() -> None:
    assert sparkline([1.0, 1.001, 0.999], UNICODE.bars) == "▁▁▁"
    assert sparkline([1.0, 1.0, 4.0], UNICODE.bars) == "▁▁█"
    assert sparkline([], UNICODE.bars) == "" and sparkline([0.0, 0.0], UNICODE.bars) == "▁▁"


def test_signs_are_one_cell_and_ascii_is_ascii() -> None:
    assert all(len(sign) == 1 for name, sign in ASCII._asdict().items() if name not in ("bars", "deviations"))
    assert "".join(ASCII).isascii() and "".join(LEVELS.values()).isascii()
    assert len({ASCII.mixed, ASCII.launcher, ASCII.unknown, ASCII.note}) == 4


def test_a_place_too_long_for_the_row_is_cut_and_what_sets_it_apart_is_cut_first() -> None:
    long = Situation(shown=565, row=248, apart="odd: " + "word " * 20, place="worker-0.log:294 · rank 3 · iteration 46")
    shown = text_of(place_row(long, UNICODE), 80)
    assert shown.startswith("odd: word") and "… " in shown and "249/565" in shown
    assert "worker-0.log:294 · rank 3" in shown
    narrow = text_of(place_row(long, UNICODE), 40)
    assert "worker-0.log:294 · rank 3 · iteration 46" in narrow


def test_no_durations_are_shown_where_times_are_too_coarse() -> None:
    assert "0 s" not in text_of(state_row(Health(name="job", durations=(0.0, 0.0)), UNICODE), 80)
    assert "1.50 s" in text_of(state_row(Health(name="job", durations=(0.0, 1.5)), UNICODE), 80)
    assert short(0.0) == "0 s"
