"""`l4tui formats`: the formats in use; `--explain FILE`: which of them took which part of the file's lines."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from l4tui import options
from l4tui.config import Config
from l4tui.exits import Exit

if TYPE_CHECKING:
    from l4tui.engine.formats import Dialect, Format, Row

SCHEMA = "l4tui.formats/1"
WIDEST = 110  # characters of an example line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="logs to explain (with --explain)")
    parser.add_argument("--explain", action="store_true", help="for each kind of line of PATH, which format took what")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options.add_reading(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """List the formats, or explain the lines of files."""
    lines = explained(args.paths, config, args.json) if args.explain or args.paths else listed(config, args.json)
    for line in lines:
        print(line)
    return Exit.OK


def listed(config: Config, as_json: bool) -> Iterator[str]:
    """Yield a line for each format, the user's own marked."""
    from l4tui.engine.formats import built_in
    from l4tui.opening import own_formats

    for fmt, is_own in [(f, False) for f in built_in()] + [(f, True) for f in own_formats(config)]:
        example = fmt.samples[0].line.decode("utf-8", "replace") if fmt.samples else ""
        if as_json:
            yield json.dumps(_row_of(fmt, is_own, example), ensure_ascii=False)
        else:
            marks = ("own " if is_own else "") + (
                "when detected" if fmt.weak and fmt.layer in ("prefix", "tag") else ""
            )
            yield f"{fmt.layer:<9}{fmt.name:<26}{marks:<15}{_plain(example)[:WIDEST]}".rstrip()


def _row_of(fmt: Format, is_own: bool, example: str) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "name": fmt.name,
        "layer": fmt.layer,
        "own": is_own,
        "weak": fmt.weak,
        "fields": sorted({name for name, _ in fmt.fields}),
        "example": example,
    }


def explained(paths: list[str], config: Config, as_json: bool) -> Iterator[str]:
    """Yield what was read in a sample of each source, commonest kinds of line first."""
    from l4tui.engine.formats import detect, explain
    from l4tui.engine.sampling import sample
    from l4tui.opening import open_jobs

    for _, job in open_jobs(paths, config):
        for source in job.sources:
            lines = [line for line in sample(source, source.size()) if line]
            dialect = detect(lines, source.name, job.options.formats)
            rows = explain(lines, dialect, job.options.formats)
            if as_json:
                yield from (json.dumps(_explanation(str(source.path), row), ensure_ascii=False) for row in rows)
                continue
            yield f"{source.path}: {len(lines)} lines looked at; {_dialect(dialect)}"
            for row in rows:
                yield from _shown(row)


def _dialect(dialect: Dialect) -> str:
    parts = [f"accepted {', '.join(dialect.prefixes)}"] if dialect.prefixes else ["no prefix that needs proof"]
    refused = [name for key, name in dialect.rest if key == "refused"]
    if refused:
        parts.append(f"taken for text: {', '.join(refused)}")
    return "; ".join(parts)


def _shown(row: Row) -> Iterator[str]:
    yield f"\n{row.lines:>7} × {_plain(row.example.decode('utf-8', 'replace'))[:WIDEST]}"
    for part in row.parts:
        fields = "  ".join(f"{name}={_plain(value)}" for name, value in part.fields)
        yield f"          {part.start:>3}-{part.end:<4} {part.layer:<9}{part.format:<24}{fields}".rstrip()
    yield f"          {row.text_at:>3}-     message" + (f", cut at {list(row.cuts)}" if row.cuts else "")


def _explanation(path: str, row: Row) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "path": path,
        "lines": row.lines,
        "example": row.example.decode("utf-8", "replace"),
        "parts": [
            {"format": p.format, "layer": p.layer, "start": p.start, "end": p.end, "fields": dict(p.fields)}
            for p in row.parts
        ],
        "message": row.text_at,
        "cuts": list(row.cuts),
    }


def _plain(text: str) -> str:
    """Return text without control characters: a log must not drive the terminal."""
    return "".join(c if c.isprintable() else "·" for c in text)
