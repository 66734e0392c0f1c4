"""What l4tui costs, beside its peers on the same files in the same run.

usage: python -m tests.bench [--bytes 1GB] [--ranks 256] [--folder DIR] [--screen] [--peers VENV]

Logs come from the demo's simulator and stay in --folder for the next run. Peers that are not installed are left out:
lnav, less, grep and wc from the PATH, drain3 from this environment, toolong and logmerger from the environment --peers.
What has a screen is run on a terminal until it uses no more CPU: that is when a person has the file before them.
CPU seconds are those of the process and of all its children, RSS is the sum over them, sampled.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tests.bench.peers import peers
from tests.bench.processes import Cost, measure


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    cost: Cost
    size: int  # bytes of text
    note: str = ""

    def text(self, unit: float) -> str:
        """Lay the row out; `unit`: MB per CPU second of what it is compared with."""
        speed = self.size / 1e6 / max(self.cost.cpu, 1e-9)
        return (
            f"| {self.name:<44} | {self.cost.wall:7.2f} | {self.cost.cpu:7.2f} | {speed:8.0f} | {speed / unit:6.2f} "
            f"| {self.cost.rss / 1e6:6.0f} | {self.note} |"
        )


def logs(folder: Path, size: str, ranks: int) -> list[Path]:
    """Write the logs unless they are there; return the files."""
    place = folder / f"{size}-{ranks}"
    if not place.is_dir():
        words = ["demo", "--write", str(place), "--bytes", size, "--ranks", str(ranks)]
        subprocess.run([sys.executable, "-m", "l4tui", *words], check=True, stdout=subprocess.DEVNULL)
    return sorted(place.glob("*.log"))


def ours(files: list[Path], cache: Path) -> list[Row]:
    """Measure l4tui's own commands."""
    size = sum(file.stat().st_size for file in files)
    paths = [str(file) for file in files]
    rows = []

    def run(name: str, *words: str) -> None:
        cost = measure([sys.executable, "-m", "l4tui", *words, *paths])
        told = json.loads(cost.output) if words[0] == "index" else {}
        rows.append(Row(name, cost, size, f"{told['bytes_per_line']} B/line" if told else ""))

    run("l4tui index, one process", "index", "--no-cache", "--jobs", "1")
    run("l4tui index, a process a core", "index", "--no-cache")
    run("l4tui index, index kept", "index", "--cache-dir", str(cache))
    run("l4tui index, reopened", "index", "--cache-dir", str(cache))
    run("l4tui report", "report", "--no-cache", "--format", "json")
    return rows


def table(rows: list[Row]) -> str:
    """Lay the rows out under a head; ratios are to l4tui in one process."""
    unit = rows[0].size / 1e6 / rows[0].cost.cpu
    head = "| | wall s | CPU s | MB/CPU s | ratio | RSS MB | |\n|---|---:|---:|---:|---:|---:|---|"
    return "\n".join([head, *(row.text(unit) for row in rows)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--bytes", default="1GB", dest="size")
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "l4tui-bench")
    parser.add_argument("--screen", action="store_true", help="measure the screen as well (a minute)")
    parser.add_argument("--peers", type=Path, help="an environment with toolong and logmerger")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    files = logs(args.folder, args.size, args.ranks)
    one = args.folder / f"{args.size}-{args.ranks}.one"
    if not one.exists():
        with one.open("wb") as out:
            for file in files:
                with file.open("rb") as source:
                    shutil.copyfileobj(source, out, 1 << 20)
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    print(f"{date.today()}, {platform.machine()}, {cores} cores, load {load:.1f}, Python {platform.python_version()}")
    print(f"{sum(file.stat().st_size for file in files):,} bytes in {len(files)} files, {args.ranks} ranks\n")
    with tempfile.TemporaryDirectory() as cache:
        print(table([*ours(files, Path(cache)), *(Row(*peer) for peer in peers(files, one, args.peers))]))
    if args.screen:
        from tests.bench.screen import screen_table

        print("\n" + screen_table(files))


if __name__ == "__main__":
    main()
