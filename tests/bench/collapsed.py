"""What a key costs in the collapsed lens, in a real terminal of 120×40, on a log that rests and on one that grows.

    python -m tests.bench.collapsed FOLDER [--follow]

FOLDER: `l4tui demo --write FOLDER --ranks 1024 --bytes 1.3GB` for 10 million lines. Prints the cost of building the
rows, then per key: milliseconds until the first and until the last thing is drawn, and CPU of the process. On a busy
machine only the CPU means something. With --follow, 2,000 lines a second are appended to a copy of the last file.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from pathlib import Path

from l4tui.engine.discovery import discover
from l4tui.engine.divergence import survey
from l4tui.engine.job import Job
from l4tui.engine.outline import Folds, Outline
from l4tui.engine.rows import RowBuilder
from tests.bench.processes import cpu_seconds
from tests.l4tui.tty import Terminal

ROUNDS = 5
QUIET_S = 0.4  # nothing is drawn for so long: the key has been done
KEYS = (
    ("j", "j"),
    ("k", "k"),
    ("PgDn", "\x1b[6~"),
    ("PgUp", "\x1b[5~"),
    ("z (fold)", "z"),
    ("z (unfold)", "z"),
    ("Z (fold all)", "Z"),
    ("Z (unfold all)", "Z"),
    ("d", "d"),
    ("g", "g"),
    ("Enter (unfold row)", "\r"),
    ("Enter (fold row)", "\r"),
    ("n", "n"),
    ("N", "N"),
    ("G", "G"),
)


def engine(folder: Path) -> None:
    """Time the rows, the survey and the outline."""
    job = Job(discover([str(folder)]).whole().sources)
    job.read_all()
    snap = job.snapshot()
    spent = [time.process_time()]

    def lap(name: str) -> None:
        spent.append(time.process_time())
        took = spent[-1] - spent[-2]
        print(f"{name:22} {took * 1e3:9.1f} ms {took / snap.length * 1e9:7.0f} ns a line")

    table = RowBuilder().update(snap)
    lap(f"rows of {snap.length:,} lines")
    found = survey(snap, table)
    lap(f"survey, {len(found.stops)} stops")
    outline = Outline(table)
    lap(f"outline of {outline.length:,}")
    Outline(table, None, Folds(True))
    lap("all folded")


class Bench:
    """A terminal whose keys are timed."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.terminal = Terminal([*flags, "--no-cache", str(folder)], size=(120, 40))
        self.rest(600)

    def rest(self, most: float) -> None:
        """Wait until the process does nothing any more."""
        until, before = time.monotonic() + most, -1.0
        while (now := cpu_seconds(self.terminal.pid)) - before > 0.1 and time.monotonic() < until:
            before = now
            self.terminal.read(3.0)

    def press(self, keys: str) -> tuple[float, float, float]:
        """Give (ms to the first byte, ms to the last, ms of CPU)."""
        terminal = self.terminal
        terminal.read(0.2)
        spent, began = cpu_seconds(terminal.pid), time.monotonic()
        terminal.send(keys)
        first = last = 0.0
        while terminal.has_drawn(QUIET_S) and time.monotonic() - began < 5:
            last = time.monotonic() - began
            first = first or last
            terminal.read(0.001)
        return first * 1e3, last * 1e3, (cpu_seconds(terminal.pid) - spent) * 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.collapsed", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--follow", action="store_true")
    args = parser.parse_args()
    if not args.follow:
        engine(args.folder)
    bench = Bench(args.folder, *([] if args.follow else ["--no-follow"]))
    stop = threading.Event()
    if args.follow:
        threading.Thread(target=_write, args=(max(args.folder.glob("*.log")), stop), daemon=True).start()
    try:
        for name, keys in (("/ search", "/iteration 7\r"), ("& filter", "&loss\r"), ("Backspace", "\x7f")):
            told = bench.press(keys)
            print(f"{name:20} first {told[0]:6.0f} ms  last {told[1]:6.0f} ms  CPU {told[2]:6.0f} ms")
            bench.rest(30 if not args.follow else 3)
        times: dict[str, list[tuple[float, float, float]]] = {}
        bench.terminal.send("g")
        for _ in range(ROUNDS):
            for name, keys in KEYS:
                times.setdefault(name, []).append(bench.press(keys))
        for name, told_all in times.items():
            middle = [statistics.median(column) for column in zip(*told_all, strict=True)]
            worst = max(row[0] for row in told_all)
            print(f"{name:20} first {middle[0]:5.0f} (worst {worst:.0f}) last {middle[1]:5.0f} CPU {middle[2]:5.0f} ms")
    finally:
        stop.set()
        bench.terminal.close()


def _write(path: Path, stop: threading.Event) -> None:
    """Append lines like the last ones, 2,000 a second."""
    lines = path.read_bytes()[-2_000_000:].split(b"\n")[1:-1]
    at = 0
    with path.open("ab", buffering=0) as out:
        while not stop.wait(0.05):
            out.write(b"".join(line + b"\n" for line in lines[at : at + 100]))
            at = (at + 100) % len(lines)


if __name__ == "__main__":
    os.environ.pop("L4TUI_DEBUG", None)
    main()
