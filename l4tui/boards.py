"""`l4tui export --tensorboard`: the series of jobs as event files, once or as long as the logs grow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from l4tui.config import Config
from l4tui.engine.job import Job
from l4tui.engine.telemetry import TelemetryIndex
from l4tui.engine.telemetry.boards import Board
from l4tui.exits import UsageError
from l4tui.inputs import check_paths
from l4tui.opening import engine_options, find, open_jobs, own_series, read, say

EVERY = 1.0  # seconds between two additions while following


def write_boards(paths: Sequence[str], folder: Path, config: Config) -> None:
    """Write the series of every job that the paths hold; of several each into a folder of its own."""
    jobs = list(open_jobs(paths, config))
    for name, job in jobs:
        board = Board(folder / name if len(jobs) > 1 else folder, TelemetryIndex(own_series(config)), time.time())
        board.write(read(job), Event())
        board.close()
        job.release()  # one at a time is in memory
        say(f"{board.points:,} points in {board.runs} runs: tensorboard --logdir {folder}")


def follow_board(paths: Sequence[str], folder: Path, config: Config) -> None:
    """Write the series of one job and add what its logs grow by until interrupted."""
    found = find(check_paths(paths))
    if len(found.jobs) > 1:
        raise UsageError("--follow takes one job: name its files")
    chosen = found.choose(0)
    options = engine_options(config, max(source.mtime for source in chosen.sources), found)
    job = Job(chosen.sources, options, found=found, follow=True)
    board = Board(folder, TelemetryIndex(own_series(config)), time.time())
    stop = Event()
    try:
        job.read_all(stop, final=False)
        board.write(job.snapshot(), stop)
        say(f"following; Ctrl+C ends: tensorboard --logdir {folder}")
        while True:
            if job.poll(stop):
                board.write(job.snapshot(), stop)
            job.wait(EVERY)
    except KeyboardInterrupt:
        say(f"{board.points:,} points in {board.runs} runs")
    finally:
        board.close()
        job.close()
