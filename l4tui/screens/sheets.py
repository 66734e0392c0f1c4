"""What is opened over the log: fields, records, counts over time, files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from threading import Event
from typing import TYPE_CHECKING

from rich.text import Text

from l4tui.histogram import Histogram, histogram_of
from l4tui.screens.fields import fields_text, record_text
from l4tui.widgets.cells import clean
from l4tui.widgets.gutter import SECOND, clock
from l4tui.widgets.sheet import ListSheet, Sheet, TextSheet

if TYPE_CHECKING:
    from l4tui.engine.evidence.finding import Place
    from l4tui.screens.job import JobScreen

BAR_MAX = 40  # cells of the longest bar
BESIDE = 46  # cells that time, counts and frame need beside it
AROUND = 10  # lines above and below one that is shown
BINS = 60  # about as many as can be looked over
DAY = 86_400 * SECOND


def open_fields(screen: JobScreen, entry: int) -> None:
    """Show what is known of a line."""
    _lay_out(screen, "Fields", lambda: fields_text(screen.snapshot, entry, screen.config.ascii))


def open_record(screen: JobScreen, entry: int) -> None:
    """Show the whole record of a line."""
    _lay_out(screen, "Record", lambda: record_text(screen.snapshot, entry, screen.config.ascii))


def open_place(screen: JobScreen, place: Place) -> None:
    """Show a line of a file that is no log, between its neighbours and below the head of its table."""
    _lay_out(screen, f"{PurePath(place.path).name}:{place.line}", lambda: _place_text(place, screen.config.ascii))


def _place_text(place: Place, plain: bool) -> Text:
    text = Text(no_wrap=True)
    head: list[str] = []
    text.append(f"{clean(place.path, plain)}\n", "dim")
    text.append(f"{clean(place.text, plain)}\n\n", "bold")
    with Path(place.path).open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            words = f"{number:>9,}  {clean(re.sub(' {2,}', ' ', line.strip()), plain)}\n"  # tables are wide
            if number < place.line - AROUND:
                if line.startswith("#") or number == 1:
                    head = [*head[-1:], words]
            elif number <= place.line + AROUND:
                while head:
                    text.append(head.pop(0), "dim")
                text.append(words, "reverse" if number == place.line else "")
            else:
                break
    return text


def _lay_out(screen: JobScreen, title: str, make: Callable[[], Text]) -> None:
    def work() -> None:
        text = make()  # reads the file
        screen.app.call_from_thread(_open, screen, TextSheet(title, text))

    screen.in_thread(work, "sheet")


def _open(screen: JobScreen, sheet: Sheet, taken: Callable[[int | None], None] | None = None) -> None:
    """Lay a sheet over the log, unless the person has gone on to something else while it was made."""
    if screen.app.screen is screen and not screen.prompt.is_open:
        screen.app.push_screen(sheet, taken)


def open_histogram(screen: JobScreen) -> None:
    """Count the lines of the view over time and show the bars."""
    snapshot, scope = screen.snapshot, screen.scope

    def work() -> None:
        rows = screen.viewer.rows(snapshot, scope, Event())  # lines, whatever the lens
        counted = histogram_of(snapshot, rows, BINS, Event())
        screen.app.call_from_thread(_show_histogram, screen, counted)

    screen.in_thread(work, "sheet")


def _show_histogram(screen: JobScreen, counted: Histogram | None) -> None:
    if counted is None:
        screen.say("no line here has a time")
        return
    entry = screen.cursor_entry
    now = counted.start if entry is None else int(screen.snapshot.clock[entry])
    chosen = min(max((now - counted.start) // counted.step, 0), len(counted.lines) - 1)
    rows = histogram_rows(counted, screen.view.signs.bar, min(BAR_MAX, screen.size.width - BESIDE))

    def go(index: int | None) -> None:
        if index is not None:
            screen.go_to_time(counted.start + index * counted.step)

    _open(screen, ListSheet("Lines over time", rows, "Enter goes there   Esc closes", chosen), go)


def histogram_rows(counted: Histogram, sign: str, width: int) -> list[Text]:
    """Draw a bar for each span of time."""
    most = max(int(counted.lines.max()), 1)
    rows = []
    for i, (lines, warnings, errors) in enumerate(
        zip(counted.lines.tolist(), counted.warnings.tolist(), counted.errors.tolist(), strict=True)
    ):
        at = counted.start + i * counted.step
        day = time.strftime("%m-%d ", time.gmtime(at // SECOND)) if counted.step * len(counted.lines) >= DAY else ""
        row = Text(f"{day}{clock(at, 8)}  ")
        row.append((sign * max(round(lines / most * width), 1 if lines else 0)).ljust(width), "cyan")
        row.append(f" {lines:>10,}")
        row.append(f"  W {warnings:,}" if warnings else "", "yellow")
        row.append(f"  E {errors:,}" if errors else "", "bold red")
        rows.append(row)
    return rows


def open_files(screen: JobScreen) -> None:
    """Show what is read and what is not."""
    text = Text()
    for words in (*screen.unread, *screen.feed.troubles):
        text.append(f"{clean(words)}\n", "bold red")
    for source in screen.snapshot.sources:
        text.append(f"{clean(source.path)}\n")
        if mirrored := getattr(source, "mirror_of", ""):
            text.append(f"  the same text as {clean(mirrored)}: counted, not analysed twice\n", "dim")
    for path, why in screen.left_out:
        text.append(clean(path), "dim")
        text.append(f"  left out: {clean(why)}\n", "dim italic")
    screen.app.push_screen(TextSheet("Files", text))
