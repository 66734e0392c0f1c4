"""Cost of telemetry: 722 series with 450,000 samples in all, from an index that stands to every value.

usage: python -m tests.bench.telemetry
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from threading import Event

import numpy as np

from l4tui.engine.telemetry import TelemetryIndex
from tests.engine.telemetry.jobs import job_of

SERIES, SAMPLES = 722, 450_000


def write(folder: Path) -> Path:
    """Write a job of 8 ranks whose lines carry 19 values each: 38 groups of layers, 624 steps or so."""
    rng = np.random.default_rng(7)
    groups, per_line = SERIES // 19, 19
    steps = SAMPLES // SERIES + 1
    values = rng.lognormal(0, 2, (steps, groups, per_line))
    path = folder / "job.log"
    with path.open("w") as out:
        for step in range(steps):
            for group in range(groups):
                stamp = f"2026-01-02 10:{step // 60 % 60:02d}:{step % 60:02d},000"
                cells = " ".join(f"layer.{group * per_line + k}/norm={values[step, group, k]:.4f}" for k in range(19))
                out.write(f"[rank{group % 8}]: {stamp} - trainer - INFO - step {step} {cells}\n")
    return path


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        path = write(Path(name))
        job = job_of(Path(name), job=path.read_bytes())
        snap = job.snapshot()
        index = TelemetryIndex()
        began, cpu = time.perf_counter(), time.process_time()
        first, first_cpu, samples, seen = 0.0, 0.0, 0, set()
        for points in index.query(snap, None, None, Event()):
            first = first or time.perf_counter() - began
            first_cpu = first_cpu or time.process_time() - cpu
            samples += len(points.value)
            seen.add(points.name)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        again = time.perf_counter()
        sum(len(p.value) for p in index.query(snap, None, None, Event()))
        again = time.perf_counter() - again
        one = time.perf_counter()
        index.values("layer.7/norm", snap)
        one = time.perf_counter() - one
        print(f"{len(seen)} series, {samples:,} samples, {path.stat().st_size / 1e6:.0f} MB, {snap.length:,} lines")
        print(f"first points {first * 1e3:7.0f} ms   (goal 100; CPU {first_cpu * 1e3:.0f} ms)")
        print(f"all          {wall * 1e3:7.0f} ms   (goal 1000; CPU {cpu * 1e3:.0f} ms)")
        print(f"again        {again * 1e3:7.0f} ms")
        print(f"one series   {one * 1e3:7.1f} ms")


if __name__ == "__main__":
    main()
