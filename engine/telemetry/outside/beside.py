"""Which files beside a job's logs are hardware telemetry, and what they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from l4tui.engine.discovery import Found
from l4tui.engine.sniff import Content
from l4tui.engine.telemetry.curves import Curve, Outside
from l4tui.engine.telemetry.eventfiles import MARK, curves_of
from l4tui.engine.telemetry.outside import monitors
from l4tui.engine.telemetry.outside.kernel import is_kernel, read_kernel
from l4tui.engine.telemetry.outside.prometheus import is_prometheus, read_prometheus
from l4tui.engine.telemetry.outside.stamps import Stamps

HEAD = 8192  # bytes that tell which program wrote a file
LARGEST = 256 << 20  # bytes of a file that is read; these are tables of minutes, not logs

_TABLES: tuple[tuple[str, re.Pattern[str], Callable[[Iterable[str], Stamps, str | None], tuple[Curve, ...]]], ...] = (
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


def beside(found: Found, nodes: Sequence[str] = (), utc_offset_s: int = 0) -> tuple[Outside, ...]:
    """Read all hardware telemetry among a job's files: those left out, and those read as logs."""
    paths = [item.path for item in found.left_out if item.content in (Content.TABLE, Content.EVENTS)]
    paths += [source.file_path for job in found.jobs for source in job.sources if source.file_path]
    out = []
    for path in dict.fromkeys(paths):
        read = read_outside(path, nodes, utc_offset_s)
        if read is not None:
            out.append(read)
    return tuple(out)


def read_outside(path: str, nodes: Sequence[str] = (), utc_offset_s: int = 0) -> Outside | None:
    """Read one file; None where no program we know wrote it, or where it cannot be read.

    nodes: names of the job's nodes; the one that stands in the path, or the only one, is the file's own.
    """
    file = Path(path)
    try:
        if MARK in file.name:
            return Outside(path, "tensorboard", curves_of(file))
        with file.open("rb") as stream:
            head = stream.read(HEAD)
        kind = kind_of(head)
        if kind is None or file.stat().st_size > LARGEST:
            return None
        stamps = Stamps(utc_offset_s, file.stat().st_mtime_ns)
        with file.open("r", encoding="utf-8", errors="replace") as text:
            return _read(path, kind, text, stamps, _node(path, nodes))
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
        return Outside(path, kind, read_prometheus(lines, node))
    read = next(reader for name, _, reader in _TABLES if name == kind)
    return Outside(path, kind, read(lines, stamps, node))


def _node(path: str, nodes: Sequence[str]) -> str | None:
    """Return the node whose name stands in a path, the longest first; the only one there is."""
    for node in sorted(nodes, key=len, reverse=True):
        if re.search(rf"(?<![A-Za-z0-9]){re.escape(node)}(?![A-Za-z0-9])", path):
            return node
    return nodes[0] if len(nodes) == 1 else None
