"""Lines a second with rows and divergence on, while a simulated job of many ranks grows.

    python -m tests.bench.divergence [RANKS [MEGABYTES]]

Prints lines, wall and CPU seconds of ingest, rows and surveys, and lines per CPU second of all three.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from l4tui.demo import write
from l4tui.engine.discovery import discover
from l4tui.engine.divergence import survey
from l4tui.engine.job import Job
from l4tui.engine.rows import RowBuilder

PIECE = 25_000  # lines between two readings: 100,000 lines/s looked at every 250 ms
SURVEY_EVERY = 8  # readings: 2 s


def main(ranks: int = 1024, megabytes: int = 60) -> None:
    """Write a job, copy it piece by piece and follow the copy."""
    with tempfile.TemporaryDirectory() as folder:
        whole, live = Path(folder, "whole"), Path(folder, "live")
        write(whole, ranks=ranks, nodes=max(1, ranks // 8), layout="srun", bytes_wanted=megabytes << 20)
        live.mkdir()
        files = {path.name: path.read_bytes() for path in whole.iterdir() if path.name != "truth.json"}
        spent = dict.fromkeys(("ingest", "rows", "survey"), 0.0)

        def timed(name: str, work: Callable[[], object]) -> object:
            began = time.process_time()
            done = work()
            spent[name] += time.process_time() - began
            return done

        pieces = max(1, sum(data.count(b"\n") for data in files.values()) // PIECE)
        grow(files, live, 0, pieces)
        job = Job(discover([str(live)]).whole().sources)
        builder = RowBuilder()
        for piece in range(pieces):
            grow(files, live, piece, pieces)
            timed("ingest", lambda: job.read_all(final=False))
            snap = job.snapshot()
            table = builder.update(snap) if piece == 0 else timed("rows", lambda: builder.update(snap))  # noqa: B023
            if piece % SURVEY_EVERY == SURVEY_EVERY - 1:
                timed("survey", lambda: survey(snap, table, final=False))  # type: ignore[arg-type]  # noqa: B023
        total = sum(spent.values())
        print(f"{ranks} ranks, {snap.length} lines, {builder.rows} rows, {pieces // SURVEY_EVERY} surveys")
        for name, seconds in spent.items():
            print(f"{name:8} {seconds:6.2f} s CPU {seconds / snap.length * 1e9:7.0f} ns a line")
        print(f"{snap.length / total:,.0f} lines per CPU second")


def grow(files: dict[str, bytes], folder: Path, piece: int, pieces: int) -> None:
    """Bring every file to its share of whole lines."""
    for name, data in files.items():
        end = data.rfind(b"\n", 0, len(data) * (piece + 1) // pieces) + 1
        with (folder / name).open("ab") as out:
            out.write(data[out.tell() : end])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
