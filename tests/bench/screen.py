"""How quick the screen is in a real terminal of 120×40: keys, new lines, rest, bytes.

`python -m tests.bench.screen --folder LOGS` presses every key on logs that are there: while their rows are gathered
(or they are indexed, where no index is kept), and again when nothing is computed any more.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from pathlib import Path

from tests.bench.processes import cpu_seconds
from tests.l4tui.tty import Terminal

KEYS = 40
FOLLOWED_S = 8.0
IDLE_S = 10.0
RATE = 2000  # lines a second while following
MANY = 4096  # files that are followed at rest
QUIET = 3  # looks of 3 s in a row that find the app at rest
MOST_S = 20.0  # after which a key is given up
# each of them changes what is shown: up from the end first
PRESSED = ("kkkkkkkk", "jjjjjjj", "bbbb", "gGgGgG", "kOOoO", "dddd", "DDD", "zz", "ZZ", "eEe")


def screen_table(files: list[Path]) -> str:
    """Measure all and lay it out."""
    rows = [*_large(files), *_following(), *_many()]
    return "\n".join(["| screen, 120×40 | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows)])


def _large(files: list[Path]) -> list[tuple[str, str]]:
    terminal = Terminal(["--no-follow", *map(str, files)], size=(120, 40))
    try:
        first = _first_paint(terminal)
        terminal.wait_for(lambda _: b"\x1b[?1049h" in terminal.received, 30.0)
        mounted = cpu_seconds(terminal.pid)
        settle(terminal)
        rest(terminal)
        idle = _idle(terminal, IDLE_S)
        delays = sorted(key_to_paint(terminal, key) for key in ("k", "j") * (KEYS // 2))
        return [
            ("first paint, wall", f"{first:.2f} s"),
            ("CPU when the app takes the screen", f"{mounted:.2f} s"),
            ("key to paint, median", f"{statistics.median(delays) * 1e3:.0f} ms"),
            ("key to paint, slowest of 40", f"{delays[-1] * 1e3:.0f} ms"),
            ("idle", f"{idle:.2%} of a core"),
        ]
    finally:
        terminal.close()


def _first_paint(terminal: Terminal) -> float:
    began = time.monotonic()
    while not terminal.text.strip() and time.monotonic() - began < 30:
        terminal.read(0.02)
    return time.monotonic() - began


def settle(terminal: Terminal, quiet: float = 3.0, most: float = 300.0) -> None:
    """Wait until nothing is drawn any more: all is indexed."""
    until = time.monotonic() + most
    while terminal.read(quiet) and time.monotonic() < until:
        pass


def rest(terminal: Terminal, most: float = 300.0) -> None:
    """Wait until nothing is computed any more, for as long as a judge may stand back: the job has been judged."""
    until = time.monotonic() + most
    before, quiet = cpu_seconds(terminal.pid), 0
    while quiet < QUIET and time.monotonic() < until:
        terminal.read(3.0)
        now = cpu_seconds(terminal.pid)
        before, quiet = now, quiet + 1 if now - before < 0.1 else 0


def key_to_paint(terminal: Terminal, key: str, most: float = 2.0) -> float:
    terminal.read(0.15)
    began = time.monotonic()
    terminal.send(key)
    terminal.has_drawn(most)
    return time.monotonic() - began


def keys_table(folder: Path, options: list[str]) -> str:
    """Press keys as soon as there are rows, and at rest; lay out median and slowest of each, with the CPU spent."""
    terminal = Terminal(["--no-follow", *options, str(folder)], size=(120, 40))
    try:
        terminal.wait_for(lambda text: "iteration" in text, 600.0)
        rows = _pressed(terminal, "busy")
        settle(terminal)
        rest(terminal)
        rows += _pressed(terminal, "at rest")
    finally:
        terminal.close()
    head = "| keys | when | median | slowest | CPU |\n|---|---|---:|---:|---:|"
    return "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])


def _pressed(terminal: Terminal, when: str) -> list[tuple[str, ...]]:
    rows = []
    for keys in PRESSED:
        spent = cpu_seconds(terminal.pid)
        delays = [key_to_paint(terminal, key, MOST_S) for key in keys]
        spent = cpu_seconds(terminal.pid) - spent
        shown = " ".join(dict.fromkeys(keys))
        median, slowest = (f"{at * 1e3:.0f} ms" for at in (statistics.median(delays), max(delays)))
        rows.append((shown, when, median, slowest, f"{spent:.2f} s"))
    return rows


def _following() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        path.write_text("".join(f"[rank{k % 8}]: step {k} began\n" for k in range(2000)))
        terminal = Terminal([str(path)], size=(120, 40))
        try:
            settle(terminal)
            terminal.send("G")
            settle(terminal, 1.0)
            delays = [_appears(terminal, path, f"needle{n}x") for n in range(5)]
            stop = threading.Event()
            writer = threading.Thread(target=_write, args=(path, stop))
            writer.start()
            drawn = terminal.read(FOLLOWED_S)
            stop.set()
            writer.join()
        finally:
            terminal.close()
    return [
        ("line to screen, median", f"{statistics.median(delays) * 1e3:.0f} ms"),
        (f"to the terminal while following {RATE} lines/s", f"{drawn / FOLLOWED_S / 1e3:.0f} kB/s"),
    ]


def _many() -> list[tuple[str, str]]:
    """Follow as many files as a large job has, none of which grows any more."""
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(MANY):
            text = "".join(f"2026-05-01 10:00:{second:02} INFO step {second} began\n" for second in range(60))
            Path(folder, f"rank-{rank}.log").write_text(text)
        terminal = Terminal(["--no-cache", folder], size=(120, 40))
        try:
            settle(terminal)
            rest(terminal)
            return [(f"idle, following {MANY:,} files", f"{_idle(terminal, 3 * IDLE_S):.2%} of a core")]
        finally:
            terminal.close()


def _idle(terminal: Terminal, seconds: float) -> float:
    """Return the share of a core that is used while nothing happens."""
    spent, began = cpu_seconds(terminal.pid), time.monotonic()
    while time.monotonic() - began < seconds:
        terminal.read(1.0)
    return (cpu_seconds(terminal.pid) - spent) / (time.monotonic() - began)


def _appears(terminal: Terminal, path: Path, word: str) -> float:
    terminal.read(0.5)
    with path.open("a") as file:
        file.write(f"[rank0]: {word}\n")
    return terminal.wait_for(lambda text: word in text, 20.0)


def _write(path: Path, stop: threading.Event) -> None:
    number = 0
    with path.open("a") as file:
        while not stop.wait(0.05):
            file.writelines(f"[rank{k % 8}]: step {k} took {k % 977} ms\n" for k in range(number, number + RATE // 20))
            file.flush()
            number += RATE // 20


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="press keys on logs that are there")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cache-dir", default="", help="where an index of them is kept, or will be")
    told = parser.parse_args()
    print(keys_table(told.folder, ["--cache-dir", told.cache_dir] if told.cache_dir else ["--no-cache"]))
