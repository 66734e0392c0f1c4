"""How right the diagnosis is on simulated jobs of a size: every scenario, on seeds of your choice.

usage: python -m tests.bench.simulator [--ranks 1024] [--seeds 1,2] [--scenario NAME]... [--results FILE]

One job at a time is written beside a healthy one of its kind, scored by score.py and deleted: a run needs room for two
jobs. Rows go to --results as they come, and a run that was stopped goes on where it ended. Each seed draws a style and
a layout for every scenario. Exit 1 where a figure misses its bar.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from l4tui.demo import LAYOUTS, STYLES, scenarios, write

Row = dict[str, Any]
SCORE = Path(__file__).parents[3] / "shared" / "tools" / "score.py"
HEALTHY = 1_000_003  # added to a seed: another job
TIMEOUT_S = 1800


class Draw(NamedTuple):
    """One job to score."""

    scenario: str
    seed: int
    style: str
    layout: str

    @property
    def name(self) -> str:
        return f"{self.scenario}-{self.style}-{self.layout}-{self.seed}"


class Bar(NamedTuple):
    """A figure and what it has to reach."""

    name: str
    value: float | None
    least: float

    @property
    def is_met(self) -> bool:
        return self.value is None or self.value >= self.least


def draws(seeds: list[int], wanted: list[str]) -> Iterator[Draw]:
    """Choose a style and a layout for every scenario and seed."""
    for seed in seeds:
        chance = random.Random(seed)
        for name in scenarios():
            style, layout = chance.choice(list(STYLES)), chance.choice(list(LAYOUTS))
            if not wanted or name in wanted:
                yield Draw(name, seed, style, layout)


def score(draw: Draw, folder: Path, args: argparse.Namespace) -> Row:
    """Write a job and a healthy one, score the first."""
    kind = {"ranks": args.ranks, "nodes": args.nodes or max(1, args.ranks // 8)}
    kind |= {"style": draw.style, "layout": draw.layout, "iterations": args.iterations}
    write(folder / "healthy", "healthy", seed=draw.seed + HEALTHY, **kind)
    (folder / "healthy" / "truth.json").unlink()  # no case of its own
    write(folder / draw.name, draw.scenario, seed=draw.seed, baseline="healthy", **kind)
    command = [sys.executable, str(args.score), "--json", "--verbose", "--timeout", str(TIMEOUT_S)]
    command += ["--l4tui", args.l4tui, "--ranker", args.ranker, *(["--no-baseline"] if args.no_baseline else [])]
    done = subprocess.run([*command, str(folder / draw.name)], capture_output=True, text=True, check=True)
    row: Row = json.loads(done.stdout)["cases"][0]
    return {**row, **draw._asdict()}


def run(args: argparse.Namespace) -> list[Row]:
    """Score what has no row yet; return the rows of everything asked for."""
    wanted = list(draws(args.seeds, args.scenario))
    rows: dict[Draw, Row] = {}
    if args.results.exists():
        for line in args.results.read_text().splitlines():
            row = json.loads(line)
            rows[Draw(*(row[name] for name in Draw._fields))] = row
    for draw in [d for d in wanted if d not in rows]:
        folder = Path(tempfile.mkdtemp(prefix="l4tui-simulated-", dir=args.folder))
        try:
            rows[draw] = score(draw, folder, args)
        finally:
            if not (args.keep and draw in rows and falls_short(rows[draw])):
                shutil.rmtree(folder)
        with args.results.open("a") as file:
            file.write(json.dumps(rows[draw]) + "\n")
        words = f"{len(rows)}/{len(wanted)} {draw.name} {rows[draw].get('seconds', '')} s"
        print(words, *falls_short(rows[draw]), file=sys.stderr)
    return [rows[draw] for draw in wanted]


def bars(rows: list[Row]) -> list[Bar]:
    """Return the figures as score.py defines them, over all rows, beside their bars."""

    def share(key: str, test: Callable[[Any], bool]) -> float | None:
        have = [row[key] for row in rows if key in row]
        return sum(map(test, have)) / len(have) if have else None

    def total(key: str) -> int:
        return sum(row.get(key) or 0 for row in rows)

    def top(n: int) -> Callable[[Any], bool]:
        return lambda at: at is not None and at <= n

    found, said, asked = total("event_tp"), total("event_said"), total("group_asked")
    precision, recall = found / max(said, 1), total("group_found") / max(asked, 1)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return [
        Bar("event F1", f1 if asked or said else None, 0.95),
        Bar("rank Top-1", share("rank_at", top(1)), 0.9),
        Bar("rank Top-5", share("rank_at", top(5)), 0.98),
        Bar("node Top-1", share("node_at", top(1)), 0.92),
        Bar("stage", share("stage_right", bool), 0.95),
        Bar("iteration", share("iteration_right", bool), 0.9),
        Bar("no false alarm", share("false_alarm", lambda alarm: not alarm), 1.0),
        Bar("no victim called root", share("victims_called_root", lambda count: not count), 1.0),
        Bar("no definite rank wrong", share("wrong_definite", lambda count: not count), 1.0),
        Bar("nothing crashed", sum("error" not in row for row in rows) / len(rows), 1.0),
    ]


def falls_short(row: Row) -> list[str]:
    """Return in what a job misses the bars, and how it crashed."""
    return [*(bar.name for bar in bars([row]) if not bar.is_met), *([row["error"]] if "error" in row else [])]


def main() -> int:
    """Score, print the figures and the jobs that fall short."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.simulator", description=__doc__)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--nodes", type=int, help="default: 8 ranks a node")
    parser.add_argument("--iterations", type=int, default=120)
    parser.add_argument("--seeds", type=lambda words: [int(word) for word in words.split(",")], default=[1, 2])
    parser.add_argument("--scenario", action="append", default=[])
    parser.add_argument("--ranker", default="blame")
    parser.add_argument("--no-baseline", action="store_true")
    parser.add_argument("--l4tui", default="l4tui", help="command to score")
    parser.add_argument("--score", type=Path, default=SCORE, help="score.py")
    parser.add_argument("--results", type=Path, default=Path("simulated.jsonl"))
    parser.add_argument("--folder", type=Path, help="where jobs are written")
    parser.add_argument("--keep", action="store_true", help="keep the logs of jobs that fall short")
    args = parser.parse_args()
    rows = run(args)
    print(f"{len(rows)} jobs of {args.ranks} ranks, {len(scenarios())} scenarios, seeds {args.seeds}")
    for bar in bars(rows):
        print(f"{bar.name:<24} {'' if bar.value is None else round(bar.value, 3)!s:<6} bar {bar.least}")
    for row in rows:
        if short := falls_short(row):
            print(f"{row['case']}: {', '.join(short)}")
    return int(not all(bar.is_met for bar in bars(rows)))


if __name__ == "__main__":
    sys.exit(main())
