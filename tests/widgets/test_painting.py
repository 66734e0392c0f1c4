"""Gutter and painter: widths add up whatever is painted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from l4tui.engine.model import NO_TIME, Level
from l4tui.widgets.cells import clean
from l4tui.widgets.glyphs import UNICODE
from l4tui.widgets.gutter import SECOND, clock, fit_columns
from l4tui.widgets.line import Facts, Line
from l4tui.widgets.logview import NAMES
from l4tui.widgets.painter import Look, Painter, State

FACTS = Facts(who_width=4, node_width=6, site_width=14, has_time=True, has_level=True)


def painter(width: int, *, left: int = 0, wrap: int = 0, pattern: str = "") -> Painter:
    made = Painter(UNICODE)
    made.styles = {name: Style() for name in NAMES}
    made.set_look(Look(width, left, wrap, fit_columns(width, FACTS), pattern))
    return made


@given(
    st.text(max_size=120),
    st.sampled_from([24, 79, 119, 199]),
    st.integers(0, 60),
    st.sampled_from(["rank", "mixed", "launcher", "unknown", "note"]),
    st.integers(0, 6),
)
def test_a_strip_is_exactly_as_wide_as_the_view(text: str, width: int, left: int, sort: str, level: int) -> None:
    line = Line(1, clean(text), who="17", node="n12", sort=sort, level=level, time=NO_TIME, site="a/b.py:12")
    for strip in painter(width, left=left).strips(line, State(cursor=True)):
        assert strip.cell_length == width == sum(segment.cell_length for segment in strip)


@given(st.text(min_size=1, max_size=300), st.sampled_from([24, 79]))
def test_wrapped_strips_hold_the_whole_text(text: str, width: int) -> None:
    shown = clean(text)
    made = painter(width, wrap=40)
    strips = made.strips(Line(1, shown), State())
    gutter = fit_columns(width, FACTS).width
    if len(strips) < 40:
        assert "".join(strip.text[gutter:] for strip in strips).rstrip().replace(" ", "") == shown.replace(" ", "")
    assert all(strip.cell_length == width for strip in strips)


def test_hits_are_marked_and_a_cut_line_says_so() -> None:
    made = painter(79, pattern="(?i)loss")
    made.styles["hit"] = Style(bold=True)
    (strip,) = made.strips(Line(1, "the LOSS and the loss " + "x" * 200), State())
    assert [segment.text for segment in strip if segment.style and segment.style.bold] == ["LOSS", "loss"]
    assert strip.text.endswith(UNICODE.more)


def test_a_strip_is_made_once() -> None:
    made = painter(79)
    assert made.strips(Line(1, "x"), State()) is made.strips(Line(1, "x"), State())


def test_who_wrote_a_line_is_told_without_colour() -> None:
    texts = {
        sort: painter(79).strips(Line(1, "x", who=who, sort=sort), State())[0].text
        for sort, who in (("rank", "7"), ("mixed", "7"), ("launcher", ""), ("unknown", ""))
    }
    assert len(set(texts.values())) == 4 and "7≠" in texts["mixed"] and "⚙" in texts["launcher"]


def test_levels_are_letters_and_exceptions_a_sign() -> None:
    def level(**fields: object) -> str:
        return painter(79).strips(Line(1, "x", **fields), State())[0].text  # type: ignore[arg-type]

    assert " E x" in level(level=Level.ERROR) and " W x" in level(level=Level.WARNING) and " ! x" in level(mark="!")


def test_clocks() -> None:
    noon = (12 * 3600 + 3 * 60 + 4) * SECOND + 56_000_000
    assert clock(noon, 8) == "12:03:04" and clock(noon, 12) == "12:03:04.056"
    assert clock(NO_TIME, 8) == " " * 8
    assert clock(noon + 1_500_000_000, 8, since=noon) == "    +1.5"
    assert clock(noon, 12, since=noon + SECOND) == "      -1.000"
    assert len(clock(noon + 10**18, 8, since=noon)) == 8


def test_the_text_keeps_half_of_a_narrow_view() -> None:
    for width in (40, 60, 80, 100, 120, 160, 200):
        assert fit_columns(width, FACTS).width <= width / 2
