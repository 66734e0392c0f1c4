"""`l4tui library`: list, add, test, export and import what is known of failures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from l4tui.config import Config
from l4tui.exits import Exit, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from l4tui.engine.library import Pattern


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("action", choices=("list", "add", "test", "export", "import"), help="what to do")
    parser.add_argument("words", nargs="*", metavar="WORD", help="add ID REGEX · test [LOG…] · import FILE…")
    parser.add_argument("--meaning", default="", help="add: what it means")
    parser.add_argument("--cause", default="unknown", help="add: a cause of the report, as in oom_gpu")
    parser.add_argument("--role", default="initiating", help="add: initiating, cascade, teardown or context")
    parser.add_argument("--blames", default="writer", help="add: writer, subject, peer, node, job or nobody")
    parser.add_argument("--stage", default="", help="add: the stage it belongs to")
    parser.add_argument(
        "--do", dest="actions", action="append", default=[], metavar="WORDS", help="add: what to do; repeatable"
    )
    parser.add_argument(
        "--sample", action="append", default=[], metavar="LINE", help="add: a line it must match; repeatable"
    )
    parser.add_argument("--all", action="store_true", help="export: the shipped entries too")
    parser.add_argument("-o", "--output", metavar="FILE", help="export: write there instead of standard output")


def run(args: argparse.Namespace, config: Config) -> int:
    """Run the verb."""
    from l4tui.engine.library import PatternError

    verbs = {"list": _list, "add": _add, "test": _test, "export": _export, "import": _import}
    try:
        return verbs[args.action](args)
    except (PatternError, OSError) as error:
        raise UsageError(str(error)) from None


def _list(args: argparse.Namespace) -> int:
    from l4tui.engine.library import load

    for p in load().patterns:
        sys.stdout.write(f"{'own ' if p.user else ''}{p.id}\t{p.role}\t{p.cause}\t{p.meaning}\n")
    return Exit.OK


def _add(args: argparse.Namespace) -> int:
    from l4tui.engine.library.editing import add
    from l4tui.engine.library.pattern import parse_pattern

    if len(args.words) != 2:
        raise UsageError("write: l4tui library add ID REGEX")
    name, regex = args.words
    entry: dict[str, object] = {
        field: getattr(args, field) for field in ("cause", "role", "blames", "stage", "actions")
    }
    entry |= {"id": name, "pattern": regex, "meaning": args.meaning or name, "samples": args.sample}
    add(parse_pattern(entry, user=True))
    return Exit.OK


def _test(args: argparse.Namespace) -> int:
    from l4tui.engine.library import load
    from l4tui.engine.library.editing import check

    library, bad = load(), False
    for warning in library.warnings:
        sys.stdout.write(f"{warning}\n")
        bad = True
    for pattern in (p for p in library.patterns if p.user):
        problems = check(pattern).problems
        bad = bad or bool(problems)
        sys.stdout.write(f"{pattern.id}\t{'; '.join(problems) or 'ok'}\n")
    for name in args.words:
        _match(name, library.patterns)
    return Exit.FOUND if bad else Exit.OK


def _match(name: str, patterns: Iterable[Pattern]) -> None:
    from l4tui.engine.library.pattern import zero_digits

    with Path(name).open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            zeroed = zero_digits(line)
            hit = next((p for p in patterns if p.may_match(zeroed) and p.search(line.rstrip("\n"))), None)
            if hit is not None:
                sys.stdout.write(f"{name}:{number}\t{hit.id}\t{hit.role}\n")


def _export(args: argparse.Namespace) -> int:
    from l4tui.engine.library import load
    from l4tui.engine.library.editing import dump

    text = dump(p for p in load().patterns if p.user or args.all)
    if args.output:
        Path(args.output).write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
    return Exit.OK


def _import(args: argparse.Namespace) -> int:
    from l4tui.engine.library.editing import import_file

    if not args.words:
        raise UsageError("write: l4tui library import FILE…")
    for name in args.words:
        for taken in import_file(Path(name)):
            sys.stdout.write(f"{taken}\n")
    return Exit.OK
