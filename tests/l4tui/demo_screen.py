"""The app over a job of the demo, for tests that look at what several ranks said."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from l4tui.actions import keymap
from l4tui.app import L4App
from l4tui.config import Config
from l4tui.demo import write
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.snapshot import Snapshot
from l4tui.judge import Judge, Ruling
from l4tui.screens.job import JobScreen
from tests.l4tui.screen import until

os.environ["L4TUI_DEBUG"] = "1"
SIZES = ((80, 24), (120, 40), (200, 60))


def job_of(folder: Path, scenario: str, ranks: int = 16, nodes: int = 2) -> Path:
    """Write a job, unless it is there."""
    if not folder.exists():
        write(folder, scenario, ranks=ranks, nodes=nodes, seed=5, iterations=30)
        (folder / "truth.json").unlink()
    return folder


@asynccontextmanager
async def opened(
    folder: Path | Sequence[str],
    size: tuple[int, int] = (120, 40),
    *,
    ruling: Ruling | None = None,
    judge: Callable[[Snapshot], Ruling] | None = None,
    **settings: object,
) -> AsyncIterator[tuple[Pilot[int], JobScreen]]:
    """Run the app on a folder, or on paths, until the ranks have been compared and all stands still.

    Verdicts are made by `judge`, or are `ruling`, or say nothing.
    """
    judged, closed, read = Judge.__call__, Judge.close, Job.read_all

    def read_at_once(job: Job, *args: Any) -> None:
        with job._lock:  # no snapshot of a part: rows keep the order in which they were met
            read(job, *args)

    Job.read_all = read_at_once  # type: ignore[method-assign]
    told = judge or (lambda snapshot: (ruling or Ruling(0, ""))._replace(version=snapshot.version))
    Judge.__call__ = lambda self, snapshot: told(snapshot)  # type: ignore[method-assign]
    Judge.close = lambda self: None  # type: ignore[method-assign]
    config = Config(**{"follow": False, "theme": "l4tui", "cache": False, "jobs": 1, **settings})  # type: ignore[arg-type]
    paths = [str(folder)] if isinstance(folder, Path) else folder
    app = L4App(discover(paths), config, keymap())
    try:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: isinstance(app.screen, JobScreen))
            screen = app.screen
            assert isinstance(screen, JobScreen)
            await until(pilot, lambda: screen.study is not None and screen.study.snapshot.is_complete, 20)
            await settled(pilot, screen)
            if judge is None and ruling is None and screen.snapshot.length:  # the header says that it is being judged
                screen._look_round()
                await until(pilot, lambda: screen.ruling.version >= 0)
            yield pilot, screen
    finally:
        Judge.__call__, Judge.close, Job.read_all = judged, closed, read  # type: ignore[method-assign]


async def settled(pilot: Pilot[int], screen: JobScreen) -> None:
    """Wait until nothing is on its way, three looks in a row."""
    calm = 0

    def rests() -> bool:
        nonlocal calm
        calm = calm + 1 if screen.is_settled else 0
        return calm >= 3

    await until(pilot, rests, 10)


async def press(pilot: Pilot[int], screen: JobScreen, *keys: str) -> None:
    """Press keys one after the other, each when the last one has been done."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot, screen)


def picture(screen: JobScreen) -> list[str]:
    """Give the whole screen as text, row by row."""
    return [strip.text.rstrip() for strip in screen._compositor.render_strips()]
