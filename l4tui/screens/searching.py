"""A screen whose log is searched and jumped through, off the thread that draws."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

import numpy as np
from textual import on, work
from textual.message import Message
from textual.screen import Screen

from l4tui.engine.model import UNKNOWN
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.view import Bits, Ids, Matcher, Rows, find_row, smart_case
from l4tui.finder import Finder
from l4tui.widgets.logview import LogView

Test = Callable[[Ids], Bits]  # keys of rows → which of them pass


class SearchScreen(Screen[None]):
    """Finds rows for a screen that has a view, a lens and a snapshot."""

    view: LogView
    snapshot: Snapshot

    @dataclass
    class Jumped(Message):
        """A row was found, or not."""

        key: int
        words: str

    @dataclass
    class Found(Message):
        """A search has more hits."""

        finder: Finder
        jump: int

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self.search_from = 0  # row where the person began to type a pattern
        self._matcher = matcher
        self._finder: Finder | None = None
        self._jumping = Event()
        self._seeking = False  # a hit is being looked for: further steps are taken from there
        self._steps = 0  # that were asked for meanwhile
        self._from: int | None = None  # key of the cursor's row when the search or the jump began

    @abstractmethod
    def say(self, words: str, style: str = "busy") -> None:
        """Tell the person something."""

    @abstractmethod
    def tell(self) -> None:
        """Say how things stand."""

    def stop_searching(self) -> None:
        """End what runs."""
        self._jumping.set()
        if self._finder:
            self._finder.stop.set()

    def go_to_time(self, time_ns: int) -> None:
        """Go to the first row at or after a time."""
        self._go_to(self.snapshot.clock, time_ns)

    def go_to_iteration(self, number: int) -> None:
        """Go to the first row of an iteration, or of the next one there is."""
        self._go_to(self.snapshot.iteration, number)

    def _go_to(self, column: np.ndarray, value: int) -> None:
        rows = self.view.rows

        def test(keys: Ids) -> Bits:
            return np.asarray(column[rows.entries(keys)] >= value)

        self.jump(test, 1, "nothing at or after that", start=-1)

    def jump(self, test: Test, step: int, otherwise: str, start: int | None = None, *, around: bool = False) -> None:
        """Go to the next row that passes a test, `around` the end if need be; say `otherwise` when there is none."""
        self._jumping.set()
        self._jumping = Event()
        self._seeking, self._from = False, self.view.cursor_key
        start = self.view.row if start is None else start
        self._find(self.view.rows, test, start, step, otherwise, around, self._jumping)

    @work(thread=True, exclusive=True, group="jump", exit_on_error=False, description="jump")
    def _find(
        self, rows: Rows, test: Test, start: int, step: int, otherwise: str, around: bool, stop: Event
    ) -> None:
        row, words = find_row(rows, start, step, test, stop), ""
        if row < 0 and around:
            words = "went on from the top" if step > 0 else "went on from the end"
            row = find_row(rows, -1 if step > 0 else rows.length, step, test, stop)
        if not stop.is_set():
            key = int(rows.keys(row, row + 1)[0]) if row >= 0 else UNKNOWN
            self.post_message(self.Jumped(key, otherwise if row < 0 else words))

    @on(Jumped)
    def _jumped(self, event: Jumped) -> None:
        if event.key != UNKNOWN and self._is_here():
            self.view.set_following(False)
            self.view.go(self.view.rows.position(event.key), place="middle")
        if event.words:
            self.say(event.words)
        self._seeking = False
        if self._steps and event.key != UNKNOWN:
            step = 1 if self._steps > 0 else -1
            self._steps -= step
            self.jump_to_hit(step)

    def _is_here(self) -> bool:
        """Tell whether nobody has gone elsewhere while a place was looked for."""
        return self.view.following or self.view.cursor_key == self._from

    @property
    def search_pattern(self) -> str:
        """What is searched for; empty: nothing."""
        return self._finder.pattern if self._finder else ""

    def start_search(self, pattern: str, *, jump: int = 0) -> None:
        """Search the whole job; `jump` ±1 goes to the nearest hit in that direction as soon as it is known."""
        if self._finder is None or pattern != self._finder.pattern:
            if self._finder:
                self._finder.stop.set()
            self._finder = Finder(pattern, self._matcher) if pattern else None
            self.view.set_pattern(smart_case(pattern) if pattern else "")
        self._seeking, self._steps, self._from = bool(self._finder and jump), 0, self.view.cursor_key
        if self._finder:
            self._run_search(self._finder, self.snapshot, jump)
        self.tell()

    def _search_on(self, renumbered: bool) -> None:
        """Search what has been added since."""
        if self._finder and renumbered:
            self._finder.stop.set()
            self._finder = Finder(self._finder.pattern, self._matcher)
        if self._finder and not self._finder.running and self._finder.covered < self.snapshot.length:
            self._run_search(self._finder, self.snapshot, 0)

    @work(thread=True, exclusive=True, group="search", exit_on_error=False, description="search")
    def _run_search(self, finder: Finder, snapshot: Snapshot, jump: int) -> None:
        said = 0.0
        for _ in finder.run(snapshot):
            if time.monotonic() - said > 0.1:
                said = time.monotonic()
                self.post_message(self.Found(finder, 0))
        if not finder.stop.is_set():
            self.post_message(self.Found(finder, jump))

    @on(Found)
    def _found(self, event: Found) -> None:
        if event.finder is self._finder:
            if event.jump:
                self._seeking = False
            if event.jump and self._is_here():
                self.jump_to_hit(event.jump, from_row=self.search_from - event.jump)
            self.tell()

    def jump_to_hit(self, step: int, from_row: int | None = None) -> None:
        """Go to the next or previous hit; around the end when there is none further on."""
        finder, rows = self._finder, self.view.rows
        if finder is None:
            self.say("nothing is searched for: / begins")
            return
        if self._seeking:
            self._steps += step
            return

        tests: list[Test] = []

        def test(keys: Ids) -> Bits:
            if not tests:  # made in the thread that looks
                tests.append(rows.tester(finder.bits))
            return tests[0](keys)

        words = f"no hit for {finder.pattern}" if not finder.count else "no hit among what is shown"
        if finder.running:
            words = "no hit yet, still searching"
        self.jump(test, step, words, start=from_row, around=True)
        self._seeking = True
