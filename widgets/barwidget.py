"""A widget of bars: redrawn only when what it says has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from l4tui.widgets.bars import Part, bar
from l4tui.widgets.glyphs import glyphs

STYLES = ("name", "quiet", "ok", "busy", "warning", "error", "odd", "chip")


class Bars(Widget):
    """Shows rows of parts; as high as it has rows."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"bar--{name}" for name in STYLES}
    ALLOW_SELECT = False

    @dataclass
    class Tapped(Message):
        """A part that reports clicks was clicked."""

        what: str

    def __init__(self, *, ascii_only: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.signs = glyphs(ascii_only)
        self._rows: list[tuple[Part, ...]] = [()]

    def show(self, rows: Sequence[Sequence[Part]]) -> None:
        """Show these rows; nothing happens when they are what stands there."""
        fresh = [tuple(row) for row in rows]
        if fresh == self._rows:
            return
        taller = len(fresh) != len(self._rows)
        self._rows = fresh
        self.refresh(layout=taller)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row each."""
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        """Lay out one row."""
        if y >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        return bar(self._rows[y], self.size.width, self._style_of, self.signs.ellipsis)

    def on_click(self, event: Click) -> None:
        """Report a click on a part that wants it."""
        if what := event.style.meta.get("tap"):
            self.post_message(self.Tapped(str(what)))

    def _style_of(self, name: str) -> Style:
        if name == "plain":
            return self.rich_style
        return self.rich_style + self.get_component_rich_style(f"bar--{name}", partial=True)
