"""Series as TensorBoard runs: a run a rank, added to while the log grows."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.telemetry import TelemetryIndex
from l4tui.engine.telemetry.boards import Board
from l4tui.engine.telemetry.eventfiles import curves_of


def lines(first: int, last: int) -> str:
    return "".join(
        f"{rank}: 2026-01-02 10:00:{i:02d} step {i} loss {i + rank / 4} lr=0.5 world: 2\n"
        for i in range(first, last)
        for rank in range(2)
    )


def read(folder: Path, rank: int) -> dict[str, list[tuple[int, float]]]:
    (path,) = (folder / f"rank-{rank:05d}").iterdir()
    return {c.name: list(zip(c.step.tolist(), c.value.tolist(), strict=True)) for c in curves_of(path)}


def test_points_are_added_as_the_log_grows(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(lines(1, 11))
    found = discover([str(log)])
    job = Job(found.choose(0).sources, found=found, follow=True)
    job.read_all(final=False)
    board = Board(tmp_path / "board", TelemetryIndex(), 1_700_000_000.0)
    board.write(job.snapshot(), Event())
    assert read(tmp_path / "board", 1)["loss"] == [(i, i + 0.25) for i in range(1, 11)]
    with log.open("a") as out:
        out.write(lines(11, 16))
    while job.poll():
        pass
    board.write(job.snapshot(), Event())
    board.close()
    job.close()
    found_ = read(tmp_path / "board", 1)
    assert found_["loss"] == [(i, i + 0.25) for i in range(1, 16)]
    assert found_["lr"] == [(i, 0.5) for i in range(1, 16)]
    assert board.runs == 2
    (path,) = (tmp_path / "board" / "rank-00000").iterdir()
    loss = next(curve for curve in curves_of(path) if curve.name == "loss")
    assert loss.time[1] - loss.time[0] == 10**9


def test_series_without_iterations_count_their_points(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("".join(f"{rank}: free memory: {100 - i} GiB\n" for i in range(5) for rank in range(4)))
    job = Job(discover([str(log)]).whole().sources)
    job.read_all()
    board = Board(tmp_path / "board", TelemetryIndex(), 1_700_000_000.0)
    board.write(job.snapshot(), Event())
    board.close()
    assert [step for curve in read(tmp_path / "board", 3).values() for step, _ in curve] == [0, 1, 2, 3, 4]
