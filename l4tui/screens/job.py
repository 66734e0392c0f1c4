"""The screen of one job: header, log, prompt, status; everything it shows belongs to one snapshot."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingsMap
from textual.containers import Container
from textual.message import Message
from textual.worker import Worker, WorkerState

from l4tui import handlers
from l4tui.collapsed import CollapsedLens, agrees
from l4tui.config import Config
from l4tui.engine.divergence import Divergence
from l4tui.engine.leads import Lead, leads
from l4tui.engine.outline import Outline
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.view import Filter, Matcher, Scope, Viewer
from l4tui.feed import Feed, Live, Update
from l4tui.judge import Ruling
from l4tui.lenses import Lens, make_lenses
from l4tui.places import read_place
from l4tui.screens.judging import JudgeScreen
from l4tui.screens.pages import PageScreen
from l4tui.screens.paning import PaneScreen
from l4tui.screens.searching import SearchScreen
from l4tui.screens.telling import Telling
from l4tui.study import Study
from l4tui.vitals import Vitals
from l4tui.widgets.header import JobHeader
from l4tui.widgets.logview import LogView
from l4tui.widgets.prompt import Prompt
from l4tui.widgets.status import StatusBar

BACK_MAX = 50  # scopes that Esc can go back through


class JobScreen(Telling, SearchScreen, PageScreen, JudgeScreen, PaneScreen):
    """Shows one job and does what the handlers ask."""

    @dataclass
    class Updated(Message):
        """There is something new to show."""

        update: Update

    def __init__(
        self,
        job: Live,
        name: str,
        config: Config,
        keys: Mapping[str, str],
        matcher: Matcher,
        judge: Callable[[Snapshot], Ruling],
        choose_job: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(matcher)
        self.job, self.job_name, self.config, self.keys = job, name, config, keys
        self.choose_job, self.notice = choose_job, ""
        self.judge = judge
        self.viewer = Viewer(matcher)
        self.lenses: dict[str, Lens] = make_lenses(self.viewer, self.analyst, config.ascii)
        self.lens: Lens = self.lenses["lines"]  # that made the rows on screen
        self.follows = config.follow
        self.feed = Feed(job, self.lenses, self._hand_over, follow=config.follow)
        self.snapshot: Snapshot = job.snapshot()
        self.vitals = Vitals()
        self._bounded = False
        self._sought: int | None = None  # entry to go to once all lines are shown
        self._lens_is_open = config.lens == "auto" and not config.ranks  # nobody has chosen one yet
        first = "collapsed" if self._lens_is_open else config.lens.replace("auto", "lines")
        self.scope = Scope(first, ranks=config.ranks)
        self.notes: dict[int, str] = {}
        self.left_out: tuple[tuple[str, str], ...] = ()
        self.unread: tuple[str, ...] = ()  # what of the paths could not be looked at, in words
        self.mouse_on = config.mouse
        self.acting = ""  # id of the action that runs
        self.leaving = False
        self.leads: list[Lead] = []  # where `d` goes
        self.last_stop: tuple[int, str] | None = None  # entry and kind of the one visited last
        self._kept: tuple[int, int] | None = None  # (key, entry) of the cursor when the lens was turned
        self._back: list[Scope] = []
        self._said, self._said_style, self._said_at = "", "busy", 0.0

    def compose(self) -> ComposeResult:
        """Lay out the screen; panes join the log in #body."""
        yield JobHeader(ascii_only=self.config.ascii, id="header")
        with Container(id="body"):
            yield LogView(ascii_only=self.config.ascii, id="log")
        yield Prompt()
        yield StatusBar(ascii_only=self.config.ascii, id="status")

    def on_mount(self) -> None:
        """Bind the keys and begin to read."""
        bound = [Binding(key, f"act('{action}')", show=False) for key, action in self.keys.items()]
        self._bindings = BindingsMap.merge([self._bindings, BindingsMap(bound)])
        self.view = self.query_one(LogView)
        self.header = self.query_one(JobHeader)
        self.status = self.query_one(StatusBar)
        self.prompt = self.query_one(Prompt)
        self.view.focus()
        self.view.set_following(True)  # the tail first, whether or not more will come
        self.feed.set_scope(self.scope)
        self.feed.set_following(True)
        self.feed.start()
        self.set_interval(1.0, self._look_round)
        self.tell()

    def on_unmount(self) -> None:
        """Stop reading."""
        self.end_judging()
        self.analyst.close()
        self.stop_searching()
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
        if self.pane is None or not self.pane.has_focus or not self.pane.does(name, argument):
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

    def in_thread(self, work: Callable[[], None], group: str) -> None:
        """Run what reads files or counts, off the thread that draws; a newer one of its group replaces it."""
        self.run_worker(work, thread=True, exclusive=True, group=group, exit_on_error=False)

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
        void = update.renumbered or update.relabelled
        entry, key, fresh = self.cursor_entry, None, None
        if update.lens is not self.lens:
            void, key = True, None if entry is None else update.rows.key_of(entry)
            self._kept = None if entry is None or key is None else (key, entry)
        elif not void and self.view.rows.length:
            fresh = update.lens.changed(self.view.rows, update.rows)
            void = fresh is None
        self.snapshot, self.vitals, self.lens = update.snapshot, update.vitals, update.lens
        if update.renumbered:
            self.notes.clear()
            self.judged_anew()
            self.mark_leads()
            self.last_stop = self._kept = None
        self.view.set_rows(update.rows, update.facts, changed=void, key=key)
        if fresh is not None:
            self.view.renew(fresh)
        self.show_marks()
        if update.error:
            self.say(update.error, "error")
        self._choose_lens(update)
        if self._sought is not None and update.scope == self.scope:
            self._stand_on(self._sought)
        self._search_on(update.renumbered)
        if self.feed.progress >= 1.0:
            self.study_on(final=not self.is_live)
        self.tell()
        self.feed.taken()

    def _choose_lens(self, update: Update) -> None:
        """As long as nobody has chosen: rows where ranks agree, else lines; asked of the first lines and of all."""
        if self._lens_is_open and update.scope == self.scope and update.snapshot.length:
            self._lens_is_open = self.feed.progress < 1.0
            if self.scope.lens == "collapsed" and not agrees(update.rows, update.snapshot.length):
                self.scope = replace(self.scope, lens="lines")  # not by set_scope: nobody asked, the end stays in view
                self.feed.set_scope(self.scope)
                self._lens_is_open = False

    def show_marks(self) -> None:
        """Show which rows hold a marked line."""
        self.view.set_marks(self.view.rows.key_of(entry) for entry in self.notes)

    @on(LogView.CursorMoved)
    def _cursor_moved(self) -> None:
        if self.pane is not None and (entry := self.cursor_entry) is not None:
            self.pane.looked_at(entry)
        self.tell()

    @on(LogView.FollowChanged)
    def _follow_changed(self, event: LogView.FollowChanged) -> None:
        self.feed.set_following(event.following)
        self.tell()

    @on(StatusBar.Tapped)
    def _tapped(self, event: StatusBar.Tapped) -> None:
        """A click on a chip removes its condition."""
        self.set_scope(self.scope.without(int(event.what.removeprefix("chip "))))
        self.tell()

    def _look_round(self) -> None:
        """Once a second: silence grows, and what has been read is judged and studied."""
        at_rest = not self.snapshot.is_complete or (self.feed.progress >= 1.0 and not self.is_live)
        if self.feed.progress >= 1.0 and not self._bounded:
            self._bounded = True
            self._bound()
        if at_rest or self.feed.progress >= 1.0:
            self.judge_on(at_rest=at_rest)
            self.study_on(final=at_rest)
        self.tell()

    def _bound(self) -> None:
        """Apply --since and --until, which may count from the ends of the log."""
        for kind, text in (("since", self.config.since), ("until", self.config.until)):
            if text:
                try:
                    moment = read_place(text, self.snapshot)
                except ValueError as error:
                    self.say(f"--{kind}: {error}", "error")
                else:
                    self.set_scope(self.scope.adding(Filter(kind, str(moment.value), True, text)))

    @property
    def is_settled(self) -> bool:
        """Whether all that was asked for has been shown."""
        busy = any(worker.is_running for worker in self.workers)
        return self.feed.is_idle and not busy and not self.view.is_held

    def studied(self, study: Study) -> None:
        """Show how the ranks differ."""
        lens = self.lenses["collapsed"]
        if isinstance(lens, CollapsedLens):
            fresh = lens.take(study, self.view.rows)
            if self.lens is lens:
                self.view.renew(fresh)
        self.mark_leads()
        self.tell()

    def mark_leads(self) -> None:
        """Order where `d` goes, and mark these rows."""
        study = self.study
        is_ours = study is not None and study.snapshot.generation == self.snapshot.generation
        self.leads = leads(study.survey, study.table.row, self.ruling.opinion) if study and is_ours else []
        for lens in self.lenses.values():
            fresh = lens.mark(self.leads)
            if self.lens is lens:
                self.view.renew(fresh)

    # Scopes

    def set_scope(self, scope: Scope, *, keep: bool = True, entry: int | None = None) -> None:
        """Show something else, with the cursor on an entry; `keep`: Esc comes back to what is shown now."""
        if entry is not None:
            self._sought = entry
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
        """Turn to the next lens: rows, lines, the lines of the cursor's rank."""
        self._lens_is_open = False
        scope, rank = self.scope, self.cursor_rank
        if scope.lens == "collapsed":
            self.set_scope(replace(scope, lens="lines"))
        elif rank is not None and scope.ranks != str(rank):
            self.set_scope(replace(scope, ranks=str(rank)))
        else:
            self.set_scope(replace(scope, lens="collapsed", ranks=""))

    # The cursor

    @property
    def cursor_entry(self) -> int | None:
        """The entry that the cursor's row stands for."""
        key = self.view.cursor_key
        if key is None or self.snapshot.length == 0:
            return None
        if self._kept is not None and self._kept[0] == key:
            return self._kept[1]  # the line that was gone to, or that the cursor stood on in another lens
        return int(self.view.rows.entries(np.array([key], np.int64))[0])

    @property
    def cursor_rank(self) -> int | None:
        """The rank of the cursor's line, if it has one."""
        entry = self.cursor_entry
        if entry is None:
            return None
        rank = int(self.snapshot.ranks.rank[self.snapshot.speaker[entry]])
        return rank if rank >= 0 else None

    @property
    def divergence(self) -> Divergence | None:
        """What sets the row under the cursor apart."""
        lens, key = self.lens, self.view.cursor_key
        return lens.divergence(self.view.rows, key) if isinstance(lens, CollapsedLens) and key is not None else None

    @property
    def known_ranks(self) -> list[int]:
        """Ranks that have lines, ascending."""
        return sorted(self.snapshot.counts().per_rank)

    def show_entry(self, entry: int) -> None:
        """Go to an entry; where the scope hides it, show all lines first; unfold what would hide its words."""
        rows = self.view.rows
        if isinstance(rows, Outline) and (folds := rows.folds.showing(rows.table, entry, self.snapshot)) != rows.folds:
            self._sought = entry
            self.set_scope(replace(self.scope, folds=folds), keep=False)
            return
        key = rows.key_of(entry)
        row = rows.position(key)
        if key in rows.keys(row, row + 1).tolist():
            self._stand_on(entry)
        else:
            self._sought = entry
            self.set_scope(Scope(lens=self.scope.lens))

    def _stand_on(self, entry: int) -> None:
        """Put the cursor on the row that shows an entry, and hold on to that one of the row's lines."""
        key = self.view.rows.key_of(entry)
        self._kept, self._sought = (key, entry), None
        self.view.set_following(False)
        self.view.go(self.view.rows.position(key), place="middle")

    def go_to_line(self, number: int) -> None:
        """Go to a line of the file where there is one file, else to that row of the view."""
        if len(self.snapshot.sources) == 1:
            entry = self.snapshot.entry_at(0, number)
            rows = self.view.rows
            row = rows.length - 1 if entry < 0 else rows.position(rows.key_of(entry))
        else:
            row = number - 1
        self.view.go(row, place="middle")

    # Words for the person

    def say(self, words: str, style: str = "busy") -> None:
        """Tell the person something for a few seconds."""
        self._said, self._said_style, self._said_at = words, style, time.monotonic()
        self.tell()


handlers.load()
