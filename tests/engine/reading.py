"""One file of lines read through the whole engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from l4tui.engine.filenames import names_of
from l4tui.engine.job import Job
from l4tui.engine.sources import open_path


def ranks_of(folder: Path, lines: Sequence[str], name: str = "train.txt") -> list[int | None]:
    """Return the rank of each line (of its first segment); None where it is unknown."""
    return files_ranks(folder, {name: lines})[name]


def files_ranks(folder: Path, files: dict[str, Sequence[str]]) -> dict[str, list[int | None]]:
    """Return the same of several files that are one job."""
    sources = []
    for i, (name, lines) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        source = open_path(str(path))
        source.index = i
        sources.append(source)
    for source, told in zip(sources, names_of([Path(name) for name in files]), strict=True):
        source.name = told
    job = Job(sources)
    try:
        job.read_all()
        snap = job.snapshot()
        entries = np.arange(snap.length)
        out: dict[str, list[int | None]] = {name: [None] * len(lines) for name, lines in files.items()}
        for place, rank in zip(snap.places(entries), snap.rank(entries).tolist(), strict=True):
            if place.segment == 0:
                out[list(files)[place.source]][place.line - 1] = rank if rank >= 0 else None
        return out
    finally:
        job.close()
