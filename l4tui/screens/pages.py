"""A screen that reads the text of its log by the page, off the thread that draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.message import Message
from textual.screen import Screen
from textual.worker import get_current_worker

from l4tui.widgets.cells import clean
from l4tui.widgets.line import Line
from l4tui.widgets.logview import LogView

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot
    from l4tui.engine.view import Ids, Rows
    from l4tui.lenses import Lens

PART = 6  # rows of many ranks that are read at once


class PageScreen(Screen[None]):
    """Reads what its log view asks for through the lens that made the rows."""

    view: LogView
    snapshot: Snapshot
    lens: Lens

    @dataclass
    class PageRead(Message):
        """Text that was asked for."""

        lines: list[Line]
        epoch: int
        turn: int

    @on(LogView.PageWanted)
    def _page_wanted(self, event: LogView.PageWanted) -> None:
        self._read_page(event, self.lens, self.snapshot, self.view.rows)

    # described, for else Textual writes out all arguments, the job's columns among them: 20 ms a page
    @work(thread=True, exclusive=True, group="page", exit_on_error=False, description="page")
    def _read_page(self, wanted: LogView.PageWanted, lens: Lens, snapshot: Snapshot, rows: Rows) -> None:
        worker = get_current_worker()
        urgent, ahead = wanted.keys[: wanted.urgent], wanted.keys[wanted.urgent :]
        if len(urgent) and lens.is_heavy(rows, urgent):
            lines = _lines(lens, snapshot, rows, urgent, quick=True)
            self.post_message(self.PageRead(lines, wanted.epoch, wanted.turn))
        for part in (*_parts(lens, rows, urgent), *_parts(lens, rows, ahead)):
            if worker.is_cancelled:
                return
            lines = _lines(lens, snapshot, rows, part)
            self.post_message(self.PageRead(lines, wanted.epoch, wanted.turn))

    @on(PageRead)
    def _page_read(self, event: PageRead) -> None:
        self.view.supply(event.lines, event.epoch, event.turn)


def _parts(lens: Lens, rows: Rows, keys: Ids) -> list[Ids]:
    """Cut a page that takes long, so that another that is wanted meanwhile comes soon."""
    size = PART if len(keys) and lens.is_heavy(rows, keys) else max(len(keys), 1)
    return [keys[at : at + size] for at in range(0, len(keys), size)]


def _lines(lens: Lens, snapshot: Snapshot, rows: Rows, keys: Ids, *, quick: bool = False) -> list[Line]:
    """Read a page; where that fails each row says why, and the rest of the log stays usable."""
    try:
        return lens.lines(snapshot, rows, keys, quick=quick)
    except Exception as error:
        words = clean(f"cannot be read: {error}" if str(error) else f"cannot be read: {type(error).__name__}")
        return [Line(key, words, sort="note") for key in keys.tolist()]
