"""A job whose kept index was taken up again and again is what a fresh reading makes of its files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import cache as caches
from l4tui.engine.cache import IndexCache
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job, Options
from tests.engine.test_cache import text

Rows = dict[str, list[tuple[object, ...]]]


class Writer:
    """Writes to the files of four nodes, also lines in two parts, and rotates, rewrites and removes them."""

    def __init__(self, folder: Path, seed: int, tears: bool) -> None:
        self.folder, self.chance, self.tears = folder, random.Random(seed), tears
        self.steps: dict[int, int] = {}
        self.rest: dict[int, bytes] = {}  # of a line that was torn

    def act(self) -> None:
        node = self.chance.randrange(4)
        path = self.folder / f"node-{node}.log"
        what = self.chance.random() if path.exists() else 0.0
        if what < 0.75:
            self.append(node, path)
            return
        self.rest.pop(node, None)
        if what < 0.85:
            path.rename(path.with_suffix(".log.1"))
            path.write_bytes(b"")
        elif what < 0.93:
            path.write_text(text(node, range(50)))
        else:
            path.unlink()

    def append(self, node: int, path: Path) -> None:
        step = self.steps.get(node, 100)
        self.steps[node] = step + 40
        data = self.rest.pop(node, b"") + text(node, range(step, step + self.chance.randrange(1, 40))).encode()
        if self.tears and self.chance.random() < 0.6:
            cut = len(data) - self.chance.randrange(1, min(120, len(data)))
            data, self.rest[node] = data[:cut], data[cut:]
        with path.open("ab") as file:
            file.write(data)


def read(folder: Path, cache: IndexCache | None) -> Job:
    job = Job(discover([str(folder)]).choose(0).sources, Options(cache=cache))
    job.read_all()
    return job


def rows(job: Job) -> Rows:
    """Return what is told of each line, by file: in which order files were read is no matter."""
    snap = job.snapshot()
    out: Rows = {}
    where = snap.source_of(np.arange(snap.length))
    for index, source in enumerate(snap.sources):
        mine = np.flatnonzero(where == index)
        columns = (
            snap.rank(mine), snap.level(mine), snap.kind(mine), snap.iteration[mine], snap.stage[mine],
            snap.time[mine], snap.flags[mine], np.searchsorted(mine, snap.record[mine]),
        )  # fmt: skip
        told = zip(*(column.tolist() for column in columns), strict=True)
        out[source.path] = list(zip(snap.raws(mine), snap.places(mine), told, strict=True))
    return out


@pytest.mark.parametrize(("seed", "tears"), [(3, False), (0, True), (5, True), (8, True)])
def test_growth_after_a_kept_index_is_what_a_fresh_reading_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, tears: bool
) -> None:
    monkeypatch.setattr(caches, "LEAST", 1)
    folder, cache = tmp_path / "logs", IndexCache(tmp_path / "cache")
    folder.mkdir()
    writer = Writer(folder, seed, tears)
    for node in range(2):
        (folder / f"node-{node}.log").write_text(text(node, range(100)))
    for _ in range(6):
        read(folder, cache)
        for _ in range(writer.chance.randrange(1, 4)):
            writer.act()
        kept, fresh = read(folder, cache), read(folder, None)
        assert rows(kept) == rows(fresh)
        assert kept.snapshot().counts() == fresh.snapshot().counts()
