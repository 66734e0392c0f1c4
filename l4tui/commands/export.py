"""`l4tui export`: every line or record as a row of JSON lines, CSV or Parquet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, BinaryIO

from l4tui import options
from l4tui.config import Config
from l4tui.exits import Exit, UsageError

if TYPE_CHECKING:
    from l4tui.engine.export import Column


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    options.add_paths(parser)
    parser.add_argument("--format", choices=("jsonl", "csv", "parquet"), default="jsonl", help="default: jsonl")
    parser.add_argument("--records", action="store_true", help="one row per logical record, not per physical line")
    parser.add_argument("--columns", metavar="A,B,C", help="only these columns, in this order")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of standard output")
    parser.add_argument("--tensorboard", metavar="DIR", help="write the series in the lines as TensorBoard runs there")
    parser.add_argument("--follow", action="store_true", help="with --tensorboard: go on as the logs grow")
    options.add_choosing(parser)
    options.add_reading(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Index everything there is, then write the rows; several jobs one after the other."""
    if args.follow and not args.tensorboard:
        raise UsageError("--follow goes with --tensorboard")
    if args.tensorboard:
        from l4tui.boards import follow_board, write_boards

        (follow_board if args.follow else write_boards)(args.paths, Path(args.tensorboard), config)
        return Exit.OK
    from l4tui.engine.export import COLUMNS  # loads numpy: 260 ms CPU
    from l4tui.tables import WRITERS

    columns = list(dict.fromkeys(args.columns.split(","))) if args.columns else list(COLUMNS)
    if unknown := [name for name in columns if name not in COLUMNS]:
        raise UsageError(f"--columns: no column {unknown[0]!r} (columns: {', '.join(COLUMNS)})")
    if args.format == "parquet" and not args.output and sys.stdout.isatty():
        raise UsageError("parquet is binary: name a file with -o")
    with _output(args.output) as out:
        WRITERS[args.format](_rows(args, config, columns), columns, out)
    return Exit.OK


def _rows(args: argparse.Namespace, config: Config, columns: list[str]) -> Iterator[Mapping[str, Column]]:
    from l4tui.engine.export import Rows
    from l4tui.opening import open_jobs, read, select

    for _, job in open_jobs(args.paths, config):
        snap = read(job)
        yield from Rows(snap, columns, args.records, select(snap, config)).batches(Event())


@contextmanager
def _output(name: str | None) -> Iterator[BinaryIO]:
    if name is None or name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with Path(name).open("wb") as stream:
        yield stream
