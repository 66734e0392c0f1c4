"""The log: a window over rows that need not exist as objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from l4tui.engine.view import EntryRows, Ids, Rows
from l4tui.widgets.cells import width_of
from l4tui.widgets.glyphs import glyphs
from l4tui.widgets.gutter import fit_columns
from l4tui.widgets.line import Facts, Line
from l4tui.widgets.pages import Pages
from l4tui.widgets.painter import Look, Painter, State
from l4tui.widgets.track import with_track

HOLD_S = 0.08  # longest wait for text before rows are drawn without it
WRAP_MAX = 40  # screen rows of one wrapped line
NAMES = (
    *("plain", "dim", "rank", "mixed", "launcher", "unknown", "note", "site", "error", "warning"),
    *("cursor", "sign", "mark", "hit", "track", "thumb", "rule", "odd", "range", "pending", "quiet", "value"),
)


class LogView(ScrollView, can_focus=True):
    """Shows rows, one line each, with a cursor; asks for text by PageWanted and paints it when it is supplied."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"log--{name}" for name in NAMES}
    ALLOW_SELECT = False

    @dataclass
    class PageWanted(Message):
        """Text of these rows is needed; the first `urgent` of them stand on screen."""

        keys: Ids
        epoch: int
        turn: int
        urgent: int

    @dataclass
    class CursorMoved(Message):
        """The cursor stands on another row."""

        key: int
        row: int

    @dataclass
    class FollowChanged(Message):
        """Following was switched on or off by moving."""

        following: bool

    def __init__(self, *, ascii_only: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Rows = EntryRows(None, 0)
        self.facts = Facts()
        self.row = 0
        self.top = 0
        self.left = 0
        self.following = False
        self.wrapping = False
        self.pattern = ""
        self.since: int | None = None
        self.marks: set[int] = set()
        self.selected_from: int | None = None  # row where the selection began
        self.signs = glyphs(ascii_only)
        self._painter = Painter(self.signs)
        self._pages = Pages()
        self._shown: list[Strip] = []
        self._said: tuple[int, int] = (-1, -1)
        self._held: Timer | None = None

    # What there is to show

    def set_rows(self, rows: Rows, facts: Facts, *, changed: bool = False, key: int | None = None) -> None:
        """Show other rows, keeping the cursor's line (by its new `key`, if that is another) and its place on screen.

        Args:
            changed: known text is void.
        """
        key = self.cursor_key if key is None else key
        offset, length = self.row - self.top, self.rows.length
        self.rows, self.facts = rows, facts
        if changed:
            self.forget()
        if self.following or length == 0:
            self.row = max(rows.length - 1, 0)
            self._hold_end()
        elif key is not None:
            self.row = rows.position(key)
            self.top = self.row - offset
        self._settle()

    def forget(self) -> None:
        """Drop all text and strips: what was read is void."""
        self._pages.forget()

    def renew(self, keys: Iterable[int]) -> None:
        """Have the text of rows read again; until it comes they stay as they are."""
        self._pages.renew(keys)
        self._want_text()

    def supply(self, lines: Iterable[Line], epoch: int, turn: int) -> None:
        """Take over the text of rows that were asked for at an epoch and turn."""
        if epoch != self._pages.epoch:
            return
        self._pages.take(lines, turn)
        if self._held is not None:
            self._held.stop()
            self._held = None
        self.repaint()

    def set_pattern(self, pattern: str) -> None:
        """Mark the matches of a regex; empty: none."""
        self.pattern = pattern
        self.repaint()

    def set_since(self, since: int | None) -> None:
        """Show times as elapsed from a moment (ns UTC), or of day."""
        self.since = since
        self.repaint()

    def set_marks(self, marks: Iterable[int]) -> None:
        """Show which rows are marked."""
        self.marks = set(marks)
        self.repaint()

    def select(self, anchor: int | None) -> None:
        """Begin a selection at a row, or give it up."""
        self.selected_from = anchor
        self.repaint()

    @property
    def cursor_key(self) -> int | None:
        """Key of the row under the cursor."""
        keys = self.rows.keys(self.row, self.row + 1)
        return int(keys[0]) if len(keys) else None

    @property
    def cursor_line(self) -> Line | None:
        """The line under the cursor, if its text is here."""
        key = self.cursor_key
        return None if key is None else self._pages.get(key)

    @property
    def is_held(self) -> bool:
        """Whether the picture, or a row of it, waits for text."""
        shown = self.rows.keys(self.top, self.top + self._fitting())
        return self._held is not None or not self._pages.has(shown.tolist())

    @property
    def waiting(self) -> int:
        """Rows below the screen."""
        return max(self.rows.length - self.top - self._fitting(), 0)

    @property
    def selection(self) -> tuple[int, int]:
        """Rows first..last that are selected; the cursor's row if nothing is."""
        other = self.row if self.selected_from is None else self.selected_from
        return min(self.row, other), max(self.row, other)

    @property
    def page(self) -> int:
        """Rows that fit the screen."""
        return max(self.size.height, 1)

    # Moving

    def go(self, row: int, *, place: str = "") -> None:
        """Put the cursor on a row; `place`: "middle" or "top" of the screen, else scroll as little as needed."""
        last = max(self.rows.length - 1, 0)
        before = self.row
        self.row = min(max(row, 0), last)
        if place and not self.top <= self.row < self.top + self._fitting():
            self.top = self.row - (self.page // 2 if place == "middle" else 0)
        if self.row < before:
            self.set_following(False)
        self._reveal()
        self._settle()

    def scroll(self, rows: int) -> None:
        """Move screen and cursor together."""
        before = self.top
        self.top += rows
        self._clip_top()
        moved = self.top - before
        self.row = min(max(self.row + (moved or rows), 0), max(self.rows.length - 1, 0))
        if rows < 0:
            self.set_following(False)
        self._reveal()
        self._settle()

    def shift(self, cells: int) -> None:
        """Scroll sideways; a large negative number goes back to the start."""
        self.left = max(self.left + cells, 0)
        self._settle()

    def show_line_end(self) -> None:
        """Scroll sideways to the end of the cursor's line."""
        line = self.cursor_line
        if line is not None and not self.wrapping:
            room = self.size.width - 1 - fit_columns(self.size.width - 1, self.facts).width
            self.left = max(width_of(line.text) - room, 0)
            self._settle()

    def go_end(self, *, follow: bool) -> None:
        """Go to the last row and follow what comes, if asked."""
        self.row = max(self.rows.length - 1, 0)
        self._hold_end()
        if follow:
            self.set_following(True)
        self._settle()

    def set_following(self, following: bool) -> None:
        """Stay at the end of what grows, or not."""
        if following != self.following:
            self.following = following
            self.post_message(self.FollowChanged(following))

    def set_wrapping(self, wrapping: bool) -> None:
        """Wrap long lines or cut them."""
        self.wrapping, self.left = wrapping, 0
        self._reveal()
        self._settle()

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Give the finished strips of a part of the widget."""
        strips = self._frame()
        self._shown = strips
        cut = strips[crop.y : crop.bottom]
        if crop.x or crop.width != self.size.width:
            return [strip.crop(crop.x, crop.right) for strip in cut]
        return cut

    def repaint(self) -> None:
        """Redraw the screen rows whose strips changed, and only those."""
        if not self.size or not self.is_attached:
            return
        strips = self._frame()
        if len(strips) != len(self._shown):
            self.refresh()
            return
        old = self._shown
        width = self.size.width
        changed = [y for y, strip in enumerate(strips) if strip is not old[y] and strip != old[y]]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _frame(self) -> list[Strip]:
        height, width = self.size.height, self.size.width
        self._take_look()
        keys = self.rows.keys(self.top, self.top + height)
        low, high = self.selection if self.selected_from is not None else (-1, -1)
        strips: list[Strip] = []
        for i, key in enumerate(keys.tolist()):
            if len(strips) >= height:
                break
            row = self.top + i
            state = State(row == self.row, low <= row <= high, key in self.marks)
            line = self._pages.get(key)
            strips += self._painter.blank(state) if line is None else self._painter.strips(line, state)
        strips = strips[:height]
        filler = Strip([Segment(" " * (width - 1), self._painter.styles["plain"])], width - 1)
        strips += [filler] * (height - len(strips))
        strips = with_track(strips, self.top, self.rows.length, self.signs, self._painter.styles)
        return self._filtered(strips)

    def _filtered(self, strips: list[Strip]) -> list[Strip]:
        """Apply what Textual's own rendering would: NO_COLOR, 16 colours."""
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            if line_filter.enabled:
                strips = [strip.apply_filter(line_filter, background) for strip in strips]
        return strips

    def _take_look(self) -> None:
        """Bring the painter up to date; cheap when nothing has changed."""
        if not self._painter.styles:
            self._take_styles()
        width = self.size.width - 1
        wrap = min(WRAP_MAX, max(self.size.height - 1, 1)) if self.wrapping else 0
        columns = fit_columns(width, self.facts)
        self._painter.set_look(Look(width, self.left, wrap, columns, self.pattern, self.since, self._pages.epoch))

    def _take_styles(self) -> None:
        own = {name: self.get_component_rich_style(f"log--{name}", partial=True) for name in NAMES}
        plain = self.get_component_rich_style("log--plain")
        if (plain.color is None or plain.color.is_default) and (plain.bgcolor is None or plain.bgcolor.is_default):
            plain = Style()  # the terminal's own colours need no escape sequence
        self._painter.styles = {**own, "plain": plain, "cursor": plain + own["cursor"]}

    def notify_style_update(self) -> None:
        """Take over a changed theme."""
        super().notify_style_update()
        self._painter.restyle()

    # Keeping in bounds

    def on_resize(self) -> None:
        """Keep the cursor on screen, or the end when following."""
        if self.following:
            self._hold_end()
        self._reveal()
        self._settle()

    def _fitting(self) -> int:
        """Rows that fit from `top`: fewer than a page where lines wrap."""
        if not self.wrapping:
            return self.page
        self._take_look()
        used = 0
        for i, key in enumerate(self.rows.keys(self.top, self.top + self.page).tolist()):
            used += self._height(key)
            if used > self.page:
                return max(i, 1)
        return self.page

    def _height(self, key: int) -> int:
        line = self._pages.get(key)
        if line is None or not self.wrapping:
            return 1
        return len(self._painter.strips(line, State()))

    def _hold_end(self) -> None:
        self.top = max(self.rows.length - self.page, 0)
        if self.wrapping:
            self._reveal()

    def _reveal(self) -> None:
        if self.row < self.top:
            self.top = self.row
        elif self.row >= self.top + self.page:
            self.top = self.row - self.page + 1
        if self.wrapping:
            while self.top < self.row and self.row >= self.top + self._fitting():
                self.top += 1

    def _clip_top(self) -> None:
        self.top = min(max(self.top, 0), max(self.rows.length - (1 if self.wrapping else self.page), 0))

    def _settle(self) -> None:
        """After any change: stay in bounds, ask for text, redraw, tell."""
        self._clip_top()
        if self._want_text():
            self._hold()
        else:
            self.repaint()
        key = self.cursor_key
        said = (-1 if key is None else key, self.row)
        if said != self._said:
            self._said = said
            self.post_message(self.CursorMoved(*said))

    def _hold(self) -> None:
        """Leave the screen as it is until the text comes, but not for long: rows drawn twice are twice the traffic."""
        if self._held is None:
            self._held = self.set_timer(HOLD_S, self._release)

    def _release(self) -> None:
        self._held = None
        self.repaint()

    def _want_text(self) -> bool:
        """Ask for the text of what is near; True when rows on screen lack theirs."""
        if not self.size.height:
            return False
        lacking, urgent, asked = self._pages.lack(self.rows, self.top, self.page)
        if len(asked):
            self.post_message(self.PageWanted(asked, self._pages.epoch, self._pages.turn, urgent))
        return lacking > 0

    # Mouse, when it is on

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where it was clicked."""
        if not self.wrapping:
            self.go(self.top + event.y)

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll(3)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll(-3)

