"""`l4tui index`: read everything and say as one JSON line what is in it and what that cost."""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from typing import TYPE_CHECKING

from l4tui import options
from l4tui.config import Config
from l4tui.exits import Exit

if TYPE_CHECKING:
    from l4tui.engine.job import Job

SCHEMA = "l4tui.index/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    options.add_paths(parser)
    options.add_reading(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Index and print a line for each job."""
    from l4tui.opening import open_jobs

    for name, job in open_jobs(args.paths, config):
        print(json.dumps(figures(name, job)), flush=True)
    return Exit.OK


def figures(name: str, job: Job) -> dict[str, object]:
    """Read a job and return the figures; seconds are those of reading, without the interpreter's start."""
    import numpy as np  # 260 ms CPU

    from l4tui.opening import read

    began, used = time.monotonic(), cpu_seconds()
    snap = read(job)
    wall, cpu = time.monotonic() - began, cpu_seconds() - used
    counts = snap.counts()
    return {
        "schema": SCHEMA,
        "job": name,
        "sources": len(snap.sources),
        "bytes": sum(reader.at for reader in job.readers),
        "lines": counts.lines,
        "lines_by_class": {
            "rank": sum(counts.per_rank.values()),
            "mixed": counts.mixed,
            "launcher": counts.launcher,
            "unknown": counts.unknown,
        },
        "entries": snap.length,
        "records": int(np.count_nonzero(snap.record == np.arange(snap.length))),
        "ranks": len(counts.per_rank),
        "world_size": snap.world_size if snap.world_size >= 0 else None,
        "nodes": len(snap.nodes),
        "plans": len(snap.plans.event),
        "shapes": int(np.unique(snap.plans.shape).size),
        "events": len(snap.templates),
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "peak_rss_bytes": peak_rss(),
        "bytes_per_line": round(job.store.nbytes / max(counts.lines, 1), 1),
    }


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its workers that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def peak_rss() -> int:
    """Return the largest resident size in bytes: this process's and its largest worker's."""
    kib = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return kib * 1024
