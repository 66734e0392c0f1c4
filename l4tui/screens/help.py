"""The text of the help sheet: written from the table of actions."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from rich.text import Text

from l4tui.actions import ACTIONS, shown_key
from l4tui.widgets.glyphs import LEGEND, glyphs

COLUMN = 51  # cells of one column; two stand side by side where there is room
KEYS = 12  # cells for keys
FIRST = (  # what a person wants who has just opened the log of a job that failed
    ("evidence", "where it broke: the verdict's line"),
    ("pane_diagnosis", "why: suspects and their evidence"),
    ("next_divergent", "next thing that sets ranks apart"),
    ("open", "that rank alone, or a row's lines"),
    ("pane_compare", "that rank beside the others"),
    ("back", "back to what was shown before"),
)


def help_text(keys: Mapping[str, str], width: int, ascii_only: bool) -> Text:
    """Write the keys that are in force, for a screen `width` cells wide."""
    bound: dict[str, list[str]] = {}
    for key, name in keys.items():
        bound.setdefault(name, []).append(shown_key(key, ascii_only))
    blocks = [[("First", ""), *((" ".join(bound[name]), words) for name, words in FIRST if name in bound)]]
    group = ""
    for action in ACTIONS:
        if action.group != group:
            group = action.group
            blocks.append([(group, "")])
        if action.id in bound:
            blocks[-1].append((" ".join(bound[action.id]), action.words))
    signs = glyphs(ascii_only)
    levels = [("!", "an exception that nothing logged"), ("t d W E F", "trace, debug, warning, error, fatal")]
    blocks.append([("Signs", ""), *((getattr(signs, name), words) for name, words in LEGEND.items()), *levels])
    blocks = [[row for told in block for row in _wrapped(*told)] for block in blocks]
    columns = [blocks] if width * 0.9 < 2 * COLUMN + 4 else _balanced(blocks)  # a sheet takes nine tenths
    height = max(sum(len(block) + 1 for block in column) for column in columns)
    lines = [Text() for _ in range(height)]
    for column in columns:
        rows = [row for block in column for row in (*block, ("", ""))]
        for line, (left, words) in zip(lines, rows + [("", "")] * (height - len(rows)), strict=True):
            cell = Text(left, "bold") if not words else Text.assemble((f"{left:<{KEYS}} ", "bold"), words)
            cell.pad_right(max(COLUMN - cell.cell_len, 1))
            line.append_text(cell)
    return Text("\n").join(lines)


def _wrapped(left: str, words: str) -> list[tuple[str, str]]:
    """Break words that do not fit beside their keys."""
    first, *more = textwrap.wrap(words, COLUMN - KEYS - 2) or [""]
    return [(left, first), *(("", part) for part in more)]


def _balanced(blocks: list[list[tuple[str, str]]]) -> list[list[list[tuple[str, str]]]]:
    """Split blocks into two columns of about one height."""
    total = sum(len(block) + 1 for block in blocks)
    left: list[list[tuple[str, str]]] = []
    used = 0
    for block in blocks:
        if used and used + len(block) / 2 > total / 2:
            break
        left.append(block)
        used += len(block) + 1
    return [left, blocks[len(left) :]]
