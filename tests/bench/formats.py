"""Cost of the formats: a parse, a detection, the search for tags in mid-line.

usage: python -m tests.bench.formats [LOG …]     (without logs: lines of our own under several launchers)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from l4tui.engine.formats import Parser, cut, detect, midline_suspects
from tests.engine.launcher_texts import lines_of

OURS = {
    "srun --label": lambda r: f"{r}: ",
    "torchrun --tee": lambda r: f"[default{r}]:",
    "srun × torchrun": lambda r: f"{r // 4}: [default{r % 4}]:",
    "Open MPI 4": lambda r: f"[1,{r}]<stdout>:",
    "Hydra": lambda r: f"[{r}] ",
    "no launcher": lambda r: "",
}


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call, the better of three."""
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def row(name: str, lines: list[bytes]) -> str:
    """Measure one log and return its line of the table."""
    dialect = detect(lines)
    parser = Parser(dialect)
    block = b"\n".join(line for line in lines if not cut(line, dialect)) + b"\n"
    block *= 1 + 2_000_000 // len(block)
    parse = seconds(lambda: [parser.parse(line) for line in lines]) / len(lines)
    found = seconds(lambda: detect(lines))
    looked = seconds(lambda: midline_suspects(block, dialect)) / len(block)
    cuts = seconds(lambda: [cut(line, dialect) for line in lines]) / len(lines)
    return f"{name:<40.40}{parse * 1e6:>10.1f}{found * 1e3:>12.1f}{looked * 1e9:>14.2f}{cuts * 1e6:>10.2f}"


def main(paths: list[str]) -> None:
    """Print the table."""
    print(f"{'log':<40}{'parse µs':>10}{'detect ms':>12}{'tags ns/byte':>14}{'cut µs':>10}")
    for path in paths:
        print(row(path[-40:], Path(path).read_bytes().split(b"\n")[:3000]))
    if not paths:
        for name, tag in OURS.items():
            print(row(name, [line for line, _, _ in lines_of(tag, 8)] * 5))


if __name__ == "__main__":
    main(sys.argv[1:])
