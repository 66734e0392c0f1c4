"""Other tools on the same text: those that print, those that are looked at in a terminal, and drain3 line by line."""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import select
import shutil
import signal
import struct
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench.processes import Cost, cpu_seconds, measure, resident, tree

STILL_S = 4.0  # a program in a terminal has done its work when it used no CPU for so long …
STILL_SHARE = 0.03  # … or less than this share of a core
MOST_S = 900.0
TAIL = 4096  # bytes of what was drawn last
DRAINED = 50_000  # lines given to drain3 one by one
RUN = 100  # of them in a row; the runs lie evenly through the file
# What the example configuration that comes with drain3 masks, without its masks for one product's messages.
EDGE_LEFT, EDGE_RIGHT = r"((?<=[^A-Za-z0-9])|^)", r"((?=[^A-Za-z0-9])|$)"
MASKS = {
    "IP": r"(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})",
    "HEX": r"(0x[a-f0-9A-F]+)",
    "NUM": r"([\-\+]?\d+)",
}


class Measured(NamedTuple):
    """A peer's cost on so many bytes of text."""

    name: str
    cost: Cost
    size: int
    note: str = ""


def peers(files: list[Path], one: Path, venv: Path | None) -> Iterator[Measured]:
    """Measure what is installed; `one` holds the text of all files."""
    size = one.stat().st_size
    printing = {
        "lnav -n -q (finds line ends, prints nothing)": ["lnav", "-n", "-q", "-c", ":goto 100%", str(one)],
        "lnav -n (prints every line)": ["lnav", "-n", str(one)],
        "grep -c 'iteration 77'": ["grep", "-c", "iteration 77", *map(str, files)],
        "wc -l": ["wc", "-l", *map(str, files)],
    }
    looked_at = {"lnav in a terminal, until it rests": ["lnav", str(one)], "less +G": ["less", "+G", str(one)]}
    if venv is not None:
        printing["logmerger (prints every line)"] = [str(venv / "bin" / "logmerger"), "--output", "-", *map(str, files)]
        looked_at["toolong in a terminal, until it rests"] = [str(venv / "bin" / "tl"), str(one)]
        looked_at["toolong --merge, until it rests"] = [str(venv / "bin" / "tl"), "--merge", *map(str, files)]
    for name, command in looked_at.items():
        if shutil.which(command[0]):
            cost, note = measure_screen(command)
            yield Measured(name, cost, size, note)
    for name, command in printing.items():
        if shutil.which(command[0]):
            cost = measure(command)
            yield Measured(name, cost, size, "" if not cost.code else f"gave up: exit {cost.code}")
    yield from drain3(one)


def measure_screen(command: list[str], most: float = MOST_S) -> tuple[Cost, str]:
    """Run a program on a terminal of 120×40 until it rests, then end it; return also what went wrong."""
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        pid, fd = pty.fork()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color", "HOME": home})
        used, peak, rests_since, last, drawn = 0.0, 0, began, began, b""
        while (now := time.monotonic()) - began < most and now - rests_since < STILL_S:
            drawn = (drawn + _read(fd, 1.0))[-TAIL:]
            spent = sum(map(_cpu, tree(pid)))
            peak = max(peak, sum(map(resident, tree(pid))))
            moment = time.monotonic()
            if spent - used > STILL_SHARE * (moment - last):
                rests_since = moment
            used, last = max(used, spent), moment
        note = "" if now - rests_since >= STILL_S else f"not at rest after {most:.0f} s"
        note = "crashed before its end" if b"crashed" in drawn or b"Traceback" in drawn else note
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)
    return Cost(rests_since - began, used, peak, ""), note


def _read(fd: int, seconds: float) -> bytes:
    drawn = b""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            continue
        try:
            data = os.read(fd, 1 << 16)
        except OSError:  # the other end is closed
            break
        drawn = (drawn + data)[-TAIL:]
    time.sleep(max(until - time.monotonic(), 0))
    return drawn


def _cpu(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except OSError:
        return 0.0


def sampled(path: Path, lines: int = DRAINED, run: int = RUN) -> list[bytes]:
    """Return runs of lines that lie evenly through a file."""
    size, runs = path.stat().st_size, max(lines // run, 1)
    found: list[bytes] = []
    with path.open("rb") as file:
        for k in range(runs):
            file.seek(size * k // runs)
            if k:
                file.readline()
            found += [line.rstrip(b"\n") for _ in range(run) if (line := file.readline())]
    return found


def drain3(one: Path) -> Iterator[Measured]:
    """Measure drain3 called for every line: as the lines are, and with the numbers in them masked."""
    lines = sampled(one)
    ours = our_events(lines)
    for name, masks in (("drain3, every line", {}), ("drain3 with its example's masks, every line", MASKS)):
        cost, groups = _mined(lines, masks)
        note = f"{len(set(groups)):,} templates of {len(lines):,} lines from all over the file; ours {len(set(ours))}"
        if len(ours) == len(groups):
            note += f", the same grouping to {_agreement(ours, groups):.2f}"
        yield Measured(name, cost, sum(len(line) + 1 for line in lines), note)


def _mined(lines: list[bytes], masks: dict[str, str]) -> tuple[Cost, list[int]]:
    from drain3 import TemplateMiner
    from drain3.masking import MaskingInstruction
    from drain3.template_miner_config import TemplateMinerConfig

    config = TemplateMinerConfig()
    config.masking_instructions = [
        MaskingInstruction(EDGE_LEFT + pattern + EDGE_RIGHT, name) for name, pattern in masks.items()
    ]
    miner = TemplateMiner(config=config)
    texts = [line.decode("utf-8", "replace") for line in lines]
    began, wall = time.process_time(), time.monotonic()
    groups = [miner.add_log_message(text)["cluster_id"] for text in texts]
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(time.monotonic() - wall, time.process_time() - began, rss, ""), groups


def our_events(lines: list[bytes]) -> list[int]:
    """Return the event that l4tui gives each of these lines."""
    from l4tui.engine.discovery import discover
    from l4tui.engine.job import Job
    from l4tui.engine.options import Options

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.log"
        path.write_bytes(b"\n".join(lines) + b"\n")
        job = Job(discover([str(path)]).choose(0).sources, Options(jobs=1))
        job.read_all()
        snap = job.snapshot()
        found = snap.event().tolist() if snap.length == len(lines) else sorted(set(snap.event().tolist()))
        job.close()
        return list(found)


def _agreement(ours: list[int], theirs: list[int]) -> float:
    """Return the adjusted Rand index of two groupings: 1 where they are the same."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(ours, theirs))
