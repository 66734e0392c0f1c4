"""Series of a job as TensorBoard runs: a folder of event files, one run a rank, added to while the job grows."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.telemetry.eventfiles import EventWriter
from l4tui.engine.telemetry.fields import Type
from l4tui.engine.telemetry.index import Points, TelemetryIndex

EPOCHS = 4  # times that iterations begin anew before they are no steps
LATER = 1e-3  # seconds between points of a log without times


class Board:
    """Writes what is new of all numeric series each time it is asked."""

    def __init__(self, folder: Path, index: TelemetryIndex, began: float) -> None:
        """`began`: seconds since 1970 that name the event files and stand for lines without a time."""
        self._folder, self._index, self._began = folder, index, began
        self._writers: dict[int, EventWriter] = {}
        self._written: dict[str, int] = {}  # points of a series
        self._steps: dict[tuple[str, int], int] = {}  # of series that know no iteration: the last ordinal
        self._generation = -1
        self.points = 0

    def write(self, snap: Snapshot, stop: threading.Event) -> None:
        """Read what is new in the snapshot and append it; settings that are said once are left out."""
        if self._generation not in (-1, snap.generation):
            self._written.clear()  # the job was read anew: entries mean something else, and all is written again
        self._generation = snap.generation
        self._index.update(snap, stop)
        for summary in self._index.names():
            if stop.is_set():
                return
            if summary.info.type is not Type.TEXT and (summary.spans or summary.low < summary.high):
                points = self._index.values(summary.info.name, snap)
                seen = self._written.get(summary.info.name, 0)
                self._written[summary.info.name] = len(points.value)
                self._add(points.chosen(np.arange(seen, len(points.value))))
        for writer in self._writers.values():
            writer.flush()

    def _add(self, points: Points) -> None:
        order = np.argsort(points.rank, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(points.rank[order])) + 1):
            if not len(rows):
                continue
            rank = int(points.rank[rows[0]])
            step, rows = self._step(points, rank, rows)
            time = points.time[rows]
            wall = np.where(time == NO_TIME, self._began + LATER * points.entry[rows], time / 1e9)
            self._writer(rank).add(points.name, step, wall, points.value[rows])
            self.points += len(rows)

    def _step(self, points: Points, rank: int, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return steps and the rows that have one: iterations, or ordinals where these tell none or begin anew."""
        iteration = points.iteration[rows].astype(np.int64)
        same = (points.name, rank)
        known = iteration >= 0
        if same not in self._steps and known.any() and (np.diff(iteration[known]) < 0).sum() < EPOCHS:
            return iteration[known], rows[known]
        first = self._steps.get(same, 0)
        self._steps[same] = first + len(rows)
        return first + np.arange(len(rows)), rows

    def _writer(self, rank: int) -> EventWriter:
        if rank not in self._writers:
            name = f"rank-{rank:05d}" if rank >= 0 else "unknown"
            self._writers[rank] = EventWriter(self._folder / name, self._began)
        return self._writers[rank]

    @property
    def runs(self) -> int:
        """Number of runs written."""
        return len(self._writers)

    def close(self) -> None:
        """End all event files."""
        for writer in self._writers.values():
            writer.close()
