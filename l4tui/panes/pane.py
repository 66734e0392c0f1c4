"""What all panes share: they gather in a thread, show what they gathered, and do what keys ask while focused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from l4tui.widgets.bars import Part, bar
from l4tui.widgets.barwidget import STYLES
from l4tui.widgets.glyphs import glyphs

if TYPE_CHECKING:
    from l4tui.engine.view import Filter
    from l4tui.judge import Ruling
    from l4tui.screens.job import JobScreen
    from l4tui.study import Study

_OF_LOG = ("down", "up", "page_down", "page_up", "left", "right", "open", "select", "mark", "copy", "copy_line")


class Pane(Widget, can_focus=True):
    """A part of the screen beside or below the log; takes the log's place where there is no room for both."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"bar--{name}" for name in (*STYLES, "cursor")}
    ALLOW_SELECT = False
    heading = ""
    is_whole = False  # always takes the log's place
    share = 0.45  # of the width or height that it takes beside the log
    lasting: ClassVar[tuple[str, ...]] = ()  # attributes that a person has set: they outlive closing

    def __init__(self, screen: JobScreen) -> None:
        super().__init__()
        self.host = screen
        self.signs = glyphs(screen.config.ascii)

    def gather(self, study: Study) -> object:
        """Read and compute what will be shown; called from a thread, again whenever the job has changed."""
        return study

    def show(self, gathered: object) -> None:
        """Take over what was gathered and redraw."""
        self.refresh()

    def looked_at(self, entry: int) -> None:
        """The log's cursor stands on another line."""

    def leave(self) -> dict[str, object]:
        """Give what the pane is to know when it is opened again."""
        return {name: getattr(self, name) for name in self.lasting}

    def recall(self, left: dict[str, object]) -> None:
        """Take up what it was left with, before it is shown."""
        for name in self.lasting:
            if name in left:
                setattr(self, name, left[name])

    def judged(self, ruling: Ruling) -> None:
        """Take over a new verdict; called on the thread that draws."""
        self.host.gather()

    def does(self, action: str, argument: str) -> bool:
        """Do an action of the table while the pane has the focus; False: the log does it."""
        if action in ("back", "quit"):
            self.host.close_pane()
            return True
        return action in _OF_LOG

    def scope_to(self, ranks: str, filters: tuple[Filter, ...] | None = None) -> None:
        """Show only these ranks (grammar of rankset.py), and filters; a pane in the log's place makes room for it."""
        scope = self.host.scope
        filters = scope.filters if filters is None else filters
        self.host.set_scope(replace(scope, lens="lines", ranks=ranks, filters=filters, filtering=True))
        if self.host.is_pane_alone:
            self.host.close_pane()

    def wanted_rows(self, width: int) -> int:
        """Say how many rows are of use at a width; 0: as many as there are."""
        return 0

    # Drawing by rows: a pane gives the parts of a row, or its finished strip

    def row(self, y: int) -> list[Part] | Strip:
        """Give row `y` below the heading."""
        return []

    @property
    def place(self) -> str:
        """What the status bar says while the pane is alone; empty: where the log's cursor stands."""
        return ""

    def title(self) -> list[Part]:
        """Give the heading's parts."""
        return [Part(self.heading, "name")]

    def render_line(self, y: int) -> Strip:
        """Draw the heading or a row."""
        width = self.size.width
        parts = self.title() if y == 0 else self.row(y - 1)
        if isinstance(parts, Strip):
            return parts.adjust_cell_length(width, self.rich_style)
        style = self.style_of if y or not self.has_focus else self._heading_style
        return bar(parts, width, style, self.signs.ellipsis)

    def style_of(self, name: str) -> Style:
        """Give a style by the name that bars use."""
        if name == "plain":
            return self.rich_style
        return self.rich_style + self.get_component_rich_style(f"bar--{name}", partial=True)

    def tint(self, name: str) -> Style:
        """Give what a style changes, to be laid over another."""
        return self.get_component_rich_style(f"bar--{name}", partial=True)

    def _heading_style(self, name: str) -> Style:
        return self.style_of(name) + (Style(underline=True) if name == "name" else Style())

    @property
    def rows(self) -> int:
        """Rows below the heading."""
        return max(self.size.height - 1, 1)

    def on_focus(self) -> None:
        """Show that keys go here."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()
