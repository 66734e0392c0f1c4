"""Charts as rows of text, drawn by plotext through textual-plotext.

plotext draws braille, axes, ticks and scales in plain terminal text; textual-plotext (by Textual's makers) wraps it so
that figures are objects and not one global. Only that wrapper is used, and off the thread that draws: a chart costs
8 ms of CPU and more with many points, the import 180 ms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from l4tui.engine.telemetry.bands import Floats, Line

LEAST_WIDTH, LEAST_HEIGHT = 24, 6
MARK_WIDTH, MARK_HEIGHT = 12, 3  # cells from one mark of an axis to the next, at least
COLOURS = ("cyan", "magenta", "yellow", "green", "red", "white")  # of the terminal's own sixteen
LETTERS = "*ox+#%"  # markers where colours or braille are not to be had
_ASCII = str.maketrans("┤│├┼└┬─┴┐┌┘", "|||+++-++++")


class Curve(NamedTuple):
    """A line and how it is drawn: `edge` of a band is faint, `odd` is one that stands out."""

    line: Line
    sort: str = "line"  # line edge odd
    on_right: bool = False  # has the right axis


class View(NamedTuple):
    """What of a chart is seen, and how."""

    width: int
    height: int
    low: float  # of x
    high: float
    is_log: bool = False
    is_plain: bool = False  # letters instead of braille and colours
    is_ascii: bool = False
    x_label: str = ""


class Picture(NamedTuple):
    """A drawn chart: rows as ANSI text, the cells that x = low … high stand in, and the sign of each label."""

    rows: tuple[str, ...]
    left: int
    right: int
    legend: tuple[tuple[str, str, str], ...]  # sign, colour, label

    def column(self, x: float, view: View) -> int:
        """Return the cell of an x; −1 outside."""
        if not view.low <= x <= view.high or view.high <= view.low:
            return -1
        return self.left + round((x - view.low) / (view.high - view.low) * (self.right - self.left))


def draw(curves: Sequence[Curve], view: View) -> Picture:
    """Draw curves, those named first on top."""
    from textual_plotext.plot import Plot  # 180 ms CPU

    plot = Plot()
    plot.theme("clear")
    getattr(plot, "_limit_size")(False, False)  # noqa: B009 -- inherited unseen; else plotext asks the terminal, which need not be the one that is drawn on
    plot.plotsize(max(view.width, LEAST_WIDTH), max(view.height, LEAST_HEIGHT))
    two = any(c.on_right for c in curves)
    plot.xaxes(True, False)
    plot.yaxes(True, two)
    plot.xlim(view.low, view.high if view.high > view.low else view.low + 1)
    legend = []
    colours = iter(COLOURS * 4)
    letters = iter(LETTERS * 4)
    for curve in curves:
        colour, letter = ("gray", ".") if curve.sort == "edge" else (next(colours), next(letters))
        marker = letter if view.is_plain or view.is_ascii else "braille"
        if curve.sort != "edge":
            legend.append((letter if view.is_plain or view.is_ascii else "━", colour, curve.line.label))
        for x, y in _runs(curve.line, view.is_log):
            plot.plot(
                x.tolist(), y.tolist(), marker=marker, color=colour, yside="right" if curve.on_right else "left"
            )
    _scale(plot, curves, view)
    rows = tuple(plot.build().splitlines())
    plain = [plot.uncolorize(row) for row in rows]
    axis = next((row.rstrip() for row in reversed(plain) if "└" in row), "└─")
    left, right = axis.find("└"), len(axis) - (2 if two else 1)  # the corners stand on the axes
    if view.is_ascii:
        rows = tuple(row.translate(_ASCII) for row in rows)
    return Picture(rows, left + 1, right, tuple(legend))


def _runs(line: Line, is_log: bool) -> list[tuple[Floats, Floats]]:
    """Cut a line at its gaps; where it goes through one by a single column it is joined."""
    keep = np.isfinite(line.y) & np.isfinite(line.x)
    if is_log:
        keep &= line.y > 0
    x, y = line.x[keep], line.y[keep]
    return [(x, y)] if len(x) else []


def _worded(mark: float) -> str:
    return f"{mark:,.10g}" if abs(mark) >= 1e-3 or not mark else f"{mark:.3g}"


def marks_of(low: float, high: float, most: int) -> list[float]:
    """Return about so many round numbers between two, 1, 2 or 5 of a power of ten apart; whole where they can be."""
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return [low] if math.isfinite(low) else []
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next((power * m for m in (1, 2, 5) if power * m >= least), power * 10)
    step = max(step, 1.0) if high - low >= 1 else step
    first, last = math.ceil(low / step), math.floor(high / step)
    return [n * step for n in range(first, last + 1)]


def _scale(plot: object, curves: Sequence[Curve], view: View) -> None:
    """Give the axes a little air and round numbers, and powers of ten where they are wanted."""
    marks = marks_of(view.low, view.high, max(view.width // MARK_WIDTH, 2))
    plot.xticks(marks, [_worded(mark) for mark in marks])  # type: ignore[attr-defined]
    for side in ("left", "right"):
        values = [c.line.y for c in curves if c.on_right == (side == "right")]
        y = np.concatenate(values) if values else np.empty(0)
        y = y[np.isfinite(y) & ((y > 0) | (not view.is_log))]
        if not len(y):
            continue
        low, high = float(y.min()), float(y.max())
        if view.is_log:
            plot.yscale("log", side)  # type: ignore[attr-defined]
        elif high > low:
            air = (high - low) * 0.04
            plot.ylim(low - air, high + air, side)  # type: ignore[attr-defined]
            marks = marks_of(low - air, high + air, max(view.height // MARK_HEIGHT, 2))
            plot.yticks(marks, [_worded(mark) for mark in marks], side)  # type: ignore[attr-defined]
        else:
            plot.ylim(low - max(abs(low) * 0.1, 0.5), high + max(abs(high) * 0.1, 0.5), side)  # type: ignore[attr-defined]
