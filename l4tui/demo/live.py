"""Write a job in real time, for the demo: it has been running for a while, goes on, and fails soon."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import FrameType

from l4tui.demo.ink import SECOND
from l4tui.demo.job import Spec
from l4tui.demo.layouts import layout_of
from l4tui.demo.play import play, prepare
from l4tui.demo.writing import Files

LEAD = 45 * SECOND  # simulated time between the first live line and the fault
LONGEST = 4.0  # s: longer silences of the job are cut to this
TICK = 0.05  # s between writes; lines of a tick are written together


def live(
    directory: Path,
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
    """Write a job in real time until it ends or `stop` is set.

    Args:
        rate: simulated seconds a second.

    Raises:
        ValueError: an unknown name, or ranks that do not divide over the nodes.
    """
    stop = stop or threading.Event()
    origin = time.time_ns()
    warm = history(Spec(scenario, ranks, nodes, seed, style, layout, iterations), rate)
    spec = Spec(scenario, ranks, nodes, seed, style, layout, iterations, origin - warm)
    job, fault = prepare(spec)
    place = layout_of(job)
    shown, wall = origin, time.monotonic()
    with Files(directory) as files:
        for batch in play(job, fault):
            if not batch.lines or batch.lines[-1].time <= origin:
                files.append(place.place(batch.lines), flush=True)
                continue
            at = 0
            while at < len(batch.lines):
                end = at + 1
                while end < len(batch.lines) and batch.lines[end].time < batch.lines[at].time + int(
                    TICK * rate * SECOND
                ):
                    end += 1
                wall += min(LONGEST, max(0, batch.lines[at].time - shown) / SECOND / rate)
                shown = max(shown, batch.lines[at].time)
                if stop.wait(max(0.0, wall - time.monotonic())):
                    return
                files.append(place.place(batch.lines[at:end]), flush=True)
                at = end


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
    """Set `stop` when the parent process is gone or SIGTERM comes."""
    parent = os.getppid()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    signal.signal(signal.SIGHUP, ask)

    def poll() -> None:
        while not stop.wait(0.5):
            if os.getppid() != parent:
                stop.set()

    threading.Thread(target=poll, name="watch-parent", daemon=True).start()
