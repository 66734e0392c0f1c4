"""Write rows as JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from l4tui.exits import UsageError
from l4tui.signals import temporary_folder

if TYPE_CHECKING:
    from l4tui.engine.export import Column, Value

Batches = Iterator[Mapping[str, "Column"]]

NUMBERS = frozenset(("line", "segment", "record", "rank", "local_rank", "attempt", "event", "iteration"))


def write_jsonl(batches: Batches, columns: Sequence[str], out: BinaryIO) -> None:
    """Write one JSON object a line, ASCII only, keys in the order of the columns."""
    _write_objects(batches, columns, out, _json)


def _write_objects(batches: Batches, columns: Sequence[str], out: BinaryIO, encode: Callable[[Value], str]) -> None:
    row = "{" + ", ".join(f"{encode_basestring_ascii(name)}: %s" for name in columns) + "}\n"
    encoded = _Encoded(encode)
    for batch in batches:
        cells = [encoded.cells(name, batch[name]) for name in columns]
        out.write("".join(map(row.__mod__, zip(*cells, strict=True))).encode("ascii"))


def write_csv(batches: Batches, columns: Sequence[str], out: BinaryIO) -> None:
    """Write CSV in UTF-8 with a header row; null is an empty field."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    same = _Encoded(lambda value: value)
    for batch in chain(batches, [None]):
        if batch is not None:
            writer.writerows(zip(*(same.cells(name, batch[name]) for name in columns), strict=True))
        out.write(text.getvalue().encode(errors="surrogateescape"))  # a path may hold bytes that are no UTF-8
        text.seek(0)
        text.truncate()


def write_parquet(batches: Batches, columns: Sequence[str], out: BinaryIO) -> None:
    """Write Parquet through DuckDB, which reads the rows as JSON lines from a temporary file."""
    try:
        import duckdb
    except ImportError:
        raise UsageError("parquet needs DuckDB: pip install 'l4tui[sql]'") from None
    with temporary_folder("l4tui-") as folder:
        rows, table = Path(folder, "rows.jsonl"), Path(folder, "rows.parquet")
        with rows.open("wb") as stream:
            _write_objects(batches, columns, stream, _valid_json)
        types = {name: _sql_type(name) for name in columns}
        with duckdb.connect() as connection:
            connection.read_json(
                str(rows), columns=types, format="newline_delimited", maximum_object_size=2**30
            ).write_parquet(str(table), compression="zstd")
        with table.open("rb") as stream:
            while block := stream.read(1 << 20):
                out.write(block)


WRITERS: dict[str, Callable[[Batches, Sequence[str], BinaryIO], None]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}


class _Encoded:
    """Encodes each value of a coded column once and keeps the result as long as the table is the same."""

    def __init__(self, encode: Callable[[Value], object]) -> None:
        self._encode = encode
        self._tables: dict[str, tuple[object, list[object]]] = {}

    def cells(self, name: str, column: Column) -> list[object]:
        if isinstance(column, list):
            return list(map(self._encode, column))
        known = self._tables.get(name)
        if known is None or known[0] is not column.table:
            known = self._tables[name] = (column.table, list(map(self._encode, column.table)))
        return list(map(known[1].__getitem__, column.codes))


def _json(value: Value) -> str:
    if value is None:
        return "null"
    return encode_basestring_ascii(value) if isinstance(value, str) else str(value)


def _valid_json(value: Value) -> str:
    """Write a value without lone surrogates (bytes of a path that are no UTF-8), which DuckDB refuses."""
    if isinstance(value, str) and not value.isascii():
        value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _json(value)


def _sql_type(name: str) -> str:
    if name == "time":
        return "TIMESTAMP"
    return "BIGINT" if name in NUMBERS else "DOUBLE" if name == "divergence_score" else "VARCHAR"
