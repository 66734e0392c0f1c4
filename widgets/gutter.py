"""The columns left of the text: which are shown at a width, and what stands in them."""

from __future__ import annotations

from typing import NamedTuple

from l4tui.engine.model import NO_TIME, Level
from l4tui.widgets.cells import fit, width_of
from l4tui.widgets.glyphs import LEVELS, Glyphs
from l4tui.widgets.line import Facts, Line

SECOND = 1_000_000_000


class Columns(NamedTuple):
    """Widths of the gutter's columns; 0: not shown. One cell of cursor in front, one blank after each column."""

    time: int
    node: int
    who: int
    level: int
    site: int

    @property
    def width(self) -> int:
        """Cells of the whole gutter."""
        return 1 + sum(w + 1 for w in self if w)


def fit_columns(width: int, facts: Facts) -> Columns:
    """Choose the columns for a view `width` cells wide: the text keeps at least half."""
    time = 0 if not facts.has_time else 12 if width >= 140 else 8 if width >= 72 else 0
    node = min(facts.node_width, 16 if width >= 160 else 10) if width >= 100 else 0
    site = min(facts.site_width, 28 if width >= 160 else 20) if width >= 136 else 0
    return Columns(time, node, min(max(facts.who_width, 1), width // 3), 1 if facts.has_level else 0, site)


def clock(time: int, width: int, since: int | None = None) -> str:
    """Write a time in 8 or 12 cells, as UTC wall time or as elapsed since another."""
    if time == NO_TIME or width == 0:
        return " " * width
    if since is not None:
        gone = time - since
        seconds, nanos = divmod(abs(gone), SECOND)
        shown = seconds or nanos >= (1_000_000 if width >= 12 else 100_000_000)  # what rounds to nothing has no sign
        sign = "-" if gone < 0 and shown else "+"
        if width >= 12:
            return f"{sign}{seconds:,}.{nanos // 1_000_000:03}"[:width].rjust(width)
        return f"{sign}{seconds}.{nanos // 100_000_000}"[:width].rjust(width)
    seconds, nanos = divmod(time, SECOND)
    day = seconds % 86_400
    text = f"{day // 3600:02}:{day // 60 % 60:02}:{day % 60:02}"
    return f"{text}.{nanos // 1_000_000:03}" if width >= 12 else text


def cells(line: Line, columns: Columns, signs: Glyphs, since: int | None) -> list[tuple[str, str]]:
    """Fill the gutter of a line: (style name, text) parts whose widths add up to columns.width − 1."""
    parts: list[tuple[str, str]] = []
    if columns.time:
        shown = clock(line.time, columns.time, since) if line.head else " " * columns.time
        parts.append(("dim", shown + " "))
    if columns.node:
        parts.append(("dim", fit(line.node, columns.node, signs.ellipsis) + " "))
    sign = "" if line.sort == "rank" else getattr(signs, line.sort)
    who = line.who + sign if line.sort == "mixed" else sign + line.who
    is_odd = line.mark not in ("", "!")
    style_of_who = "odd" if is_odd else "dim" if line.tone in ("dim", "quiet") else line.sort
    if width_of(who) > columns.who:
        who = fit(who, columns.who, signs.ellipsis)
    parts.append((style_of_who, who.rjust(columns.who) + " "))
    if columns.level:
        level = Level(line.level if line.head else 0)
        style = "odd" if is_odd else text_style(line)
        parts.append((style, (line.mark or LEVELS[level]) + " "))
    if columns.site:
        parts.append(("site", fit(line.site, columns.site, signs.ellipsis) + " "))
    return parts


def text_style(line: Line) -> str:
    """Name the style of a line's text: its own, or by its level, or an exception's."""
    if line.tone:
        return line.tone
    if line.mark == "!" or line.level >= Level.ERROR:
        return "error"
    return "warning" if line.level == Level.WARNING else "dim" if 0 < line.level < Level.INFO else "plain"
