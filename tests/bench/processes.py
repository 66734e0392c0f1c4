"""What a command costs with all its children: seconds, CPU seconds, the largest sum of resident sizes."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from typing import NamedTuple

SAMPLE_S = 0.1


class Cost(NamedTuple):
    """Seconds, CPU seconds, bytes, what was printed, and the exit code."""

    wall: float
    cpu: float
    rss: int
    output: str
    code: int = 0


def measure(command: list[str]) -> Cost:
    """Run a command to its end; its output is kept when it is short."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(resident(pid) for pid in tree(process.pid)))
            time.sleep(SAMPLE_S)
        wall = time.monotonic() - began
        out.seek(0)
        text = out.read(1 << 20).decode("utf-8", "replace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, peak, text, process.returncode)


def tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 -- names suffice
        if name.isdigit() and (parent := _parent(int(name))):
            children.setdefault(parent, []).append(int(name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:  # noqa: PTH123 -- thousands a second
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def resident(pid: int) -> int:
    """Return the resident bytes of a process, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds a process has used."""
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
