"""The app over a fake job, for tests that press keys."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from l4tui.actions import keymap
from l4tui.app import L4App
from l4tui.config import Config
from l4tui.engine.discovery import Found
from l4tui.judge import Ruling
from l4tui.screens.job import JobScreen
from tests.l4tui.fake import FakeJob, FakeSnapshot, fake_search

os.environ["L4TUI_DEBUG"] = "1"  # a handler that fails fails the test


class FakeApp(L4App):
    """Opens one job that exists in memory only."""

    def __init__(self, job: FakeJob, config: Config) -> None:
        super().__init__(Found(()), config, keymap(config.keys))
        self.fake = job
        self.ruling = Ruling(0, "")
        self.may_judge = threading.Event()
        self.may_judge.set()

    def on_mount(self) -> None:
        self._catch_signals()
        self.push_screen(JobScreen(self.fake, "job-4711", self._config, self._keys, fake_search, self.judged))

    def judged(self, snapshot: FakeSnapshot) -> Ruling:
        """Judge as the test says, when it says so."""
        self.may_judge.wait(15)
        return self.ruling._replace(version=snapshot.version)


@asynccontextmanager
async def shown(
    job: FakeJob,
    size: tuple[int, int] = (80, 24),
    *,
    ruling: Ruling | None = None,
    judged: bool = True,
    **settings: object,
) -> AsyncIterator[tuple[Pilot[int], JobScreen]]:
    """Run the app and wait until the first page has its text; with `judged` false verdicts wait for `may_judge`."""
    app = FakeApp(job, Config(**{"theme": "l4tui", "lens": "lines", **settings}))  # type: ignore[arg-type]
    app.ruling = ruling or app.ruling
    if not judged:
        app.may_judge.clear()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, JobScreen)
        await until(pilot, lambda: screen.view.rows.length or not job.snapshot().length)
        await until(pilot, lambda: screen.snapshot.length == job.snapshot().length)
        await until(pilot, lambda: not job.snapshot().length or screen.view.cursor_line is not None)
        yield pilot, screen


async def until(pilot: Pilot[int], holds: Callable[[], object], seconds: float = 15.0) -> None:
    """Wait for what threads bring; long, for the machine may be busy."""
    for _ in range(int(seconds / 0.01)):
        await pilot.pause()
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("did not happen in time")


def screen_rows(screen: JobScreen) -> list[str]:
    """Give the text of the log pane, row by row."""
    return [strip.text.rstrip() for strip in screen.view._shown]
