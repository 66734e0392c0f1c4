"""Sheets: texts and lists that lie over the log until they are closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from l4tui.widgets.cells import window

SHARE, MOST, FRAME = 0.9, 110, 5  # of the screen's width, at most; cells of frame, blanks and scroll bar (app.tcss)


class Sheet(ModalScreen[int | None]):
    """What all sheets share."""

    BINDINGS = [("escape,q", "dismiss")]  # noqa: RUF012 -- Textual's form

    def __init__(self, title: str, subtitle: str = "Esc closes") -> None:
        super().__init__()
        self._heading, self._footing = title, subtitle

    def action_dismiss(self, result: int | None = None) -> None:  # type: ignore[override]
        """Close without a choice."""
        self.dismiss(None)


class TextSheet(Sheet):
    """A text to be read; one that is given as a function of the screen's width is laid out anew when that changes."""

    BINDINGS = [  # noqa: RUF012
        ("j,down", "scroll(1)"),
        ("k,up", "scroll(-1)"),
        ("space,pagedown", "page(1)"),
        ("b,pageup", "page(-1)"),
        ("ctrl+d", "page(0.5)"),
        ("ctrl+u", "page(-0.5)"),
        ("g,home", "end(0)"),
        ("G,end", "end(1)"),
        ("question_mark,f1,p,P,i", "dismiss"),
    ]

    def __init__(
        self, title: str, text: Text | Callable[[int], Text], subtitle: str = "j k scroll   Esc closes"
    ) -> None:
        super().__init__(title, subtitle)
        self._text = text

    def compose(self) -> ComposeResult:
        """A scrolling text."""
        with VerticalScroll(id="sheet") as sheet:
            sheet.border_title, sheet.border_subtitle = self._heading, self._footing
            yield Static("", id="sheet-text", markup=False)

    def on_resize(self, event: Resize) -> None:
        """Lay the text out for the width there is."""
        width = event.size.width
        text = self._text(width) if callable(self._text) else broken(self._text, min(int(width * SHARE), MOST) - FRAME)
        self.query_one("#sheet-text", Static).update(text)

    def action_scroll(self, rows: int) -> None:
        """Move the text."""
        self.query_one("#sheet", VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_page(self, share: float) -> None:
        """Move by a part of what is seen at once, all but one row."""
        rows = max(self.query_one("#sheet", VerticalScroll).scrollable_content_region.height - 1, 1)
        self.action_scroll(round(share * rows))

    def action_end(self, last: int) -> None:
        """Go to the first row or the last."""
        sheet = self.query_one("#sheet", VerticalScroll)
        sheet.scroll_to(y=sheet.max_scroll_y * last, animate=False)


def broken(text: Text, width: int) -> Text:
    """Break long lines behind a word where that fills most of a row, else where the row ends: paths are long words."""
    if text.no_wrap:
        return text
    rows: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        plain, at, cuts = line.plain, 0, []
        while at + (stop := _filling(piece := plain[at : at + 2 * width], width)) < len(plain):
            at += piece.rfind(" ", stop * 2 // 3, stop) + 1 or stop
            cuts.append(at)
        rows += line.divide(cuts)
    return Text("\n").join(rows)


def _filling(text: str, width: int) -> int:
    """Count the characters that fill a row; at least one, so that every row has some."""
    return max(window(text, 0, width)[1], 1)


class ListSheet(Sheet):
    """A list to choose from; gives the index of the choice."""

    BINDINGS = [("j", "move(1)"), ("k", "move(-1)"), ("g", "end(0)"), ("G", "end(-1)")]  # noqa: RUF012

    def __init__(self, title: str, rows: Sequence[Text], subtitle: str, chosen: int = 0) -> None:
        super().__init__(title, subtitle)
        self._rows, self._chosen = rows, chosen

    def compose(self) -> ComposeResult:
        """A list in a frame."""
        with VerticalScroll(id="sheet", can_focus=False) as sheet:
            sheet.border_title, sheet.border_subtitle = self._heading, self._footing
            yield OptionList(*(Option(row) for row in self._rows), markup=False)

    def on_mount(self) -> None:
        """Stand on the row that is current."""
        rows = self.query_one(OptionList)
        rows.highlighted = min(max(self._chosen, 0), len(self._rows) - 1) if self._rows else None
        rows.focus()

    def action_move(self, step: int) -> None:
        """Move as the log does."""
        rows = self.query_one(OptionList)
        rows.action_cursor_down() if step > 0 else rows.action_cursor_up()

    def action_end(self, index: int) -> None:
        """Go to the first or last row."""
        if self._rows:
            self.query_one(OptionList).highlighted = index % len(self._rows)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)
