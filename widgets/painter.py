"""Paints lines of a log as finished strips, each made once for a state of the screen."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from l4tui.widgets.cells import fold, width_of, window
from l4tui.widgets.glyphs import Glyphs
from l4tui.widgets.gutter import Columns, cells, text_style
from l4tui.widgets.line import Line

CACHED = 4_000  # strips kept: some 60 screens
HITS_MAX = 200  # matches marked in one line
HITS_WITHIN = 1_000  # characters of it that are looked at, seen or not


Styled = tuple[int, int, str]  # start, stop, style of a part of a text


class Look(NamedTuple):
    """Everything besides the line that decides what is painted; a change makes new strips."""

    width: int  # cells of a strip
    left: int  # cells scrolled to the right
    wrap: int  # most screen rows of a line; 0: lines are cut
    columns: Columns
    pattern: str = ""  # matches are marked
    since: int | None = None  # times are shown as elapsed from here
    epoch: int = 0  # theme, identities: whatever else changed


class State(NamedTuple):
    """What the person did to a line."""

    cursor: bool = False
    selected: bool = False
    marked: bool = False


class Painter:
    """Makes and keeps strips; the styles come by name from the widget's component classes."""

    def __init__(self, signs: Glyphs) -> None:
        self.signs = signs
        self.styles: dict[str, Style] = {}
        self._look: Look | None = None
        self._regex: re.Pattern[str] | None = None
        self._strips: OrderedDict[tuple[Line, State], list[Strip]] = OrderedDict()

    def set_look(self, look: Look) -> None:
        """Take over a look; strips of another one are dropped."""
        if look == self._look:
            return
        if self._look is None or self._look.pattern != look.pattern:
            self._regex = re.compile(look.pattern) if look.pattern else None
        self._look = look
        self._strips.clear()

    def restyle(self) -> None:
        """Drop styles and strips: the theme has changed."""
        self.styles = {}
        self._strips.clear()

    def strips(self, line: Line, state: State) -> list[Strip]:
        """Paint a line: one strip, or several where it wraps."""
        key = (line, state)
        known = self._strips.get(key)
        if known is not None:
            self._strips.move_to_end(key)
            return known
        made = self._paint(line, state)
        self._strips[key] = made
        if len(self._strips) > CACHED:
            self._strips.popitem(last=False)
        return made

    def blank(self, state: State) -> list[Strip]:
        """Paint a row whose text is still on its way."""
        assert self._look is not None
        base = self._base(state)
        sign = self._sign(state)
        return [Strip([Segment(sign, self._sign_style(state)), Segment(" " * (self._look.width - 1), base)])]

    def _base(self, state: State) -> Style:
        return self.styles["cursor"] if state.cursor or state.selected else self.styles["plain"]

    def _over(self, base: Style, name: str) -> Style:
        return base if name == "plain" else base + self.styles[name]

    def _sign(self, state: State) -> str:
        signs = self.signs
        return signs.mark if state.marked else signs.select if state.selected else signs.cursor if state.cursor else " "

    def _sign_style(self, state: State) -> Style:
        if state == State():
            return self.styles["plain"]  # a blank: no escape sequence is spent on it
        return self._base(state) + self.styles["mark" if state.marked else "sign"]

    def _paint(self, line: Line, state: State) -> list[Strip]:
        look = self._look
        assert look is not None
        base = self._base(state)
        gutter = [Segment(self._sign(state), self._sign_style(state))]
        if line.sort == "rule":
            return [self._rule(line, gutter, base)]
        for name, text in cells(line, look.columns, self.signs, look.since):
            gutter.append(Segment(text, self._over(base, name)))
        room = max(look.width - look.columns.width, 1)
        style = self._over(base, text_style(line))
        marks = _layered(self._marks(line.text), line.spans)
        if not look.wrap:
            start, stop, lead = window(line.text, look.left, room)
            body = self._body(line.text, start, stop, lead, room, style, marks)
            strip = Strip([*gutter, *body], look.width).simplify()
            if stop < len(line.text):  # the last cell says that the line goes on
                goes_on = Strip([Segment(self.signs.more, base + self.styles["dim"])], 1)
                strip = Strip.join([strip.crop(0, look.width - 1), goes_on])
            return [strip]
        strips = []
        for start, stop in fold(line.text, room, look.wrap):
            body = self._body(line.text, start, stop, 0, room, style, marks)
            strips.append(Strip([*gutter, *body], look.width).simplify())
            gutter = [Segment(self._sign(state) + " " * (look.columns.width - 1), self._sign_style(state))]
        return strips

    def _rule(self, line: Line, gutter: list[Segment], base: Style) -> Strip:
        """Paint a rule across with words in it; one that stands for what is folded away begins with a sign."""
        assert self._look is not None
        lead = self.signs.rule * 2 if line.head else self.signs.folded
        thin, words = self._over(base, "rule"), self._over(base, "dim" if line.head else "plain")
        parts = [*gutter, Segment(f"{lead} ", thin), Segment(f"{line.text} ", words)]
        if line.mark:
            parts.append(Segment(f"{line.mark} ", self._over(base, "odd")))
        used = sum(width_of(part.text) for part in parts)
        fill = (self.signs.rule if line.head else " ") * max(self._look.width - used, 0)
        return Strip([*parts, Segment(fill, thin)]).crop(0, self._look.width)

    def _marks(self, text: str) -> list[tuple[int, int]]:
        if self._regex is None or self._look is None:
            return []
        found: list[tuple[int, int]] = []
        seen = self._look.left + self._look.width * max(self._look.wrap, 1)
        for match in self._regex.finditer(text[: max(seen, HITS_WITHIN)]):  # bounds what a costly one does to a frame
            if match.end() > match.start():
                found.append(match.span())
            if len(found) >= HITS_MAX:
                break
        return found

    def _body(
        self, text: str, start: int, stop: int, lead: int, room: int, style: Style, marks: list[Styled]
    ) -> list[Segment]:
        segments: list[Segment] = [Segment(" " * lead, style)] if lead else []
        at = start
        for low, high, name in marks:
            low, high = max(low, at), min(high, stop)
            if low >= high:
                continue
            if low > at:
                segments.append(Segment(text[at:low], style))
            segments.append(Segment(text[low:high], style + self.styles[name]))
            at = high
        if at < stop:
            segments.append(Segment(text[at:stop], style))
        used = lead + width_of(text[start:stop])
        if used < room:
            segments.append(Segment(" " * (room - used), style))
        return segments


def _layered(hits: list[tuple[int, int]], spans: tuple[Styled, ...]) -> list[Styled]:
    """Lay hits over the line's own spans; what comes out does not overlap and ascends."""
    over = [(low, high, "hit") for low, high in hits]
    if not spans:
        return over
    out: list[Styled] = []
    for low, high, name in spans:
        at = low
        for start, stop, _ in over:
            if stop > at and start < high:
                if start > at:
                    out.append((at, start, name))
                at = max(at, stop)
        if at < high:
            out.append((at, high, name))
    return sorted(out + over)
