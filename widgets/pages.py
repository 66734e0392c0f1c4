"""The text that a log view holds: lines near the screen, asked for by the page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from l4tui.engine.view import Ids, Rows
from l4tui.widgets.line import Line

KEPT = 3_000  # lines whose text is kept
AHEAD = 2  # pages read ahead on either side


class Pages:
    """Lines by key, and which of them are on their way."""

    def __init__(self) -> None:
        self.epoch = 0  # what was asked for in an earlier one is void when it comes
        self._lines: OrderedDict[int, Line] = OrderedDict()
        self._coming: set[int] = set()
        self._old: set[int] = set()  # lines that read differently now; shown until the new text comes
        self.turn = 0  # text that was asked for before lines became old may be old

    def get(self, key: int) -> Line | None:
        """Give a line, if its text is here."""
        return self._lines.get(key)

    def forget(self) -> None:
        """Drop everything."""
        self._lines.clear()
        self._coming.clear()
        self._old.clear()
        self.epoch += 1

    def renew(self, keys: Iterable[int]) -> None:
        """Have these lines read again, those that are held."""
        self._old.update(key for key in keys if key in self._lines or key in self._coming)
        self._coming -= self._old
        self.turn += 1

    def take(self, lines: Iterable[Line], turn: int) -> None:
        """Keep lines that have come, asked for at this turn, and let the oldest go."""
        for line in lines:
            self._lines[line.key] = line
            self._coming.discard(line.key)
            if turn == self.turn:
                self._old.discard(line.key)
        while len(self._lines) > KEPT:
            self._lines.popitem(last=False)

    def has(self, keys: Iterable[int]) -> bool:
        """Say whether all these rows have their text, as it is now."""
        return all(key in self._lines and key not in self._old for key in keys)

    def lack(self, rows: Rows, top: int, page: int) -> tuple[int, int, Ids]:
        """Say how many rows on screen lack their text, and which keys to ask for now, the first so many on screen."""
        shown = rows.keys(top, top + page).tolist()
        missing = [key for key in shown if key not in self._lines]
        stale = [key for key in shown if key in self._old] if self._old else []
        if all(key in self._coming for key in (*missing, *stale)):
            return len(missing), 0, np.empty(0, np.int64)
        around = rows.keys(top - AHEAD * page, top + (1 + AHEAD) * page).tolist()
        asked = dict.fromkeys(missing + stale + [key for key in around if key not in self._lines or key in self._old])
        self._coming = set(asked)
        return len(missing), len(missing) + len(stale), np.array(list(asked), np.int64)
