"""The screen of one job: header, log, prompt, status; everything it shows belongs to one snapshot."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event

import numpy as np
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker, WorkerState, get_current_worker

from l4tui import handlers
from l4tui.config import Config
from l4tui.engine.model import UNKNOWN
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.view import Bits, Ids, Matcher, Scope, Viewer, find_row, smart_case
from l4tui.feed import Feed, Live, Update
from l4tui.finder import Finder
from l4tui.lenses import LENSES, Lens
from l4tui.screens.look import Looking
from l4tui.screens.telling import Telling
from l4tui.vitals import Vitals
from l4tui.widgets.cells import clean
from l4tui.widgets.header import JobHeader
from l4tui.widgets.line import Line
from l4tui.widgets.logview import LogView
from l4tui.widgets.prompt import Prompt
from l4tui.widgets.status import StatusBar

Test = Callable[[Ids], Bits]  # keys of rows → which of them pass
BACK_MAX = 50  # scopes that Esc can go back through


class JobScreen(Looking, Telling, Screen[None]):
    """Shows one job and does what the handlers ask."""

    @dataclass
    class Updated(Message):
        """There is something new to show."""

        update: Update

    @dataclass
    class PageRead(Message):
        """Text that was asked for."""

        lines: list[Line]
        epoch: int

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

    def __init__(
        self, job: Live, name: str, config: Config, keys: Mapping[str, str], matcher: Matcher, notice: str = ""
    ) -> None:
        super().__init__()
        self.job, self.job_name, self.config, self.keys, self.notice = job, name, config, keys, notice
        self.viewer = Viewer(matcher)
        self.lenses: dict[str, Lens] = {key: make(self.viewer, config.ascii) for key, make in LENSES.items()}
        self.follows = config.follow
        self.feed = Feed(job, self.lenses, self._hand_over, follow=config.follow)
        self.snapshot: Snapshot = job.snapshot()
        self.vitals = Vitals()
        self.scope = Scope(ranks=config.ranks)
        self.notes: dict[int, str] = {}
        self.left_out: tuple[tuple[str, str], ...] = ()
        self.mouse_on = config.mouse
        self.acting = ""  # id of the action that runs
        self.leaving = False
        self.search_from = 0
        self._matcher = matcher
        self._finder: Finder | None = None
        self._back: list[Scope] = []
        self._said, self._said_style, self._said_at = "", "busy", 0.0
        self._jumping = Event()

    def compose(self) -> ComposeResult:
        """Lay out the screen; panes join the log in #body."""
        yield JobHeader(ascii_only=self.config.ascii, id="header")
        with Horizontal(id="body"):
            yield LogView(ascii_only=self.config.ascii, id="log")
        yield Prompt()
        yield StatusBar(ascii_only=self.config.ascii, id="status")

    def on_mount(self) -> None:
        """Bind the keys and begin to read."""
        for key, action in self.keys.items():
            self._bindings.key_to_bindings.setdefault(_textual_key(key), []).append(
                Binding(_textual_key(key), f"act('{action}')", action, show=False)
            )
        self.view = self.query_one(LogView)
        self.header = self.query_one(JobHeader)
        self.status = self.query_one(StatusBar)
        self.prompt = self.query_one(Prompt)
        self.view.focus()
        self.view.set_following(True)  # the tail first, whether or not more will come
        self.feed.set_scope(self.scope)
        self.feed.set_following(True)
        self.feed.start()
        self.set_interval(1.0, self.tell)
        self.tell()

    def on_unmount(self) -> None:
        """Stop reading."""
        self._jumping.set()
        if self._finder:
            self._finder.stop.set()
        self.feed.close()

    # Actions

    def action_act(self, name: str) -> None:
        """Do what a key asks for."""
        self.act(name)

    def act(self, name: str, argument: str = "") -> None:
        """Run an action of the table."""
        if name != "quit":
            self.leaving = False
        self._said = ""
        self.acting = name
        self._do(handlers.HANDLERS[name], argument)
        self.tell()

    def _do(self, handler: handlers.Handler, text: str) -> None:
        """Run a handler; one that fails is told of, and the log stays on screen."""
        try:
            handler(self, text)
        except Exception as error:
            if os.environ.get("L4TUI_DEBUG"):
                raise
            self.say(f"{self.acting or 'that'} failed: {type(error).__name__}: {error}", "error")

    @on(Worker.StateChanged)
    def _worker_ended(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self.say(f"{event.worker.group} failed: {type(error).__name__}: {error}", "error")

    @on(Prompt.Changed)
    def _typed(self, event: Prompt.Changed) -> None:
        if typed := handlers.TYPING.get(event.kind):
            self._do(typed, event.text)

    @on(Prompt.Submitted)
    def _answered(self, event: Prompt.Submitted) -> None:
        self.prompt.close()
        self.view.focus()
        self._said = ""
        self._do(handlers.ANSWERS[event.kind], event.text)
        self.tell()

    @on(Prompt.Cancelled)
    def _dismissed(self, event: Prompt.Cancelled) -> None:
        self.view.focus()
        if event.kind == "search":
            self.start_search("")

    # What the feed brings

    def _hand_over(self, update: Update) -> None:
        if not self.post_message(self.Updated(update)):
            self.feed.taken()

    @on(Updated)
    def _updated(self, event: Updated) -> None:
        update = event.update
        self.snapshot, self.vitals = update.snapshot, update.vitals
        if update.renumbered:
            self.notes.clear()
            self.view.set_marks(())
        self.view.set_rows(update.rows, update.facts, changed=update.renumbered or update.relabelled)
        if update.error:
            self.say(update.error, "error")
        self._search_on(update.renumbered)
        self.tell()
        self.feed.taken()

    @on(LogView.PageWanted)
    def _page_wanted(self, event: LogView.PageWanted) -> None:
        self._read_page(event, self.lens, self.snapshot)

    @work(thread=True, exclusive=True, group="page", exit_on_error=False)
    def _read_page(self, wanted: LogView.PageWanted, lens: Lens, snapshot: Snapshot) -> None:
        for part in (wanted.keys[: wanted.urgent], wanted.keys[wanted.urgent :]):
            if len(part) and not get_current_worker().is_cancelled:
                self.post_message(self.PageRead(_lines(lens, snapshot, part), wanted.epoch))

    @on(PageRead)
    def _page_read(self, event: PageRead) -> None:
        self.view.supply(event.lines, event.epoch)

    @on(LogView.CursorMoved)
    def _cursor_moved(self) -> None:
        self.tell()

    @on(LogView.FollowChanged)
    def _follow_changed(self, event: LogView.FollowChanged) -> None:
        self.feed.set_following(event.following)
        self.tell()

    # Scopes

    @property
    def lens(self) -> Lens:
        """The lens that is on."""
        return self.lenses[self.scope.lens]

    def set_scope(self, scope: Scope, *, keep: bool = True) -> None:
        """Show something else; `keep`: Esc comes back to what is shown now."""
        if scope == self.scope:
            return
        if keep:
            self._back = [*self._back[-BACK_MAX:], self.scope]
        if self.view.following and not self.is_live:
            self.view.set_following(False)  # the line is what is kept, not the end
        self.scope = scope
        self.feed.set_scope(scope)

    def go_back(self) -> None:
        """Show what was shown before; from the start, all."""
        if self._back:
            self.set_scope(self._back.pop(), keep=False)
        elif self.scope.narrowed:
            self.set_scope(Scope(lens=self.scope.lens), keep=False)

    def turn_lens(self) -> None:
        """Turn to the next lens: all ranks, the cursor's rank, then what else is registered."""
        names = list(LENSES)
        if not self.scope.ranks and (rank := self.cursor_rank) is not None:
            self.set_scope(Scope("lines", str(rank), self.scope.filters, self.scope.filtering))
        else:
            following = names[(names.index(self.scope.lens) + 1) % len(names)]
            self.set_scope(Scope(following, "", self.scope.filters, self.scope.filtering))

    # The cursor

    @property
    def cursor_entry(self) -> int | None:
        """The entry that the cursor's row stands for."""
        key = self.view.cursor_key
        if key is None or self.snapshot.length == 0:
            return None
        return int(self.lens.entries(self.snapshot, np.array([key], np.int64))[0])

    @property
    def cursor_rank(self) -> int | None:
        """The rank of the cursor's line, if it has one."""
        entry = self.cursor_entry
        if entry is None:
            return None
        rank = int(self.snapshot.ranks.rank[self.snapshot.speaker[entry]])
        return rank if rank >= 0 else None

    @property
    def known_ranks(self) -> list[int]:
        """Ranks that have lines, ascending."""
        return sorted(self.snapshot.counts().per_rank)

    def go_to_line(self, number: int) -> None:
        """Go to a line of the file where there is one file, else to that row of the view."""
        if len(self.snapshot.sources) == 1:
            entry = self.snapshot.entry_at(0, number)
            row = self.view.rows.length - 1 if entry < 0 else self.view.rows.position(entry)
        else:
            row = number - 1
        self.view.go(row, place="middle")

    # Jumps and searches, off the thread that draws

    def jump(self, test: Test, step: int, otherwise: str, start: int | None = None, *, around: bool = False) -> None:
        """Go to the next row that passes a test, `around` the end if need be; say `otherwise` when there is none."""
        self._jumping.set()
        self._jumping = Event()
        self._find(test, self.view.row if start is None else start, step, otherwise, around, self._jumping)

    @work(thread=True, exclusive=True, group="jump", exit_on_error=False)
    def _find(self, test: Test, start: int, step: int, otherwise: str, around: bool, stop: Event) -> None:
        rows = self.view.rows
        row, words = find_row(rows, start, step, test, stop), ""
        if row < 0 and around:
            words = "went on from the top" if step > 0 else "went on from the end"
            row = find_row(rows, -1 if step > 0 else rows.length, step, test, stop)
        if not stop.is_set():
            key = int(rows.keys(row, row + 1)[0]) if row >= 0 else UNKNOWN
            self.post_message(self.Jumped(key, otherwise if row < 0 else words))

    @on(Jumped)
    def _jumped(self, event: Jumped) -> None:
        if event.key != UNKNOWN:
            self.view.set_following(False)
            self.view.go(self.view.rows.position(event.key), place="middle")
        if event.words:
            self.say(event.words)

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

    @work(thread=True, exclusive=True, group="search", exit_on_error=False)
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
                self.jump_to_hit(event.jump, from_row=self.search_from - event.jump)
            self.tell()

    def jump_to_hit(self, step: int, from_row: int | None = None) -> None:
        """Go to the next or previous hit; around the end when there is none further on."""
        finder, lens, snapshot = self._finder, self.lens, self.snapshot
        if finder is None:
            self.say("nothing is searched for: / begins")
            return

        def test(keys: Ids) -> Bits:
            return finder.at(lens.entries(snapshot, keys))

        words = f"no hit for {finder.pattern}" if not finder.count else "no hit among what is shown"
        self.jump(test, step, words, start=from_row, around=True)

    # Words for the person

    def say(self, words: str, style: str = "busy") -> None:
        """Tell the person something for a few seconds."""
        self._said, self._said_style, self._said_at = words, style, time.monotonic()
        self.tell()


def _lines(lens: Lens, snapshot: Snapshot, keys: Ids) -> list[Line]:
    """Read a page; where that fails each row says why, and the rest of the log stays usable."""
    try:
        return lens.lines(snapshot, keys)
    except Exception as error:
        words = clean(f"cannot be read: {error}" if str(error) else f"cannot be read: {type(error).__name__}")
        return [Line(key, words, sort="note") for key in keys.tolist()]


def _textual_key(key: str) -> str:
    """Translate a key of the table to Textual's name."""
    from textual.keys import _character_to_key

    return _character_to_key(key) if len(key) == 1 else key


handlers.load()
