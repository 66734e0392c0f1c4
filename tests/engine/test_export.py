"""Rows of the export on real jobs: every line once, in file order, with what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from l4tui.engine import blocks
from l4tui.engine.discovery import discover
from l4tui.engine.divergence import STOP
from l4tui.engine.export import COLUMNS, Coded, Rows, Value
from l4tui.engine.job import Job
from l4tui.engine.library import load
from l4tui.engine.report.divergence import divergence_tables
from l4tui.engine.snapshot import Snapshot
from tests.engine.small_jobs import read, trainer

TEE = """\
torchrun --nproc-per-node 4 train.py
[default0]:2026-03-01 12:00:01,250 - trainer - INFO - iteration 7 loss 2.5
[default1]:2026-03-01 12:00:01,250 - trainer - INFO - iteration 7 loss 2.6
[default1]:Traceback (most recent call last):
[default0]:2026-03-01 12:00:02,250 - trainer - WARNING - slow step
[default1]:  File "train.py", line 3, in step
[default1]:RuntimeError: boom é
[default2]:2026-03-01 12:00:03,250 - trainer - INFO - iteration 7 loss 2.7
[default3]:2026-03-01 12:00:03,250 - trainer - INFO - iteration 7 loss 2.8
"""


def snap_of(*paths: Path) -> Snapshot:
    (folder,) = discover([str(path) for path in paths]).jobs
    job = Job(folder.sources)
    job.read_all(Event())
    return job.snapshot()


def rows_of(
    snap: Snapshot, columns: Sequence[str] = COLUMNS, records: bool = False, chosen: np.ndarray | None = None
) -> list[dict[str, Value]]:
    rows: list[dict[str, Value]] = []
    for batch in Rows(snap, columns, records, chosen).batches(Event()):
        plain = [[c.table[i] for i in c.codes] if isinstance(c, Coded) else c for c in batch.values()]
        rows += [dict(zip(batch, values, strict=True)) for values in zip(*plain, strict=True)]
    return rows


@pytest.fixture
def tee(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(TEE)
    return path


def test_every_line_is_a_row_with_what_is_known(tee: Path) -> None:
    rows = rows_of(snap_of(tee))
    assert [list(row) for row in rows] == [list(COLUMNS)] * 9
    assert {row["source"] for row in rows} == {str(tee)}
    assert [row["line"] for row in rows] == list(range(1, 10))
    assert {row["segment"] for row in rows} == {0}
    assert [row["rank"] for row in rows] == [None, 0, 1, 1, 0, 1, 1, 2, 3]
    assert [row["text"] for row in rows][3:7:3] == ["Traceback (most recent call last):", "RuntimeError: boom é"]
    assert rows[1]["time"] == "2026-03-01T12:00:01.250000"
    assert rows[3]["time"] is None
    assert (rows[4]["level"], rows[0]["level"]) == ("WARNING", None)
    assert rows[1]["event"] == rows[2]["event"] == rows[8]["event"]
    assert "<*>" in str(rows[1]["template"])


def test_a_record_is_one_row_with_the_text_of_its_lines(tee: Path) -> None:
    snap = snap_of(tee)
    lines, records = rows_of(snap), rows_of(snap, records=True)
    by_record: dict[Value, list[dict[str, Value]]] = {}
    for row in lines:
        by_record.setdefault(row["record"], []).append(row)
    assert len(by_record) < len(lines)
    heads = [members[0] | {"text": "\n".join(str(row["text"]) for row in members)} for members in by_record.values()]
    assert records == heads


def test_columns_and_entries_can_be_chosen(tee: Path) -> None:
    snap = snap_of(tee)
    rows = rows_of(snap, ["rank", "line"], chosen=snap.rank() == 1)
    assert rows == [{"rank": 1, "line": line} for line in (3, 4, 6, 7)]


def test_sources_follow_one_another_in_file_order(tmp_path: Path) -> None:
    for name, clock in (("a.log", "13"), ("b.log", "12")):
        text = "".join(f"2026-03-01 {clock}:00:0{n},000 - INFO - line {n}\n" for n in range(5))
        (tmp_path / name).write_text(text)
    rows = rows_of(snap_of(tmp_path / "a.log", tmp_path / "b.log"))
    places = [(Path(str(row["source"])).name, row["line"]) for row in rows]
    assert places == [(name, line) for name in ("a.log", "b.log") for line in range(1, 6)]


def test_a_last_line_without_a_newline_and_odd_bytes_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "odd.log"
    path.write_bytes(b"one\r\n\n\x1b[31mred\x1b[0m \xff\nlast")
    rows = rows_of(snap_of(path))
    assert [row["line"] for row in rows] == [1, 2, 3, 4]
    assert [row["text"] for row in rows] == ["one", "", "red \ufffd", "last"]


def test_stopping_ends_the_batches(tee: Path) -> None:
    stop = Event()
    stop.set()
    assert list(Rows(snap_of(tee)).batches(stop)) == []


def test_pieces_of_one_line_are_joined_as_they_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks.blocks, "__kwdefaults__", {**blocks.blocks.__kwdefaults__, "longest": 1 << 20})
    path = tmp_path / "job.log"
    long = "x" * 9_000_000
    path.write_text(f"2026-03-01 12:00:01,250 - trainer - INFO - {long}\nTraceback (most recent call last):\n  at\n")
    snap = snap_of(path)
    assert snap.length > 4
    texts = [row["text"] for row in rows_of(snap, ("text",), records=True)]
    assert texts == [long, "Traceback (most recent call last):\n  at"]


def test_what_sets_a_line_apart_is_told_with_its_kind_and_score(tmp_path: Path) -> None:
    end = ["5: Traceback (most recent call last):", '5:   File "t.py", line 3, in f', "5: ValueError: bad"]
    lines = [*trainer(12, 8), *end]
    snap = read(tmp_path / "job.log", lines).snapshot()
    columns = ("rank", "text", "divergence", "divergence_score")
    told = [row for row in rows_of(snap, columns) if row["divergence"]]
    assert {row["rank"] for row in told if float(row["divergence_score"] or 0) >= STOP} == {5}
    assert told[-1]["text"] == "ValueError: bad" and told[-1]["divergence"] == "extra"
    assert all((row["divergence"] is None) == (row["divergence_score"] is None) for row in rows_of(snap, columns))
    found = divergence_tables(snap, load())
    assert max(d["score"] for d in found) == max(row["divergence_score"] for row in told)  # as the report has it
    heads = [row for row in rows_of(snap, columns, records=True) if row["divergence"]]
    assert heads and {row["rank"] for row in heads} == {5}


def test_one_rank_has_nobody_to_be_compared_with(tmp_path: Path) -> None:
    snap = read(tmp_path / "job.log", [*trainer(6, 1), "0: ValueError: bad"]).snapshot()
    assert {row["divergence"] for row in rows_of(snap)} == {None}
