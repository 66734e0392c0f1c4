"""Write finished jobs with their truth beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from l4tui.demo.faults import Fault, scenarios
from l4tui.demo.job import START, Job, Spec
from l4tui.demo.layouts import Layout, layout_of
from l4tui.demo.play import play, prepare
from l4tui.demo.truth import truth_of

TRUTH = "truth.json"


class Files:
    """Open files of a job under one folder; appends bytes by relative name."""

    LIMIT = 200  # open files at a time

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._open: dict[str, BinaryIO] = {}
        self._known: set[str] = set()
        self.bytes = 0

    def __enter__(self) -> Files:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._open.values():
            file.close()

    def append(self, parts: Mapping[str, bytes | memoryview], flush: bool = False) -> None:
        for name, data in parts.items():
            file = self._file(name)
            file.write(data)
            if flush:
                file.flush()
            self.bytes += len(data)

    def _file(self, name: str) -> BinaryIO:
        if name not in self._open:
            if len(self._open) >= self.LIMIT:
                oldest = next(iter(self._open))
                self._open.pop(oldest).close()
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[name] = path.open("ab" if name in self._known else "wb", buffering=1 << 16)
            self._known.add(name)
        return self._open[name]


def write(
    directory: Path,
    scenario: str = "healthy",
    *,
    ranks: int = 64,
    nodes: int = 8,
    seed: int = 0,
    style: str = "python",
    layout: str = "torchrun",
    iterations: int = 120,
    bytes_wanted: int | None = None,
    baseline: str | None = None,
    start: int = START,
) -> dict[str, Any]:
    """Write a finished job and its truth.json into a folder and return the truth.

    Args:
        bytes_wanted: make training long enough for a log of about this size, whatever `iterations` says; the fault
            stays at its end.
        baseline: name of a sibling folder that holds a healthy job.
        start: ns UTC of the launch.

    Raises:
        ValueError: an unknown name, or ranks that do not divide over the nodes.
        OSError: the folder cannot be written.
    """
    ckpt_every = 0
    if bytes_wanted is not None:  # few checkpoints: they and the end are written line by line
        ckpt_every = 60 if bytes_wanted < 300_000_000 else 120
        iterations = 2 * ckpt_every
    spec = Spec(scenario, ranks, nodes, seed, style, layout, iterations, start, ckpt_every)
    directory.mkdir(parents=True, exist_ok=True)
    job, fault = prepare(spec)
    place = layout_of(job)
    with Files(directory) as files:
        if bytes_wanted is None:
            write_all(job, fault, place, files)
        else:
            from l4tui.demo.bulk import write_much

            write_much(job, fault, place, files, bytes_wanted)
    truth = truth_of(job, fault, place, baseline)
    (directory / TRUTH).write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    return truth


def write_all(job: Job, fault: Fault, place: Layout, files: Files) -> None:
    attempt = 0
    for batch in play(job, fault):
        if job.attempt != attempt:
            attempt = job.attempt
            place.restart()
        files.append(place.place(batch.lines))


def write_suite(
    directory: Path,
    names: list[str] | None = None,
    *,
    ranks: int = 64,
    nodes: int = 8,
    seed: int = 0,
    styles: tuple[str, ...] = ("python",),
    layouts: tuple[str, ...] = ("torchrun",),
    iterations: int = 120,
) -> list[Path]:
    """Write one folder a scenario, styles and layouts by turns, each beside a healthy job of its kind."""
    written = []
    turns = max(len(styles), len(layouts))
    for i, name in enumerate(names or list(scenarios())):
        turn = i % turns
        style, layout = styles[turn % len(styles)], layouts[turn % len(layouts)]
        healthy = f"healthy-{style}-{layout}"
        kind = {"ranks": ranks, "nodes": nodes, "style": style, "layout": layout, "iterations": iterations}
        if not (directory / healthy).exists():
            write(directory / healthy, "healthy", seed=seed + 1_000_003, **kind)  # type: ignore[arg-type]
        folder = directory / f"{name}-{style}-{layout}-{seed}"
        write(folder, name, seed=seed + i, baseline=healthy, **kind)  # type: ignore[arg-type]
        written.append(folder)
    return written
