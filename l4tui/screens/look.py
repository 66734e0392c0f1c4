"""What the job screen opens over the log, copies out of it and asks of the terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING

from rich.text import Text
from textual import work
from textual.app import SuspendNotSupported
from textual.drivers.linux_driver import LinuxDriver

from l4tui.engine.view import Ids
from l4tui.histogram import Histogram, histogram_of
from l4tui.places import Place
from l4tui.screens.fields import fields_text, record_text
from l4tui.terminal import osc52
from l4tui.widgets.gutter import clock
from l4tui.widgets.sheet import ListSheet, TextSheet

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen

BAR_MAX = 40  # cells of the longest bar


class Looking:
    """The sheets and copies of the job screen."""

    def open_fields(self: JobScreen, entry: int) -> None:
        """Show what is known of a line."""
        self._lay_out("Fields", lambda: fields_text(self.snapshot, entry, self.config.ascii))

    def open_record(self: JobScreen, entry: int) -> None:
        """Show the whole record of a line."""
        self._lay_out("Record", lambda: record_text(self.snapshot, entry, self.config.ascii))

    @work(thread=True, exclusive=True, group="sheet", exit_on_error=False)
    def _lay_out(self: JobScreen, title: str, make: Callable[[], Text]) -> None:
        text = make()
        self.app.call_from_thread(self.app.push_screen, TextSheet(title, text))

    @work(thread=True, exclusive=True, group="sheet", exit_on_error=False)
    def open_histogram(self: JobScreen) -> None:
        """Count the lines of the view over time and show the bars."""
        counted = histogram_of(self.snapshot, self.view.rows, self.lens.entries, 60, Event())
        self.app.call_from_thread(self._show_histogram, counted)

    def _show_histogram(self: JobScreen, counted: Histogram | None) -> None:
        if counted is None:
            self.say("no line here has a time")
            return
        entry = self.cursor_entry
        now = counted.start if entry is None else int(self.snapshot.clock[entry])
        chosen = min(max((now - counted.start) // counted.step, 0), len(counted.lines) - 1)
        rows = histogram_rows(counted, self.view.signs.bar, min(BAR_MAX, self.size.width - 46))

        def go(index: int | None) -> None:
            if index is not None:
                from l4tui.handlers.seeking import seek_place  # registers with the screen

                at = counted.start + index * counted.step
                seek_place(self, Place(at, False, clock(at, 8)))

        self.app.push_screen(ListSheet("Lines over time", rows, "Enter goes there   Esc closes", chosen), go)

    def open_files(self: JobScreen) -> None:
        """Show what is read and what is not."""
        text = Text()
        for source in self.snapshot.sources:
            text.append(f"{source.path}\n")
            if getattr(source, "mirror_of", ""):
                text.append(f"  the same text as {source.mirror_of}: counted, not analysed twice\n", "dim")
        for path, why in self.left_out:
            text.append(f"{path}", "dim")
            text.append(f"  left out: {why}\n", "dim italic")
        self.app.push_screen(TextSheet("Files", text))

    @work(thread=True, exclusive=True, group="copy", exit_on_error=False)
    def copy_rows(self: JobScreen, keys: Ids, *, labelled: bool) -> None:
        """Copy rows to the terminal's clipboard: with their ranks, or as they stand in the file."""
        if labelled:
            lines = [f"{line.who or line.sort}\t{line.text}" for line in self.lens.lines(self.snapshot, keys)]
        else:
            entries = self.lens.entries(self.snapshot, keys).tolist()
            lines = [raw.decode("utf-8", "replace") for raw in self.snapshot.raws(entries)]
        self.app.call_from_thread(self._to_clipboard, "\n".join(lines), len(lines))

    def _to_clipboard(self: JobScreen, text: str, lines: int) -> None:
        self.app.copy_to_clipboard(text)
        driver = self.app._driver
        if driver is not None and "TMUX" in os.environ:
            driver.write(osc52(text, through_tmux=True))
        self.say(f"copied {lines:,} line{'s' if lines != 1 else ''}, {len(text):,} characters")

    def dump_page(self: JobScreen) -> None:
        """Leave the screen, print the page plainly, and come back on Enter."""
        keys = self.view.rows.keys(self.view.top, self.view.top + self.view.page)
        lines = [f"{line.who or line.sort:>6}  {line.text}" for line in self.lens.lines(self.snapshot, keys)]
        try:
            with self.app.suspend():
                sys.__stdout__.write("\n".join(lines) + "\n\nEnter goes back to l4tui ")  # type: ignore[union-attr]
                sys.__stdout__.flush()  # type: ignore[union-attr]
                sys.__stdin__.readline()  # type: ignore[union-attr]
        except SuspendNotSupported:
            self.say("this terminal cannot be left and come back to")

    def toggle_mouse(self: JobScreen) -> bool:
        """Take the mouse, or leave it to the terminal; says which."""
        self.mouse_on = not self.mouse_on
        driver = self.app._driver  # Textual has no public way to change its mind about the mouse
        if isinstance(driver, LinuxDriver):
            driver._mouse = True  # both calls below do nothing without it
            if self.mouse_on:
                driver._enable_mouse_support()
            else:
                driver._disable_mouse_support()
            driver._mouse = self.mouse_on
        return self.mouse_on

    def set_theme(self: JobScreen, name: str) -> None:
        """Change the colours."""
        if name in self.app.available_themes:
            self.app.theme = name
        else:
            self.say(f"themes: {', '.join(sorted(self.app.available_themes))}", "error" if name else "busy")

    def choose_job(self: JobScreen) -> None:
        """Open the list of jobs that the folder holds."""
        choose = getattr(self.app, "choose_job", None)
        if choose is None or not choose():
            self.say("there is one job here")


def histogram_rows(counted: Histogram, bar: str, width: int) -> list[Text]:
    """Draw a bar for each span of time."""
    most = max(int(counted.lines.max()), 1)
    rows = []
    with_day = counted.step * len(counted.lines) >= 86_400_000_000_000
    for i, (lines, warnings, errors) in enumerate(
        zip(counted.lines.tolist(), counted.warnings.tolist(), counted.errors.tolist(), strict=True)
    ):
        at = counted.start + i * counted.step
        day = time.strftime("%m-%d ", time.gmtime(at // 1_000_000_000)) if with_day else ""
        row = Text(f"{day}{clock(at, 8)}  ")
        row.append((bar * max(round(lines / most * width), 1 if lines else 0)).ljust(width), "cyan")
        row.append(f" {lines:>10,}")
        row.append(f"  W {warnings:,}" if warnings else "", "yellow")
        row.append(f"  E {errors:,}" if errors else "", "bold red")
        rows.append(row)
    return rows
