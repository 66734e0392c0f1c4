"""`l4tui slurm JOBID`: open the logs of a Slurm job, wherever Slurm put them."""

from __future__ import annotations

import argparse

from l4tui import options
from l4tui.config import Config
from l4tui.exits import Exit
from l4tui.slurm import log_paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("job", metavar="JOBID", help="4711, or 4711_3 for a task of an array")
    parser.add_argument("--print", action="store_true", help="print the paths instead of opening them")
    options.add_choosing(parser)
    options.add_reading(parser)
    options.add_screen(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Ask Slurm for the files; open or print them."""
    paths = log_paths(args.job)
    if args.print:
        print("\n".join(paths))
        return Exit.OK
    from l4tui.screen import open_screen

    return open_screen(paths, config)
