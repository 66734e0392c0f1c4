"""The app: theme, terminal, signals, and the way from what was found to a job's screen."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.filter import Monochrome, NoColor
from textual.widgets import Input

from l4tui.actions import ACTIONS, keymap, shown_key
from l4tui.config import Config
from l4tui.daemons import Daemons
from l4tui.engine.discovery import Found
from l4tui.engine.job import Job
from l4tui.engine.rankset import RankSet
from l4tui.engine.search import search
from l4tui.engine.sniff import Content
from l4tui.exits import Exit, UsageError
from l4tui.judge import Judge
from l4tui.opening import engine_options
from l4tui.screens.job import JobScreen
from l4tui.signals import ENDING, end_in_order
from l4tui.theme import DEFAULTS, THEMES, choose, known_themes
from l4tui.typeahead import TypeAhead
from l4tui.widgets.cells import clean
from l4tui.widgets.sheet import ListSheet

if TYPE_CHECKING:
    from l4tui.gauges import Gauges

ERROR_MAX = 500  # characters of an internal error's line


class Commands(Provider):
    """Every action of the table in the palette."""

    async def discover(self) -> Hits:
        """List all."""
        for name, words, keys in self._rows():
            yield DiscoveryHit(f"{words}  {keys}", self._runner(name), text=words, help=f":{name}")

    async def search(self, query: str) -> Hits:
        """List what matches."""
        matcher = self.matcher(query)
        for name, words, keys in self._rows():
            if (score := matcher.match(f"{words} {name}")) > 0:
                yield Hit(score, matcher.highlight(f"{words}  {keys}"), self._runner(name), text=words, help=f":{name}")

    def _rows(self) -> list[tuple[str, str, str]]:
        keys = self.screen.keys if isinstance(self.screen, JobScreen) else {}
        shown: dict[str, list[str]] = {}
        for key, name in keys.items():
            shown.setdefault(name, []).append(shown_key(key, self.app.has_class("-ascii")))
        actions = (action for action in ACTIONS if action.id != "palette")
        return [(action.id, action.words, " ".join(shown.get(action.id, ()))) for action in actions]

    def _runner(self, name: str) -> Callable[[], None]:
        def run() -> None:
            if isinstance(self.screen, JobScreen):
                self.screen.act(name)

        return run


class L4App(App[int]):
    """Shows one of the jobs that were found."""

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "l4tui"
    COMMANDS = {Commands}  # noqa: RUF012 -- Textual's form
    BINDINGS = [Binding("ctrl+c", "interrupt", show=False, priority=True)]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = ""  # the action table binds it
    NOTIFICATION_TIMEOUT = 5.0

    def __init__(self, found: Found, config: Config, keys: Mapping[str, str]) -> None:
        super().__init__()
        self.animation_level = "none"
        resource_tracker.ensure_running()  # it wants a stderr with a descriptor, which a running app's is not
        self._found, self._config, self._keys = found, config, keys
        self._ahead = TypeAhead(self, self._press)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = choose(config.theme, os.environ)
        self.set_class(config.ascii, "-ascii")
        if self.no_color:  # chosen by Textual before it knew that our themes draw on the terminal's own colours
            self._filters = [NoColor() if isinstance(f, Monochrome) else f for f in self._filters]

    async def on_event(self, event: events.Event) -> None:
        """Do what a key asks for before the next one is looked at: slow lines deliver several at once.

        Textual sends keys through the focused widget and back, and meanwhile the next ones after them.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._ahead.take(event)
        else:
            await super().on_event(event)

    async def _press(self, event: events.Key) -> None:
        if not isinstance(self.focused, Input):
            for priority in (True, False):
                if await self._check_bindings(event.key, priority=priority):
                    return
        await super().on_event(event)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give themes that are not ours the names our styles use."""
        return dict(DEFAULTS)

    def on_load(self) -> None:
        """Be ready for signals before the terminal is taken."""
        self._catch_signals()

    def on_mount(self) -> None:
        """Open the job, or let the person choose one."""
        if len(self._found.jobs) == 1:
            self.open_job(0)
        else:
            self.choose_job(first=True)

    def choose_job(self, *, first: bool = False) -> bool:
        """Offer the jobs that were found; False where there is only one."""
        if len(self._found.jobs) < 2:
            return False

        def chosen(index: int | None) -> None:
            if index is not None:
                if not first:
                    self.pop_screen()
                self.open_job(index)
            elif first:
                self.exit(0)

        count = len(self._found.jobs)
        self.push_screen(ListSheet(f"{count} jobs here", job_rows(self._found), "Enter opens   Esc closes"), chosen)
        return True

    def open_job(self, number: int) -> None:
        """Open one of the jobs."""
        folder = self._found.choose(number) if len(self._found.jobs) > 1 else self._found.jobs[0]
        newest = max((source.mtime for source in folder.sources), default=0)
        several = len(self._found.jobs) > 1
        job = Job(
            folder.sources,
            replace(engine_options(self._config, newest, self._found), tail_first=True),
            found=None if several else self._found,  # a new file may be of any of several jobs
            follow=self._config.follow,
        )
        judge = Judge(job)
        screen = JobScreen(job, folder.name, self._config, self._keys, search, judge, self.choose_job)
        screen.end_judging = judge.close
        screen.make_gauges = lambda: self._gauges(job)
        screen.notice = _notice(self._found, number)
        screen.unread = self._found.unread
        screen.left_out = tuple((item.path, item.why) for item in self._found.left_out)
        self.push_screen(screen)

    def _gauges(self, job: Job) -> Gauges:
        from l4tui.gauges import job_gauges  # 90 ms CPU: with the telemetry pane

        return job_gauges(job, self._config)

    async def run_async(self, **told: Any) -> int | None:
        """Run; once the terminal is given back nothing waits for threads that still count."""
        asyncio.get_running_loop().set_default_executor(Daemons())
        return await super().run_async(**told)

    def _fatal_error(self) -> None:
        """Leave with one line, as every command does; the trace is for those who ask for it."""
        error = self._exception
        if error is None or os.environ.get("L4TUI_DEBUG"):
            super()._fatal_error()
            return
        words = f"l4tui: internal error: {type(error).__name__}: {error} (L4TUI_DEBUG=1 shows where)"
        self._exit_renderables.append(Text(clean(" ".join(words.split()))[:ERROR_MAX]))
        self._close_messages_no_wait()

    def action_interrupt(self) -> None:
        """End at once, as Ctrl+C does everywhere."""
        self.exit(int(Exit.INTERRUPTED))

    def _catch_signals(self) -> None:
        """End in order when told to from outside: the terminal is left as it was found."""
        loop = asyncio.get_running_loop()
        for number in (*ENDING, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self.exit, 128 + number)
            except (RuntimeError, ValueError):  # not the main thread, as in tests
                return


def job_rows(found: Found) -> list[Text]:
    """Write a row for each job: name, files, size, last written."""
    import time

    rows = []
    width = min(max(len(job.name) for job in found.jobs), 50)
    for job in found.jobs:
        size = sum(source.size() for source in job.sources)
        newest = max((source.mtime for source in job.sources), default=0) / 1e9
        row = Text(f"{job.name[:width]:<{width}}  ", "bold")
        row.append(f"{len(job.sources):>5,} file{'s' if len(job.sources) != 1 else ' '}  {_size(size):>8}  ", "")
        row.append(time.strftime("%Y-%m-%d %H:%M", time.localtime(newest)), "dim")
        rows.append(row)
    return rows


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def _notice(found: Found, number: int) -> str:
    mirrors = len(found.jobs[number].mirrors())
    parts = [f"{mirrors} mirror{'s' if mirrors != 1 else ''}"] if mirrors else []
    tables = sum(item.content is Content.MONITOR for item in found.left_out)
    if tables:
        parts.append(f"{tables} hardware table{'s' if tables != 1 else ''} (6)")
    if rest := len(found.left_out) - tables:
        parts.append(f"{rest} left out (f)")
    return ", ".join(parts)


def run_app(found: Found, config: Config) -> int:
    """Show what was found until the person leaves; returns the exit code.

    Raises UsageError when the keys of the settings clash, the ranks are no set or there is no such theme.
    """
    try:
        keys = keymap(config.keys)
        if config.ranks:
            RankSet.parse(config.ranks)
    except ValueError as error:  # a KeyClash is one
        raise UsageError(str(error)) from None
    if config.theme != "auto" and config.theme not in known_themes():
        raise UsageError(f"no theme {config.theme!r}: auto, {', '.join(sorted(known_themes()))}")
    app = L4App(found, config, keys)
    result = app.run(mouse=config.mouse)
    end_in_order()  # the loop took its handlers with it; what called us may have children to stop
    sys.stdout.flush()
    if result is None:
        return int(Exit.USAGE) if app.return_code else int(Exit.OK)
    return int(result)
