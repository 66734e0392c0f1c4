"""All iterations: how long each took, how unlike those before it, the odd ones marked and explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.segment import Segment
from textual.strip import Strip

from l4tui.engine.opinion import Iterations, no_iterations
from l4tui.panes.listing import Item, ListPane, ranks_in_words
from l4tui.widgets.bars import Part
from l4tui.widgets.glyphs import sparkline
from l4tui.widgets.header import short

if TYPE_CHECKING:
    from l4tui.engine.opinion import Floats, Ints
    from l4tui.judge import Ruling
    from l4tui.screens.job import JobScreen
    from l4tui.study import Study

KINDS = {
    "extra_lines": "is_extra", "missing_lines": "is_missing", "repeated": "folded", "slow": "is_late",
    "value": "is_value",
}  # fmt: skip
WORDS = {
    "extra_lines": "extra lines", "missing_lines": "missing lines", "repeated": "repeats", "slow": "slow",
    "value": "odd value",
}  # fmt: skip
BAR = 16  # cells of the longest duration's bar
TALL = 4.0  # medians that fill the bar: what is longer is full


class Shown(ListPane):
    """Shows a row per iteration, whatever their number; rows are made when they are drawn."""

    heading = "Iterations"

    lasting = ("only_odd",)

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.table: Iterations = no_iterations()
        self.only_odd = False
        self._rows: Ints = np.empty(0, np.int64)  # of the table, as listed
        self._usual = float("nan")
        self._is_new = True
        self.judged(screen.ruling)

    def gather(self, study: Study) -> object:
        """Nothing: the judge brings all."""
        return None

    def judged(self, ruling: Ruling) -> None:
        """Take over the iterations, keeping the cursor's one."""
        if ruling.opinion is None:
            return
        key = self.current.key
        self.table = ruling.opinion.iterations
        known = self.table.seconds[~np.isnan(self.table.seconds)]
        self._usual = float(np.median(known)) if len(known) else float("nan")
        self._list()
        if self._is_new and len(self.table):
            self._is_new = False
            self._go_to_log()
        elif key is not None and (at := self.place_of(key)) >= 0:
            self.at = at
        self.reveal()
        self.refresh()

    def recall(self, left: dict[str, object]) -> None:
        """List only odd ones again, from where the log is now."""
        super().recall(left)
        self._list()
        self._go_to_log()

    def _list(self) -> None:
        odd = np.array(sorted(self.table.odd), np.int64)
        self._rows = odd if self.only_odd else np.arange(len(self.table))

    def _go_to_log(self) -> None:
        """Stand where the log's cursor is."""
        entry, snapshot = self.host.cursor_entry, self.host.snapshot
        if entry is not None and snapshot.iteration_at(entry) >= 0:
            attempt = max(int(snapshot.ranks.attempt[snapshot.speaker[entry]]), 0)
            self.at = self.nearest(attempt, snapshot.iteration_at(entry))

    def nearest(self, attempt: int, number: int) -> int:
        """Find the listed row of an iteration, or the one before it."""
        mine = self.table.attempt[self._rows] * (1 << 32) + self.table.number[self._rows]
        return max(int(np.searchsorted(mine, attempt * (1 << 32) + number, "right")) - 1, 0)

    @property
    def length(self) -> int:
        """Number of listed iterations."""
        return len(self._rows)

    @property
    def lead(self) -> int:
        """The run of durations, and the columns' names."""
        return 2

    def place_of(self, key: object) -> int:
        """Find an iteration by attempt and number."""
        if not isinstance(key, tuple):
            return -1
        at = self.nearest(*key)
        return at if at < self.length and self.item(at).key == key else -1

    def item(self, index: int) -> Item:
        """Write one iteration."""
        t, row = self.table, int(self._rows[index])
        odd, seconds = t.odd.get(row), float(t.seconds[row])
        sign = getattr(self.signs, KINDS.get(odd.kind, "is_extra")) if odd is not None else " "
        style = "odd" if odd is not None else "plain"
        parts = [Part(f"{sign} {int(t.number[row]):>9,}", style)]
        if self._attempts > 1:
            parts.append(Part(f"{int(t.attempt[row]):>3}", "quiet"))
        took = "" if np.isnan(seconds) else short(seconds)
        is_slow = odd is not None and odd.kind == "slow"
        parts.append(Part(f"{took:>9}", "odd" if is_slow else "plain"))
        parts.append(Part(f"{self._bar(seconds):<{BAR}}", "odd" if is_slow else "quiet", 5))
        score = odd.score if odd is not None else float(t.deviations[row])
        parts.append(Part(f"{round(score, 1) + 0.0:>7,.1f}", "odd" if odd is not None else "quiet"))
        if odd is not None:
            parts.append(Part(WORDS.get(odd.kind, odd.kind), "odd"))
            parts.append(Part(ranks_in_words(odd.ranks), "plain", 4))
            parts.append(self.rest(parts, self.words(_told(odd.text))))
        lines = dict.fromkeys((int(t.entry[row]), *(odd.entries if odd is not None else ())))
        return Item(tuple(parts), (int(t.attempt[row]), int(t.number[row])), tuple(lines))

    @property
    def _attempts(self) -> int:
        return len(np.unique(self.table.attempt[[0, -1]])) if len(self.table) else 0

    def _bar(self, seconds: float) -> str:
        if np.isnan(seconds) or not self._usual > 0:
            return ""
        cells = min(seconds / (TALL * self._usual), 1.0) * BAR
        return self.signs.bar * max(round(cells), 1)

    # Drawing

    def title(self) -> list[Part]:
        """Count, and say what is usual."""
        t = self.table
        parts = [Part(self.heading, "name"), Part(f"{len(t):,}", "quiet", 1)]
        if len(t):
            odd = f"{self.signs.is_extra} {len(t.odd):,} odd" if t.odd else "none odd"
            parts.append(Part(odd, "odd" if t.odd else "ok", 2))
            if self._usual == self._usual:
                worst = int(np.nanargmax(t.seconds))
                parts.append(Part(f"usually {short(self._usual)}", "quiet", 3))
                words = f"longest {short(float(t.seconds[worst]))} at {int(t.number[worst]):,}"
                parts.append(Part(words, "quiet", 4))
        parts.append(Part("s S odd ones  v only those  Enter its lines", "quiet", 90, right=True))
        return parts

    def row(self, y: int) -> list[Part] | Strip:
        """Draw the run of durations, the columns' names, or an iteration."""
        if not len(self.table):
            told = self.host.ruling.opinion is not None
            words = "no line of this log tells an iteration" if told else "the job is being judged"
            return [Part(f" {words}", "quiet")] if y == 0 else []
        if y == 0:
            run = run_of(self.table.seconds, max(self.size.width - 2, 1))
            return Strip([Segment(" " + sparkline(run, self.signs.bars), self.style_of("busy"))])
        if y == 1:
            tries = "try  " if self._attempts > 1 else ""
            names = [Part(f"   iteration  {tries}   lasted", "quiet"), Part(" " * BAR, "quiet", 5)]
            return [*names, Part("    DTW  deviations from the iterations before", "quiet")]
        return super().row(y)

    # Keys

    def does(self, action: str, argument: str) -> bool:
        """Walk the odd ones, show only those; the rest as lists do."""
        if action in ("next_odd", "previous_odd", "next_divergent", "previous_divergent"):
            self._walk(1 if action.startswith("next") else -1)
        elif action == "lens":
            key = self.current.key
            self.only_odd = not self.only_odd
            self._list()
            self.at = self.nearest(*key) if isinstance(key, tuple) else 0
            self.reveal()
            self.refresh()
        else:
            return super().does(action, argument)
        return True

    def _walk(self, step: int) -> None:
        odd = [i for i, row in enumerate(self._rows.tolist()) if row in self.table.odd]
        ahead = [i for i in odd if (i - self.at) * step > 0]
        if not odd:
            self.host.say("no iteration is odd")
            return
        self.go((ahead or odd)[0 if step > 0 else -1])
        if not self.host.is_pane_alone:
            self.host.show_entry(self.current.entries[0])


def _told(text: str) -> str:
    """Leave out what the columns say: the event in quotes is what is new."""
    return text.partition("“")[2].rpartition("”")[0] or ""


def run_of(seconds: Floats, width: int) -> list[float]:
    """Bring durations to at most `width` values, the longest of each stretch; unknown ones as the shortest."""
    known = seconds[~np.isnan(seconds)]
    if not len(known):
        return []
    filled = np.where(np.isnan(seconds), known.min(), seconds)
    if len(filled) <= width:
        return [float(v) for v in filled]
    edges = np.arange(width) * len(filled) // width
    return [float(v) for v in np.maximum.reduceat(filled, edges)]
