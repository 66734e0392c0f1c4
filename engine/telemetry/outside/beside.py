"""Which files beside a job's logs are hardware telemetry, and what they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from l4tui.engine.snapshot import Snapshot
from l4tui.engine.sniff import HEAD as SNIFFED
from l4tui.engine.sniff import is_monitor
from l4tui.engine.telemetry.curves import Gathering, Outside
from l4tui.engine.telemetry.eventfiles import MARK, curves_of
from l4tui.engine.telemetry.outside import monitors
from l4tui.engine.telemetry.outside.hosts import node_in
from l4tui.engine.telemetry.outside.kernel import is_kernel, read_kernel
from l4tui.engine.telemetry.outside.prometheus import is_prometheus, read_prometheus
from l4tui.engine.telemetry.outside.signs import with_signs
from l4tui.engine.telemetry.outside.stamps import Stamps
from l4tui.engine.telemetry.outside.zones import fitted, span_of

HEAD = 8192  # bytes that tell which program wrote a file
MIXED = 8 << 20  # bytes of a log that begins with a table, as of a job that first asks for its GPUs
LARGEST = 256 << 20  # bytes of a file that is read; these are tables of minutes, not logs

_TABLES: tuple[tuple[str, re.Pattern[str], Callable[[Iterable[str], Stamps, str | None], Gathering]], ...] = (
    ("nvidia-smi pmon", re.compile(r"^\s*#.*\bgpu\b.*\bpid\b", re.M | re.I), monitors.read_dmon),
    ("nvidia-smi dmon", re.compile(r"^\s*#[^\n]*\bgpu\b[^\n]*\n\s*#[^\n]*\bIdx\b", re.M), monitors.read_dmon),
    ("dcgmi dmon", re.compile(r"^[^\n]{0,40}#\s*Entity\b", re.M), monitors.read_dcgm),
    ("npu-smi", re.compile(r"^\s*NpuID", re.M | re.I), monitors.read_npu),
    ("sadf", re.compile(r"^#\s*hostname;interval;timestamp;", re.M), monitors.read_sadf),
    ("sar", re.compile(r"^Linux \S+ \([^)]+\)\s+[\d/.-]+", re.M), monitors.read_sar),
    (
        "nvidia-smi --query",
        re.compile(
            r"^[^\n]*\b(?:utilization\.|memory\.(?:used|total)|temperature\.|power\.draw|clocks\.|pcie\.link)", re.M
        ),
        monitors.read_query,
    ),
)


class Shelf:
    """Reads what stands beside the logs of a job, each file again only when it has changed."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, tuple[str, ...], int], tuple[tuple[int, int], Outside | None]] = {}

    def outside(self, snap: Snapshot, beside: Sequence[str] = (), utc_offset_s: int = 0) -> tuple[Outside, ...]:
        """Return what files beside the logs and the logs themselves hold; signs in their curves are marks."""
        paths = dict.fromkeys([*beside, *(source.path for source in snap.sources if source.path != "-")])
        read = [self._one(path, snap.nodes, utc_offset_s) for path in paths]
        return with_signs(fitted([one for one in read if one is not None], span_of(snap)))

    def _one(self, path: str, nodes: tuple[str, ...], utc_offset_s: int) -> Outside | None:
        try:
            state = Path(path).stat()
        except OSError:
            return None
        key, seen = (path, nodes, utc_offset_s), (state.st_size, state.st_mtime_ns)
        if key not in self._read or self._read[key][0] != seen:
            self._read[key] = seen, read_outside(path, nodes, utc_offset_s)
        return self._read[key][1]


def read_outside(path: str, nodes: Sequence[str] = (), utc_offset_s: int = 0) -> Outside | None:
    """Read one file; None where no program we know wrote it, or where it cannot be read.

    nodes: names of the job's nodes; the one that stands in the path, or the only one, is the file's own.
    """
    file = Path(path)
    try:
        if not file.is_file():  # a pipe: it has been read, and what is still to come belongs to who follows it
            return None
        if MARK in file.name:
            return Outside(path, "tensorboard", curves_of(file))
        with file.open("rb") as stream:
            head = stream.read(HEAD)
        kind = kind_of(head)
        most = LARGEST if kind == "kernel" or is_monitor(head[:SNIFFED]) else MIXED
        if kind is None or file.stat().st_size > most:
            return None
        stamps = Stamps(utc_offset_s, file.stat().st_mtime_ns)
        with file.open("r", encoding="utf-8", errors="replace") as text:
            return _read(path, kind, text, stamps, node_in(path, nodes))
    except OSError:
        return None


def kind_of(head: bytes) -> str | None:
    """Tell which program wrote a file by its first bytes."""
    if b"\0" in head:
        return None
    text = head.decode("utf-8", "replace")
    lines = text.split("\n")
    lines = lines[:-1] or lines
    for kind, pattern, _ in _TABLES:
        if pattern.search("\n".join(lines[:40])):
            return kind
    if is_prometheus(lines):
        return "prometheus"
    return "kernel" if is_kernel(lines) else None


def _read(path: str, kind: str, lines: Iterable[str], stamps: Stamps, node: str | None) -> Outside:
    if kind == "kernel":
        return Outside(path, kind, (), read_kernel(lines, stamps, node))
    if kind == "prometheus":
        read = read_prometheus(lines, node)
    else:
        read = next(reader for name, _, reader in _TABLES if name == kind)(lines, stamps, node)
    return Outside(path, kind, read.curves(), tuple(read.marks))
