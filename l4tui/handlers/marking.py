"""Marks, selection, copies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from l4tui.engine.view import Bits, Ids
from l4tui.handlers import answers, handles
from l4tui.terminal import OSC52_MAX, osc52

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen

COPY_MAX = 2_000  # lines; terminals drop longer OSC 52 sequences anyway


@handles("mark")
def mark(screen: JobScreen, text: str) -> None:
    """Mark the line with a note, or take its mark away."""
    entry = screen.cursor_entry
    if entry is None:
        return
    if entry in screen.notes:
        del screen.notes[entry]
        screen.show_marks()
        screen.say("mark removed")
    elif text:
        set_mark(screen, text)
    else:
        screen.prompt.ask("note", "note ", "Enter marks the line")


@answers("note")
def set_mark(screen: JobScreen, text: str) -> None:
    """Mark the cursor's line."""
    entry = screen.cursor_entry
    if entry is not None:
        screen.notes[entry] = text.strip()
        screen.show_marks()
        screen.tell()


@handles("next_mark", "previous_mark")
def other_mark(screen: JobScreen, _: str) -> None:
    """To the next or previous mark."""
    marks = np.array(sorted(screen.view.marks), np.int64)

    def test(keys: Ids) -> Bits:
        return np.isin(keys, marks)

    step = 1 if screen.acting == "next_mark" else -1
    screen.jump(test, step, "nothing is marked: m marks a line", around=True)


@handles("select")
def select(screen: JobScreen, _: str) -> None:
    """Begin a selection at the cursor, or give it up."""
    screen.view.select(None if screen.view.selected_from is not None else screen.view.row)
    if screen.view.selected_from is not None:
        screen.say("selecting: move, then y copies; V ends it")


@handles("copy", "copy_line")
def copy(screen: JobScreen, _: str) -> None:
    """Copy the selected lines with who wrote them, or the one line as it stands in the file."""
    first, last = screen.view.selection
    if screen.acting == "copy_line":
        first = last = screen.view.row
    keys = screen.view.rows.keys(first, min(last + 1, first + COPY_MAX))
    screen.view.select(None)
    if len(keys):
        _copy_rows(screen, keys, labelled=screen.acting == "copy")


def _copy_rows(screen: JobScreen, keys: Ids, *, labelled: bool) -> None:
    """Read rows, with their ranks or as they stand in the file, and hand them to the terminal's clipboard."""
    lens, snapshot, rows = screen.lens, screen.snapshot, screen.view.rows

    def work() -> None:
        if labelled:
            lines = [f"{line.who or line.sort}\t{line.text}" for line in lens.lines(snapshot, rows, keys)]
        else:
            lines = [raw.decode("utf-8", "replace") for raw in snapshot.raws(rows.entries(keys).tolist(), OSC52_MAX)]
        screen.app.call_from_thread(_to_clipboard, screen, "\n".join(lines), len(lines))

    screen.in_thread(work, "copy")


def _to_clipboard(screen: JobScreen, text: str, lines: int) -> None:
    screen.app.copy_to_clipboard(text)
    driver = screen.app._driver
    if driver is not None and "TMUX" in os.environ:  # tmux keeps the plain sequence to itself unless told otherwise
        driver.write(osc52(text, through_tmux=True))
    screen.say(f"copied {lines:,} line{'s' if lines != 1 else ''}, {len(text):,} characters")
