"""Write a job in real time, for the demo: it has been running for a while, goes on, and fails soon."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Protocol

from l4tui.demo.ink import SECOND
from l4tui.demo.job import Line, Spec
from l4tui.demo.layouts import Layout, layout_of
from l4tui.demo.names import READY
from l4tui.demo.play import play, prepare
from l4tui.demo.writing import Files

LEAD = 45 * SECOND  # simulated time between the first live line and the fault
LONGEST = 4.0  # s: longer silences of the job are cut to this
TICK = 0.05  # s between writes; lines of a tick are written together


class Sink(Protocol):
    """Where placed lines go."""

    def append(self, parts: Mapping[str, bytes | memoryview], flush: bool = False) -> None:
        """Append bytes to files by relative name."""


class Stream:
    """One stream for all files, as a terminal shows them."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out

    def append(self, parts: Mapping[str, bytes | memoryview], flush: bool = False) -> None:
        for data in parts.values():
            self.out.write(data)
        self.out.flush()


def live(
    directory: Path | BinaryIO,
    scenario: str = "oom-gpu",
    *,
    ranks: int = 64,
    nodes: int = 8,
    seed: int = 0,
    style: str = "python",
    layout: str = "torchrun",
    iterations: int = 160,
    rate: float = 1.0,
    stop: threading.Event | None = None,
) -> None:
    """Write a job in real time, into a folder or to a stream, until it ends or `stop` is set.

    Args:
        rate: simulated seconds a second.

    Raises:
        ValueError: an unknown name, or ranks that do not divide over the nodes.
    """
    past = history(Spec(scenario, ranks, nodes, seed, style, layout, iterations), rate)
    spec = Spec(scenario, ranks, nodes, seed, style, layout, iterations, time.time_ns() - past)
    stop = stop or threading.Event()
    if not isinstance(directory, Path):
        perform(spec, Stream(directory), past, rate, stop)
        return
    directory.mkdir(parents=True, exist_ok=True)
    with Files(directory) as files:
        perform(spec, files, past, rate, stop, directory / READY)


def perform(spec: Spec, sink: Sink, past: int, rate: float, stop: threading.Event, ready: Path | None = None) -> None:
    """Write the job's history (its first `past` ns) at once and the rest at its own pace."""
    job, fault = prepare(spec)
    place = layout_of(job)
    pace = Pace(spec.start + past, rate)
    attempt = 0
    for batch in play(job, fault):
        if job.attempt != attempt:
            attempt = job.attempt
            place.restart()
        if ready and batch.lines and batch.lines[-1].time > spec.start + past:
            ready.touch()
            ready = None
        if not write_paced(batch.lines, place, sink, pace, stop):
            return
    if ready:
        ready.touch()


class Pace:
    """Relates the job's time to the wall; long silences are cut short."""

    def __init__(self, origin: int, rate: float) -> None:
        self.shown, self.rate = origin, rate
        self.wall = time.monotonic()

    def until(self, now: int) -> float:
        """Return the seconds to wait before a line of this time may be shown."""
        if now > self.shown:
            self.wall += min(LONGEST, (now - self.shown) / SECOND / self.rate)
            self.shown = now
        return max(0.0, self.wall - time.monotonic())


def write_paced(lines: list[Line], place: Layout, sink: Sink, pace: Pace, stop: threading.Event) -> bool:
    """Write lines tick by tick when their time has come; False when `stop` was set."""
    tick = int(TICK * pace.rate * SECOND)
    at = 0
    while at < len(lines):
        limit = max(lines[at].time, pace.shown) + tick
        end = at + 1
        while end < len(lines) and lines[end].time < limit:
            end += 1
        if stop.wait(pace.until(lines[at].time)):
            return False
        sink.append(place.place(lines[at:end]), flush=True)
        at = end
    return True


def history(spec: Spec, rate: float) -> int:
    """Return how long (ns) the job has run when the first live line appears."""
    job, fault = prepare(spec)
    last = spec.start
    for batch in play(job, fault):
        if fault.stage and batch.stage == fault.stage and (not batch.iteration or batch.iteration >= fault.at):
            break
        last = job.now
    return max(0, last - spec.start - int(LEAD * rate))


def watch_parent(stop: threading.Event) -> None:
    """Set `stop` when the parent process is gone or a signal asks to end."""
    parent = os.getppid()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ask)

    def poll() -> None:
        while not stop.wait(0.5):
            if os.getppid() != parent:
                stop.set()

    threading.Thread(target=poll, name="watch-parent", daemon=True).start()
