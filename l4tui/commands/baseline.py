"""`l4tui baseline add|list|remove`: healthy jobs kept by name, for `report --baseline NAME`."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING

from l4tui import options
from l4tui.config import Config
from l4tui.exits import Exit, UsageError

if TYPE_CHECKING:
    from l4tui.engine.job import Job
    from l4tui.engine.l4.crossjob import Profile

SCHEMA = "l4tui.baselines/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("action", choices=("add", "list", "remove"), help="what to do")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the baseline")
    options.add_paths(parser)
    parser.add_argument("--json", action="store_true", help="list as one JSON object a line")
    options.add_reading(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Add jobs to a baseline, list what is kept, or remove one."""
    from l4tui.engine.l4.baselines import BaselineError

    if args.action != "list" and args.name is None:
        raise UsageError(f"baseline {args.action}: which NAME?")
    if args.action == "add" and not args.paths:
        raise UsageError(f"baseline add {args.name}: which PATH holds the healthy job?")
    if args.action != "add" and args.paths:
        raise UsageError(f"baseline {args.action} takes no PATH")
    try:
        {"add": _add, "list": _list, "remove": _remove}[args.action](args, config)
    except BaselineError as error:
        raise UsageError(str(error)) from None
    return Exit.OK


def profiles(paths: list[str], config: Config) -> list[Profile]:
    """Read healthy jobs; paths that hold one job together are one."""
    from l4tui.engine.evidence.from_snapshot import journal_from
    from l4tui.engine.l4.crossjob import profile_of
    from l4tui.opening import open_jobs, read

    jobs = list(open_jobs(paths, config))
    found = []
    for name, job in jobs:
        found.append(profile_of(journal_from(read(job)), _name(job, name if len(jobs) > 1 else "")))
        job.release()  # one at a time is in memory
    return found


def _name(job: Job, name: str) -> str:
    """Name a job by where its files are, so that two of one file name are two."""
    places = [os.path.abspath(s.path) for s in job.sources if s.path != "-"]  # noqa: PTH100 -- keeps links as given
    place = os.path.commonpath(places) if places else "-"
    return f"{place}:{name}" if name else place


def _add(args: argparse.Namespace, config: Config) -> None:
    from l4tui.engine.l4.baselines import add, path_of
    from l4tui.opening import say

    path_of(args.name)  # a bad name is told before anything is read
    jobs = add(args.name, profiles(args.paths, config))
    say(f"baseline {args.name}: {len(jobs)} job{'s' if len(jobs) != 1 else ''}, {path_of(args.name)}")


def _list(args: argparse.Namespace, config: Config) -> None:
    from l4tui.engine.l4.baselines import load, names

    for name in [args.name] if args.name else names():
        for job in load(name):
            row = {"ranks": job.ranks, "iterations": job.iterations, "lines": job.lines, "events": len(job.events)}
            if args.json:
                print(json.dumps({"schema": SCHEMA, "baseline": name, "job": job.name, **row}, ensure_ascii=False))
            else:
                shown = "".join(c if c.isprintable() else "·" for c in job.name)
                print(f"{name}  {shown}  " + "  ".join(f"{n} {word}" for word, n in row.items()))


def _remove(args: argparse.Namespace, config: Config) -> None:
    from l4tui.engine.l4.baselines import remove

    remove(args.name)
