"""Text from a log as cells."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from l4tui.widgets.cells import LIMIT, clean, fit, fold, unframed, width_of, window


@given(st.text(max_size=200))
def test_nothing_that_moves_hides_or_reorders_gets_through(text: str) -> None:
    for char in clean(text):
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(st.text(max_size=200))
def test_ascii_mode_gives_printable_ascii(text: str) -> None:
    shown = clean(text, ascii_only=True)
    assert shown.isascii() and (shown.isprintable() or not shown)


@given(st.text(max_size=60), st.integers(0, 40), st.integers(2, 40))
def test_a_window_never_exceeds_its_width_and_windows_cover_the_text(text: str, left: int, width: int) -> None:
    shown = clean(text)
    start, stop, lead = window(shown, left, width)
    assert lead + width_of(shown[start:stop]) <= width
    assert stop == len(shown) or width_of(shown[start : stop + 1]) + lead > width


@given(st.text(max_size=120), st.integers(2, 20))
def test_folding_loses_nothing(text: str, width: int) -> None:
    shown = clean(text)
    pieces = fold(shown, width, 1000)
    assert "".join(shown[a:b] for a, b in pieces) == shown
    assert all(width_of(shown[a:b]) <= width for a, b in pieces)


@given(st.text(max_size=40), st.integers(0, 30))
def test_fit_is_exact(text: str, width: int) -> None:
    assert width_of(fit(clean(text), width)) == width


def test_examples() -> None:
    assert clean("a\tb") == "a       b"
    assert clean("a\x1b[31mb") == "a�[31mb"
    assert clean("evil \u202etxt.exe") == "evil txt.exe"
    assert clean("zero\u200bwidth") == "zerowidth"
    assert clean("e" + "\u0301" * 50).count("\u0301") <= 2
    assert clean("漢字") == "漢字" and width_of("漢字") == 4
    assert window("漢字x", 1, 4) == (1, 3, 1)
    assert len(clean("x" * (LIMIT * 2))) == LIMIT + 1


def test_what_closes_a_json_line_is_no_part_of_its_message() -> None:
    assert unframed('batch 75 ready in 1.6 ms"}') == "batch 75 ready in 1.6 ms"
    assert unframed('step done", "step": 75, "lr": 2.8e-04}') == 'step done", "step": 75, "lr": 2.8e-04'
    assert unframed('step done", "site": "a.py"}') == 'step done", "site": "a.py"'
    assert unframed('said \\"no\\" to it"}') == 'said \\"no\\" to it'
    for whole in ("}", '"lr": "2e-4"}', '{"event": "end"}', "loss: {a: 1}", 'said "no"', ""):
        assert unframed(whole) == whole
