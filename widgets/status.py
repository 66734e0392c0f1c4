"""What stands below the log: where the cursor is, what is hidden, and that no line is lost."""

from __future__ import annotations

from typing import NamedTuple

from l4tui.widgets.bars import Part
from l4tui.widgets.barwidget import Bars
from l4tui.widgets.cells import clean
from l4tui.widgets.glyphs import Glyphs

APART, PLACE = 28, 24  # cells that what sets a row apart, and its place, keep


class Account(NamedTuple):
    """Physical lines by whom they belong to; they add up to `lines`."""

    ranks: int = 0
    mixed: int = 0
    launcher: int = 0
    unknown: int = 0
    lines: int = 0


class Situation(NamedTuple):
    """Everything the status bar says."""

    account: Account = Account()
    lens: str = "merged"
    shown: int = 0  # rows in the view
    whole: int = 0  # entries of the job
    chips: tuple[str, ...] = ()
    filtering: bool = True
    search: str = ""
    found: int = -1
    searching: bool = False
    following: bool = False
    reading: bool = True
    live: bool = False
    waiting: int = 0
    apart: str = ""  # what sets the cursor's row apart
    place: str = ""  # where the cursor stands
    row: int = 0
    message: str = ""
    message_style: str = "busy"


class StatusBar(Bars):
    """A row on the cursor, a row on the whole; chips get a row of their own when there are any."""

    def show_situation(self, now: Situation) -> None:
        """Show the situation."""
        rows = [place_row(now, self.signs), account_row(now, self.signs)]
        if now.chips:
            rows.insert(0, chip_row(now, self.signs))
        self.show(rows)


def chip_row(now: Situation, signs: Glyphs) -> list[Part]:
    """Lay out the filters, the last added first to stay."""
    parts = [Part("showing", "quiet", 80) if now.filtering else Part("filters off", "warning")]
    for i, chip in enumerate(now.chips):
        number = f"{i + 1} " if len(now.chips) > 1 else ""
        style, give = "chip" if now.filtering else "quiet", 1 + len(now.chips) - i
        parts.append(Part(f" {number}{clean(chip)} {signs.remove}", style, give, tap=f"chip {i}"))
    share = f"{now.shown:,} of {now.whole:,}"
    if now.lens.startswith("collapsed"):  # a row stands for several lines
        share = f"{now.shown:,} row{'s' if now.shown != 1 else ''} of {now.whole:,} lines"
    hint = "K removes one" if len(now.chips) > 1 else "K removes it"
    parts += [Part(share, "plain", 1, right=True), Part(hint, "quiet", 90)]
    return parts


def place_row(now: Situation, signs: Glyphs) -> list[Part]:
    """Lay out where the cursor stands, or what there is to tell the person just now."""
    if now.message:
        parts = [Part(clean(now.message), now.message_style), Part(clean(now.place), "plain", 7, least=PLACE)]
    else:
        parts = [Part(clean(now.apart), "plain", 2, least=APART), Part(clean(now.place), "plain", 1, least=PLACE)]
    if now.search:
        count = "searching" if now.found < 0 else f"{now.found:,}" + ("+" if now.searching else "")
        parts.append(Part(f"/{clean(now.search)[:30]}", "busy", 4, right=True))
        parts.append(Part(f"{count} hits" if now.found != 1 else "1 hit", "name", 3, right=True))
    where = f"{now.row + 1:,}" if now.shown else "0"
    percent = f"{100 * (now.row + 1) // max(now.shown, 1)} %" if now.shown else ""
    parts += [Part(f"{where}/{now.shown:,}", "quiet", 5, right=True), Part(percent, "quiet", 6, right=True)]
    return parts


def account_row(now: Situation, signs: Glyphs) -> list[Part]:
    """Lay out the account of lines, which adds up, and the follow state."""
    a = now.account
    parts = [Part(f"{a.ranks:,} by rank", "plain", 0)]
    for sign, count, word in (
        (signs.mixed, a.mixed, "mixed"),
        (signs.launcher, a.launcher, "launcher"),
        (signs.unknown, a.unknown, "unknown"),
    ):
        parts += [Part(f" + {count:,}", "plain" if count else "quiet", 0, glue=True)]
        parts += [Part(f" {sign}", "plain" if count else "quiet", 0, glue=True)]
        parts += [Part(f" {word}", "quiet", 8, glue=True)]
    parts += [Part(f" = {a.lines:,} lines", "plain", 0, glue=True)]
    parts += [Part(now.lens, "busy", 2, right=True)]
    if not now.reading:
        parts.append(Part("reading paused (=)", "warning", 0, right=True))
    elif now.following:
        parts.append(Part(f"{signs.running} follow", "ok", 0, right=True))
    elif now.live and now.waiting:
        parts.append(Part(f"paused {signs.down}{now.waiting:,}", "warning", 0, right=True))
    parts.append(Part("? help", "quiet", 9, right=True))
    return parts
