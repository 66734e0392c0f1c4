"""`l4tui demo`: a simulated training job that fails, live on the screen or written to a folder."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from l4tui.config import Config, size
from l4tui.demo.names import LAYOUTS, READY, STYLES
from l4tui.exits import Exit, UsageError
from l4tui.signals import held, temporary_folder

DEFAULT = "oom-gpu"
APART = 10_000  # seeds that give different starting hours
PATIENCE_S = 5.0  # after which the first lines of a large job are shown, its history on their heels
MANY = 256  # ranks from which a person waits long enough to wonder
OpenTui = Callable[[Path, "subprocess.Popen[bytes]"], int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("named", metavar="SCENARIO", nargs="?", help="what goes wrong, as in --scenario")
    parser.add_argument("--list", action="store_true", help="list the scenarios, styles and layouts")
    parser.add_argument("--scenario", metavar="NAME", default=DEFAULT, help=f"what goes wrong (default: {DEFAULT})")
    parser.add_argument("--ranks", metavar="N", type=int, default=64, help="ranks of the job (default: 64)")
    parser.add_argument("--nodes", metavar="N", type=int, help="nodes of the job (default: up to 8 ranks a node)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another seed is another job (default: 0)")
    parser.add_argument("--rate", metavar="X", type=float, default=1.0, help="simulated seconds a second (default: 1)")
    parser.add_argument("--style", choices=list(STYLES), default="python", help="how the program logs")
    parser.add_argument("--layout", choices=list(LAYOUTS), default="torchrun", help="launcher and files")
    parser.add_argument("--write", metavar="DIR", type=Path, help="write the finished job and its truth.json, then end")
    parser.add_argument("--bytes", metavar="SIZE", help="with --write: size of the log, as in 1GB")
    parser.add_argument("--plain", action="store_true", help="write the live job to standard output, without a screen")


def run(args: argparse.Namespace, config: Config, open_tui: OpenTui | None = None) -> int:
    """List, write or show a simulated job."""
    if args.list:
        return list_all()
    args.scenario = args.named or args.scenario
    if args.ranks < 1:
        raise UsageError(f"--ranks: expects a number above 0, not {args.ranks}")
    nodes = args.nodes or args.ranks // next((n for n in range(8, 1, -1) if args.ranks % n == 0), 1)
    check(args, nodes)
    if args.write:
        return write_job(args, nodes)
    if args.bytes:
        raise UsageError("--bytes needs --write DIR")
    if args.plain:
        return subprocess.run(child_command(args, nodes, None), check=False).returncode
    return show(args, nodes, open_tui or screen_opener(config))


def list_all() -> int:
    from l4tui.demo.faults import scenarios  # loads numpy: 260 ms CPU

    for title, rows in (
        ("scenarios", {name: row.summary for name, row in scenarios().items()}),
        ("styles", STYLES),
        ("layouts", LAYOUTS),
    ):
        width = max(map(len, rows))
        print(f"{title}:", *(f"  {name:<{width}}  {words}" for name, words in rows.items()), sep="\n")
    return Exit.OK


def check(args: argparse.Namespace, nodes: int) -> None:
    """Raise UsageError for a job that cannot be simulated."""
    from l4tui.demo.job import Spec
    from l4tui.demo.play import prepare

    if args.seed < 0:
        raise UsageError("--seed must not be negative")
    try:
        prepare(Spec(args.scenario, args.ranks, nodes, args.seed))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.rate <= 0:
        raise UsageError("--rate must be above 0")


def write_job(args: argparse.Namespace, nodes: int) -> int:
    from l4tui.demo.ink import SECOND
    from l4tui.demo.job import START
    from l4tui.demo.writing import write

    if args.write.is_dir() and any(args.write.iterdir()):
        raise UsageError(f"{args.write}: not empty; name a new folder")
    wanted = parse_size(args.bytes) if args.bytes else None
    kind = {"ranks": args.ranks, "nodes": nodes, "seed": args.seed, "style": args.style, "layout": args.layout}
    start = START + args.seed % APART * 3600 * SECOND  # two jobs in one folder are known by when they began
    try:
        truth = write(args.write, args.scenario, start=start, bytes_wanted=wanted, **kind)
    except OSError as error:
        raise UsageError(f"{args.write}: {error.strerror}") from None
    print(
        f"{args.write}: {truth['line_count']} lines, scenario {args.scenario}, truth.json beside them", file=sys.stderr
    )
    return Exit.OK


def parse_size(text: str) -> int:
    """Read a size such as 1GB or 300 MB; raise UsageError for what is none."""
    try:
        return size(text)
    except ValueError as error:
        raise UsageError(f"--bytes: {error}, not {text!r}") from None


def child_command(args: argparse.Namespace, nodes: int, directory: Path | None) -> list[str]:
    """Return the command of the process that writes the live job; without a folder it writes to its output."""
    command = [sys.executable, "-m", "l4tui.demo", str(directory) if directory else "-"]
    command += [
        "--scenario",
        args.scenario,
        "--ranks",
        str(args.ranks),
        "--nodes",
        str(nodes),
        "--seed",
        str(args.seed),
    ]
    return [*command, "--rate", str(args.rate), "--style", args.style, "--layout", args.layout]


def show(args: argparse.Namespace, nodes: int, open_tui: OpenTui) -> int:
    """Start the writer, open the screen on its folder, end the writer with the screen."""
    child: subprocess.Popen[bytes] | None = None
    with temporary_folder("l4tui-demo-") as name:
        folder = Path(name) / args.scenario  # the screen names a job by its folder
        folder.mkdir()
        command, null = child_command(args, nodes, folder), subprocess.DEVNULL
        if args.ranks >= MANY:
            print(f"l4tui: simulating the first minutes of {args.ranks:,} ranks", file=sys.stderr)
        try:
            with held():
                child = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
            wait_for_lines(folder, child)
            return open_tui(folder, child)
        finally:
            if child is not None:
                end(child)


def end(child: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and make it."""
    child.terminate()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def wait_for_lines(folder: Path, child: subprocess.Popen[bytes]) -> None:
    """Return when the job's history stands in the folder; after a while, as for thousands of ranks, its first lines do.

    Raises:
        UsageError: the writer has ended without a line.
    """
    ready, late = folder / READY, time.monotonic() + PATIENCE_S
    while not ready.exists():
        ended = child.poll() is not None
        if (ended or time.monotonic() >= late) and has_lines(folder):
            break
        if ended:
            raise UsageError(f"the simulated job ended without a line (exit code {child.returncode})")
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.05)
    ready.unlink(missing_ok=True)


def has_lines(folder: Path) -> bool:
    """Say whether any file in a folder holds anything."""
    return any(path.is_file() and path.stat().st_size for path in folder.rglob("*"))


def screen_opener(config: Config) -> OpenTui:
    """Return what opens the screen on a folder."""

    def open_folder(folder: Path, child: subprocess.Popen[bytes]) -> int:
        from l4tui.screen import open_screen

        return open_screen([str(folder)], config)

    return open_folder
