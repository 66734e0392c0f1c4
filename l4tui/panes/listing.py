"""A pane that is a list: a cursor on rows that are made when they are drawn, so that length costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.strip import Strip

from l4tui.panes.pane import Pane
from l4tui.widgets.bars import GAP, Part, bar
from l4tui.widgets.cells import clean, fit, width_of

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


class Item(NamedTuple):
    """One row of a list."""

    parts: tuple[Part, ...] = ()
    key: object = None  # what the cursor holds on to when the list changes; None: the cursor passes over it
    entries: tuple[int, ...] = ()  # lines that the row tells of
    thing: object = None  # what the row is about


class ListPane(Pane):
    """Shows items below a heading; Enter goes to an item's lines, one after the other."""

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.at = 0  # item under the cursor
        self.top = 0
        self._walked = (-1, -1)  # item and line of it that Enter has gone to

    def leave(self) -> dict[str, object]:
        """Give also the row under the cursor."""
        return {**super().leave(), "key": self.current.key}

    def stand_on(self, key: object) -> None:
        """Put the cursor on the row of a key, if there still is one."""
        found = self.place_of(key) if key is not None else -1
        self.at = found if found >= 0 else self.at
        self.reveal()

    # What a list is made of

    @property
    def length(self) -> int:
        """Number of items."""
        return 0

    def item(self, index: int) -> Item:
        """Give one item."""
        return Item()

    def place_of(self, key: object) -> int:
        """Find the item of a key; −1 if it is gone."""
        return next((i for i in range(self.length) if self.item(i).key == key), -1)

    @property
    def lead(self) -> int:
        """Rows between heading and list."""
        return 0

    @property
    def room(self) -> int:
        """Rows for items."""
        return max(self.rows - self.lead, 1)

    @property
    def current(self) -> Item:
        """The item under the cursor."""
        return self.item(self.at) if 0 <= self.at < self.length else Item()

    # Drawing

    def row(self, y: int) -> list[Part] | Strip:
        """Draw the item at a row; the one under the cursor on a ground of its own."""
        self.reveal()
        index = self.top + y - self.lead
        if not 0 <= index < self.length:
            return []
        parts = list(self.item(index).parts)
        if index != self.at:
            return [Part(" ", glue=True), *_glued(parts)]
        tint = self.tint("cursor")
        sign = Part(self.signs.cursor, "busy" if self.has_focus else "quiet", glue=True)

        def style(name: str) -> Style:
            return self.style_of(name) + tint

        return bar([sign, *_glued(parts)], self.size.width, style, self.signs.ellipsis)

    def reveal(self) -> None:
        """Scroll as little as shows the cursor."""
        self.at = min(max(self.at, 0), max(self.length - 1, 0))
        self.top = min(max(self.top, self.at - self.room + 1), self.at)
        self.top = max(min(self.top, self.length - self.room), 0)

    def words(self, text: str) -> str:
        """Make words of ours and of a log printable here."""
        ascii_only = self.host.config.ascii
        return clean(text.translate(_PLAIN) if ascii_only else text, ascii_only)

    def rest(self, parts: Sequence[Part], text: str, least: int = 12) -> Part:
        """Make the last part of a row: as much of a text as there is room for beside the others."""
        room = self.size.width - 1 - sum(width_of(part.text) + len(GAP) for part in parts if part.text)
        return Part(fit(text, min(room, width_of(text)), self.signs.ellipsis) if room >= least else "", "quiet")

    # Keys

    def does(self, action: str, argument: str) -> bool:
        """Move the cursor; Enter goes to the lines."""
        page = max(self.room - 1, 1)
        steps = {"down": 1, "up": -1, "page_down": page, "page_up": -page}
        steps |= {"half_down": max(page // 2, 1), "half_up": -max(page // 2, 1)}
        if action in steps:
            self.go(self.at + steps[action], 1 if steps[action] > 0 else -1)
        elif action == "first":
            self.top = 0
            self.go(0, 1)
        elif action == "last":
            self.go(self.length - 1, -1)
        elif action == "open":
            self.open_lines()
        else:
            return super().does(action, argument)
        return True

    def go(self, index: int, step: int = 1) -> None:
        """Put the cursor on an item, or on the next one in a direction that can be stood on."""
        if not self.length:
            return
        index = min(max(index, 0), self.length - 1)
        for wanted in (range(index, self.length) if step > 0 else range(index, -1, -1)):
            if self.item(wanted).key is not None:
                if wanted != self.at:
                    self._walked = (-1, -1)
                self.at = wanted
                break
        if step < 0 and all(self.item(i).key is None for i in range(min(self.at, self.room))):
            self.top = 0  # headings above the first item are worth seeing
        self.reveal()
        self.refresh()

    def open_lines(self) -> None:
        """Show the item's first line in the log, its next one each time after; the log takes a lone pane's place."""
        entries = self.current.entries
        if not entries:
            self.host.say("no line shows this")
            return
        at = self._walked[1] + 1 if self._walked[0] == self.at else 0
        self._walked = (self.at, at % len(entries))
        if len(entries) > 1:
            self.host.say(f"line {self._walked[1] + 1} of {len(entries):,}")
        entry = entries[self._walked[1]]
        if self.host.is_pane_alone:
            self.host.close_pane()
        self.host.show_entry(entry)


_PLAIN = str.maketrans({"×": "x", "“": '"', "”": '"', "–": "-", "…": "...", "·": "-", "≥": ">="})


def _glued(parts: list[Part]) -> list[Part]:
    """Let the first part stand against the cursor's cell."""
    return [parts[0]._replace(glue=True), *parts[1:]] if parts else []


def ranks_in_words(ranks: tuple[int, ...]) -> str:
    """Write ranks shortly: "rank 3", "ranks 0-7", "ranks 0-3,9 …"."""
    spans: list[tuple[int, int]] = []
    for rank in sorted(ranks):
        if spans and rank == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], rank)
        else:
            spans.append((rank, rank))
    if not spans:
        return ""
    words = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans[:3])
    return f"rank{'s' if len(ranks) > 1 else ''} {words}" + (",…" if len(spans) > 3 else "")
