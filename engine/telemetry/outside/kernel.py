"""Kernel logs: `dmesg -T`, `journalctl -k`; only lines about the machine's health become marks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from l4tui.engine.telemetry.curves import Mark
from l4tui.engine.telemetry.outside.stamps import Stamps

_INTERFACE = re.compile(r"\b(?:mlx\d_\d+|mlx\d_core|ib\w*\d\w*|en\w*\d\w*|eth\d+|hsn\d+|bond\d+)\b")
LONGEST = 400  # characters of a mark's text

_BRACKETED = re.compile(r"(?:<\d+>)?(?:(?:kern|user)\s*:\s*\w+\s*:\s*)?\[(?P<stamp>[^\]]{3,40})\] ?")
_JOURNAL = re.compile(r" ?(?P<node>[A-Za-z0-9][\w.-]*) kernel(?:\[\d+\])?: (?:\[ *\d+\.\d+\] ?)?")

# kind: what the kernel or a driver says; the first that matches counts
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("sxid", r"SXid \(PCI:(?P<device>[0-9a-fA-F:.]+)\)"),
        ("xid", r"Xid \(PCI:(?P<device>[0-9a-fA-F:.]+)\)|GPU (?:at )?(?P<device__2>[0-9a-fA-F:.]+)?:? ?has fallen off"),
        ("oom", r"[Oo]ut of memory: Kill|oom-kill:|invoked oom-killer|Memory cgroup out of memory|oom_reaper:"),
        ("nvlink", r"(?i)nvlink.{0,60}(?:error|fail|down|inactive)"),
        ("link", r"(?i)link (?:is )?(?:down|up)\b|lost carrier|\bport (?:down|error)|link flap"),
        ("ecc", r"(?i)\bEDAC\b|uncorrectable|double.?bit|row.?remap|ECC error"),
        ("mce", r"(?i)\[Hardware Error\]|machine check|\bmce:"),
        ("pcie", r"\bAER:|PCIe Bus Error|pcieport .{0,40}error"),
        ("thermal", r"(?i)temperature above threshold|thermal (?:throttl|shutdown|trip)|clock throttled"),
        ("hang", r"blocked for more than \d+ seconds|soft lockup|hard LOCKUP|rcu.{0,20}stall|hung_task"),
        ("fs", r"(?i)I/O error|LustreError|nfs: server .{0,80} not responding|(?:EXT4|XFS|BTRFS).{0,20}error|"
               r"mmfs.{0,40}error|remount.{0,20}read-only|No space left"),
        ("segv", r"segfault at|general protection fault|trap invalid opcode"),
        ("panic", r"Kernel panic|BUG: unable|Oops:"),
    )
)  # fmt: skip


def is_kernel(lines: Iterable[str]) -> bool:
    """Tell whether most lines are a kernel's."""
    found = total = 0
    for line in lines:
        if line.strip():
            total += 1
            stamped = _BRACKETED.match(line)
            found += bool(stamped and re.match(r" *\d+\.\d{6}$|[A-Z][a-z]{2} [A-Z]", stamped["stamp"]))
            found += stamped is None and re.search(r"^.{10,40}\bkernel(?:\[\d+\])?: ", line) is not None
    return total > 0 and found * 2 > total


def read_kernel(lines: Iterable[str], stamps: Stamps, node: str | None) -> tuple[Mark, ...]:
    """Return the marks of a kernel log; a journal's host names count before the given node."""
    marks = []
    for number, line in enumerate(lines, 1):
        for kind, pattern in _KINDS:
            if match := pattern.search(line):
                time, writer, text = _head(line, stamps)
                named = [value for value in match.groupdict().values() if value] or _INTERFACE.findall(text)
                device = named[-1] if named and kind in ("xid", "sxid", "link", "nvlink") else ""
                marks.append(Mark(time, writer or node, kind, text[:LONGEST], device, line=number))
                break
    return tuple(marks)


def _head(line: str, stamps: Stamps) -> tuple[int, str | None, str]:
    """Return time, host and message."""
    if stamped := _BRACKETED.match(line):
        time, _ = stamps.read(stamped["stamp"])
        return time, None, line[stamped.end() :].strip()
    time, end = stamps.read(line)
    if found := _JOURNAL.match(line, end):
        return time, found["node"].split(".")[0], line[found.end() :].strip()
    return time, None, line[end:].strip()
