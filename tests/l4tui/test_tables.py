"""Writers: JSON lines, CSV and Parquet say the same."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator

import pytest

from l4tui.engine.export import Coded, Column
from l4tui.exits import UsageError
from l4tui.tables import WRITERS

COLUMNS = ["source", "line", "rank", "time", "text"]
TEXTS = ['say "hi", you', "tab\tend", "two\nlines", "", "é 漢 \u2028", "=1+1", "null", "\ufffd"]
TIMES = ["2026-03-01T12:00:00.250000", None] * 4
ROWS = [dict(zip(COLUMNS, ("a,b", n + 1, n % 2 or None, TIMES[n], text), strict=True)) for n, text in enumerate(TEXTS)]


def batches() -> Iterator[dict[str, Column]]:
    sources, ranks = ["a,b"], [None, 1]
    for low in range(0, len(ROWS), 3):
        part = ROWS[low : low + 3]
        yield {
            "source": Coded([0] * len(part), sources),
            "line": [int(row["line"]) for row in part],  # type: ignore[arg-type]
            "rank": Coded([1 if row["rank"] else 0 for row in part], ranks),
            "time": [row["time"] for row in part],  # type: ignore[misc]
            "text": [str(row["text"]) for row in part],
        }


def written(kind: str) -> bytes:
    out = io.BytesIO()
    WRITERS[kind](batches(), COLUMNS, out)
    return out.getvalue()


def test_json_lines() -> None:
    data = written("jsonl")
    assert data.isascii()
    assert [json.loads(line) for line in data.splitlines()] == ROWS
    assert data.startswith(b'{"source": "a,b", "line": 1, "rank": null, "time": "2026-')


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv").decode(), newline="")))
    assert rows == [{name: "" if value is None else str(value) for name, value in row.items()} for row in ROWS]


def test_parquet(tmp_path) -> None:  # type: ignore[no-untyped-def]
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "rows.parquet"
    path.write_bytes(written("parquet"))
    table = duckdb.read_parquet(str(path))
    assert dict(zip(table.columns, map(str, table.types), strict=True)) == {
        "source": "VARCHAR", "line": "BIGINT", "rank": "BIGINT", "time": "TIMESTAMP", "text": "VARCHAR",
    }  # fmt: skip
    got = table.fetchall()
    assert [(row[1], row[2], row[4]) for row in got] == [(row["line"], row["rank"], row["text"]) for row in ROWS]
    assert got[0][3].isoformat() == ROWS[0]["time"]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_path_that_is_no_utf8_is_written(kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("duckdb")
    out = io.BytesIO()
    WRITERS[kind](iter([{"source": Coded([0], ["b\udcff.log"])}]), ["source"], out)
    expected = {"jsonl": b'{"source": "b\\udcff.log"}', "csv": b"b\xff.log", "parquet": "b\ufffd.log".encode()}
    assert expected[kind] in out.getvalue()


def test_parquet_without_duckdb_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=r"pip install 'l4tui\[sql\]'"):
        written("parquet")


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_no_rows_are_an_empty_table(kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("duckdb")
    out = io.BytesIO()
    WRITERS[kind](iter(()), COLUMNS, out)
    assert out.getvalue().startswith({"jsonl": b"", "csv": b"source,line", "parquet": b"PAR1"}[kind])
