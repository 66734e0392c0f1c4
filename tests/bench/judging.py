"""How quick keys are while a large job is judged: `python -m tests.bench.judging [--bytes 160MB] [--ranks 1024]`.

A job on which the screen is open grows, so it is judged again and again; keys are pressed meanwhile, and each is
timed to the next bytes on the terminal. A key counts as pressed during a judgement when the app's child processes used
CPU meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.bench.__main__ import logs
from tests.bench.processes import cpu_seconds, tree
from tests.bench.screen import key_to_paint, rest, settle
from tests.l4tui.tty import Terminal

KEYS = 200
RATE = 400  # lines a second that are written meanwhile
TICK_S = 0.1


def measure(folder: Path) -> tuple[list[float], list[float], float]:
    """Return the delays of keys while nothing is judged and while something is (s), and the judge's CPU seconds."""
    terminal = Terminal([str(folder)], size=(120, 40))
    stop = threading.Event()
    try:
        settle(terminal)
        rest(terminal)
        writer = threading.Thread(target=_grow, args=(sorted(folder.glob("*.log"))[0], stop))
        writer.start()
        calm: list[float] = []
        judged: list[float] = []
        spent = begun = _spent(terminal.pid)
        for number in range(KEYS):
            delay = key_to_paint(terminal, "kj"[number % 2])
            before, spent = spent, _spent(terminal.pid)
            (judged if spent > before else calm).append(delay)
        stop.set()
        writer.join()
        return calm, judged, spent - begun
    finally:
        stop.set()
        terminal.close()


def _spent(pid: int) -> float:
    """Return the CPU seconds of a process's children: reading what a file grows by starts none, judging does."""
    total = 0.0
    for child in tree(pid)[1:]:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            total += cpu_seconds(child)
    return total


def _grow(path: Path, stop: threading.Event) -> None:
    """Write a file's last lines again and again."""
    lines = path.read_bytes().splitlines(keepends=True)[-RATE:]
    with path.open("ab") as file:
        while not stop.wait(TICK_S):
            file.writelines(lines[: int(RATE * TICK_S)])
            file.flush()


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.judging", description=__doc__)
    parser.add_argument("--bytes", default="160MB", dest="size")
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "l4tui-bench")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    files = logs(args.folder, args.size, args.ranks)
    with tempfile.TemporaryDirectory() as name:
        for file in files:
            shutil.copy(file, name)
        began = time.monotonic()
        calm, judged, cpu = measure(Path(name))
    print(f"{args.size}, {args.ranks} ranks, {time.monotonic() - began:.0f} s, {cpu:.1f} CPU s of judging meanwhile")
    for words, delays in (("not judged", calm), ("judged", judged)):
        if delays:
            middle, worst = statistics.median(delays) * 1e3, max(delays) * 1e3
            print(f"key to paint, {words:<10} {len(delays):>4} keys  median {middle:.0f} ms  slowest {worst:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
