"""Sheets: how a text is broken for the width there is."""

from __future__ import annotations

import pytest
from rich.text import Text

from l4tui.widgets.cells import width_of
from l4tui.widgets.sheet import broken


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("short", ["short"]),
        ("words that fill most", ["words that ", "fill most"]),
        ('  File "/opt/lib/python3.11/run.py"', ['  File "/opt', "/lib/python3", '.11/run.py"']),
        ("a\n\nb", ["a", "", "b"]),
        ("日本語のログ日本語", ["日本語のログ", "日本語"]),
    ],
)
def test_words_are_kept_whole_where_that_fills_a_row(text: str, rows: list[str]) -> None:
    assert broken(Text(text), 12).plain.split("\n") == rows


@pytest.mark.parametrize("text", ["x" * 5000, "日" * 999, "e\u0301" * 300, "", "\u0301" * 90])
@pytest.mark.parametrize("width", [1, 2, 7, 80])
def test_nothing_is_lost_and_rows_fit(text: str, width: int) -> None:
    shown = broken(Text(text), width).plain
    assert shown.replace("\n", "") == text
    assert max(map(width_of, shown.split("\n"))) <= max(width, 2)
