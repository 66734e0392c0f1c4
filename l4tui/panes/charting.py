"""A pane that shows a drawn chart: rows, cursor, marks at its edge, legend, what is under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from l4tui.panes.pane import Pane
from l4tui.widgets.bars import Part, bar
from l4tui.widgets.cells import clean
from l4tui.widgets.header import duration

if TYPE_CHECKING:
    from l4tui.gauges import Axis
    from l4tui.panes.plotting import Drawing
    from l4tui.screens.job import JobScreen

_NAMES = {6: "busy", 5: "odd", 3: "warning", 2: "ok", 8: "quiet", 1: "error"}  # by number in the terminal's sixteen
_STYLES = {"cyan": "busy", "magenta": "odd", "yellow": "warning", "green": "ok", "red": "error"}  # the same by name


class ChartPane(Pane):
    """Draws what `plotting` has made."""

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.drawing: Drawing | None = None
        self.cursor = float("nan")  # x
        self._rows: list[Strip] = []

    def take(self, drawing: Drawing) -> None:
        """Take over a chart."""
        self.drawing = drawing
        self._rows = [self._strip(row) for row in drawing.picture.rows] if drawing.picture else []
        self.refresh()

    def _strip(self, row: str) -> Strip:
        text = Text.from_ansi(row)
        text.no_wrap, text.end = True, ""
        return Strip([Segment(s.text, self._themed(s.style)) for s in text.render(self.app.console)])

    def _themed(self, style: Style | None) -> Style:
        """Draw plotext's colours in those of the theme."""
        colour = style.color.number if style is not None and style.color is not None else None
        return self.style_of(_NAMES.get(colour, "plain") if colour is not None else "plain")

    def chart_row(self, y: int, width: int) -> Strip:
        """Draw a row of the chart, the last one is the legend."""
        d = self.drawing
        if d is None or d.picture is None:
            words = " drawing" if d is None else f" {d.words}"
            return bar([Part(words if y == 0 else "", "quiet")], width, self.style_of)
        if y == len(self._rows):
            return bar(self._legend(), width, self.style_of, self.signs.ellipsis)
        if y > len(self._rows):
            return Strip.blank(width, self.rich_style)
        strip = self._rows[y].adjust_cell_length(width, self.rich_style)
        inside = len(self._rows) - 2  # rows above axis and ticks
        for x, sign, style in (*d.points, (self.cursor, self.signs.bound, "busy")):
            column = d.picture.column(x, d.view) if x == x else -1
            is_here = y < inside if style == "busy" else y == 0
            if column >= 0 and is_here:
                strip = self._overlaid(strip, column, getattr(self.signs, sign, sign), style, width)
        return strip

    def _overlaid(self, strip: Strip, column: int, sign: str, style: str, width: int) -> Strip:
        if column >= width:
            return strip
        under = strip.crop(column, column + 1).text
        if style == "busy" and under.strip():  # what is drawn stays to be seen
            sign = under
        crossing = Style(reverse=True) if style == "busy" and sign == under else Style()
        mark = Segment(sign, self.style_of(style) + crossing)
        return Strip([*strip.crop(0, column), mark, *strip.crop(column + 1, width)], width)

    def _legend(self) -> list[Part]:
        d = self.drawing
        assert d is not None and d.picture is not None
        parts: list[Part] = []
        for sign, colour, label in d.picture.legend:
            parts.append(Part(sign, _STYLES.get(colour, "plain")))
            parts.append(Part(f" {clean(label, self.host.config.ascii)}", "plain", glue=True))
        parts += [Part(clean(words, self.host.config.ascii), style, 1) for words, style in d.remarks]
        parts.append(Part(d.view.x_label, "quiet", 2, right=True))
        return parts

    def details(self, axis: Axis | None) -> list[Part]:
        """Say what the series are at the cursor."""
        d = self.drawing
        if d is None or axis is None or self.cursor != self.cursor:
            along = f" along the {axis.label}s" if axis is not None and axis.by_iteration else ""
            return [Part(f" h l move the cursor{along}, the log follows", "quiet")]
        by = axis.by_iteration
        where = f" iteration {self.cursor:,.0f}" if by else f" {duration(self.cursor)} after the start"
        parts = [Part(where, "name")]
        for n, (words, style) in enumerate(d.at(self.cursor), 1):
            parts.append(Part(clean(words, self.host.config.ascii), style, n))
        return parts
