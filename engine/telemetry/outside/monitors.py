"""Tables of hardware monitors: nvidia-smi dmon, pmon and --query, dcgmi dmon, npu-smi, sar and sadf."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.telemetry.curves import Gathering
from l4tui.engine.telemetry.outside.stamps import DAY, Stamps

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_HEADED = re.compile(r"(?P<name>.*?)\s*\[(?P<unit>[^\]]+)\]$")  # utilization.gpu [%]
_CELL = re.compile(r"(?P<value>[-+]?\d+(?:\.\d+)?) ?(?P<unit>[%A-Za-z/]*)$")
_BITS = re.compile(r"0x[0-9a-fA-F]{1,16}$")
_STATES = {"Active": 1.0, "Not Active": 0.0}
_NAMES = frozenset(
    ("timestamp", "index", "gpu_index", "name", "uuid", "gpu_uuid", "pid", "driver_version", "count", "serial",
     "pci.bus_id", "gpu_bus_id")
)  # fmt: skip
_LOST = re.compile(r"GPU is lost|GPU requires reset")
_LOST_DEVICE = re.compile(r"Unable to determine the device handle for [Gg](?:PU|pu) ?(?P<device>[\da-fA-F:.]*\w)")
_BLANK = 2.0**47  # what DCGM writes for a value that it does not have, and its larger kin
_NPU = re.compile(r"([A-Za-z][\w ]*?)\s?\(([^()]*)\)")
_SAR_DAY = re.compile(r"^Linux \S+ \((?P<node>[^)]+)\)\s+(?P<date>[\d/.-]+)")
_SAR_ROW = re.compile(r"^(?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(?: (?P<half>[AP]M))?\s+(?P<rest>\S.*)$")
_SAR_KEYS = ("CPU", "IFACE", "DEV", "TTY", "BUS")


def _number(cell: str) -> float | None:
    return float(cell) if _NUMBER.fullmatch(cell) else None


def read_dmon(lines: Iterable[str], stamps: Stamps, node: str | None) -> Gathering:
    """Read `nvidia-smi dmon` and `pmon`, blanks or commas between columns, with -o D, T or both or neither."""
    found = Gathering(node)
    names: list[str] = []
    units: list[str] = []
    for found.line, line in enumerate(lines, 1):
        cells = [c for c in re.split(r"[,\s]+", line.strip()) if c]
        if line.lstrip().startswith("#"):
            cells = [c for c in re.split(r"[,\s]+", line.strip().lstrip("# ")) if c]
            lowered = [c.lower() for c in cells]
            if "gpu" in lowered:
                names, units = lowered, []
            elif names:
                units = cells
            continue
        if not names or "gpu" not in names or len(cells) < len(names):
            continue
        row = dict(zip(names, cells, strict=False))
        time = stamps.read(f"{row['date']} {row['time']}")[0] if "date" in row and "time" in row else NO_TIME
        device = int(row["gpu"]) if row["gpu"].isdigit() else UNKNOWN
        told = dict(zip(names, units, strict=False)) if len(units) >= len(names) - 1 else {}
        suffix = f" pid {row['pid']}" if "pid" in row else ""
        for name, cell in row.items():
            value = _number(cell)
            if value is not None and name not in ("gpu", "date", "time", "pid", "type", "command"):
                found.add(name + suffix, told.get(name, ""), value, time, device)
    return found


def read_query(lines: Iterable[str], stamps: Stamps, node: str | None) -> Gathering:
    """Read `nvidia-smi --query-gpu=… --format=csv`, units in the head or in the cells."""
    found = Gathering(node)
    header: list[tuple[str, str]] = []
    seen: dict[str, int] = {}
    time = NO_TIME  # of the last row, which that of a message without one must be near
    rows = csv.reader(lines, skipinitialspace=True)
    for cells in rows:
        found.line = rows.line_num
        if any(cell.strip().split(" [")[0] in ("timestamp", "index", "uuid", "pci.bus_id") for cell in cells):
            header = [_headed(cell.strip()) for cell in cells]
            continue
        if not header or len(cells) != len(header):
            if lost := _LOST_DEVICE.search(",".join(cells)):
                found.mark("lost", lost[0], time, name=lost["device"])
            continue
        row = {name: cells[at].strip() for at, (name, _) in enumerate(header) if name in _NAMES}
        time = stamps.read(row.get("timestamp", ""))[0]
        index = row.get("index", row.get("gpu_index", ""))
        which = row.get("uuid") or row.get("gpu_uuid") or row.get("pci.bus_id") or row.get("gpu_bus_id") or ""
        device = int(index) if index.isdigit() else seen.setdefault(which, len(seen)) if which else UNKNOWN
        for (name, unit), cell in zip(header, cells, strict=True):
            if name in _NAMES:
                continue
            if (value := _reading(cell.strip())) is not None:
                found.add(name, unit or value[1], value[0], time, device)
            elif lost := _LOST.search(cell):
                found.mark("lost", lost[0], time, device)
    return found


def _headed(cell: str) -> tuple[str, str]:
    """Part a column's name and unit: utilization.gpu [%]."""
    headed = _HEADED.match(cell)
    return (headed["name"], headed["unit"]) if headed else (cell, "")


@lru_cache(maxsize=1 << 14)  # tables repeat themselves
def _reading(cell: str) -> tuple[float, str] | None:
    """Read a cell: a number with its unit, a set of bits, a state that is on or off."""
    if match := _CELL.match(cell):
        return float(match["value"]), match["unit"]
    if cell in _STATES:
        return _STATES[cell], ""
    return (float(int(cell, 16)), "") if _BITS.match(cell) else None


def read_dcgm(lines: Iterable[str], stamps: Stamps, node: str | None) -> Gathering:
    """Read `dcgmi dmon`, perhaps with a time put before each line."""
    found = Gathering(node)
    names: list[str] = []
    for found.line, line in enumerate(lines, 1):
        time, end = stamps.read(line.lstrip("["))
        text = line[end:].strip(" \t\n]") if end else line.strip()
        if re.match(r"#\s*Entity", text):
            names = text.lstrip("# ").split()[1:]
            continue
        row = re.match(r"(?:GPU|GPU-I|SW)\s+(\d+)\s+(.*)", text)
        if row and names:
            for name, cell in zip(names, row[2].split(), strict=False):
                if (value := _number(cell)) is not None and value < _BLANK:
                    found.add(name, "", value, time, int(row[1]))
    return found


def read_npu(lines: Iterable[str], stamps: Stamps, node: str | None) -> Gathering:
    """Read `npu-smi info watch`."""
    found = Gathering(node)
    header: list[tuple[str, str]] = []
    for found.line, line in enumerate(lines, 1):
        time, end = stamps.read(line)
        if line[end:].lstrip().lower().startswith("npuid"):
            header = _NPU.findall(line[end:])
            continue
        values = line[end:].split()
        if not header or len(values) != len(header) or not values[0].isdigit():
            continue
        for (name, unit), cell in list(zip(header, values, strict=True))[1:]:
            value = _number(cell)
            if value is not None and not name.lower().startswith("chip"):
                found.add(name, unit, value, time, int(values[0]))
    return found


def read_sar(lines: Iterable[str], stamps: Stamps, node: str | None) -> Gathering:
    """Read the text of `sar`: sections of columns under a day's head line."""
    found = Gathering(node)
    day: datetime | None = None
    host = node
    names: list[str] = []
    before = -1
    for found.line, line in enumerate(lines, 1):
        if head := _SAR_DAY.match(line):
            day, host, before = _date(head["date"]), head["node"].split(".")[0], -1
            continue
        row = _SAR_ROW.match(line)
        if row is None:
            continue
        cells = row["rest"].split()
        if not any(_number(cell) is not None for cell in cells):
            names, before = cells, -1
            continue
        if day is None or len(cells) != len(names):
            continue
        hour = int(row["H"]) % 12 + 12 * (row["half"] == "PM") if row["half"] else int(row["H"])
        second = hour * 3600 + int(row["M"]) * 60 + int(row["S"])
        past = DAY if 0 <= second < before - DAY // 2 else 0  # behind midnight
        before = second if not past else before
        time = stamps.at(day, hour, int(row["M"]), int(row["S"]))
        keyed = names[0] in _SAR_KEYS
        device = int(cells[0]) if keyed and cells[0].isdigit() else UNKNOWN
        where = f" {cells[0]}" if keyed and device < 0 and cells[0] != "all" else ""
        for name, cell in list(zip(names, cells, strict=True))[int(keyed) :]:
            if (value := _number(cell)) is not None and time != NO_TIME:
                found.add(name + where, "%" if name.startswith("%") else "", value, time + past * 10**9, device, host)
    return found


def read_sadf(lines: Iterable[str], stamps: Stamps, node: str | None) -> Gathering:
    """Read `sadf -d`: semicolons, host and time in each row."""
    found = Gathering(node)
    names: list[str] = []
    for found.line, line in enumerate(lines, 1):
        cells = line.strip().lstrip("# ").split(";")
        if line.startswith("#"):
            names = cells
            continue
        if len(cells) != len(names) or names[:3] != ["hostname", "interval", "timestamp"]:
            continue
        time, _ = stamps.read(cells[2])
        host = cells[0].split(".")[0]
        keyed = names[3] in _SAR_KEYS
        where = f" {cells[3]}" if keyed and cells[3] not in ("-1", "all") else ""
        for name, cell in list(zip(names, cells, strict=True))[3 + keyed :]:
            if (value := _number(cell)) is not None:
                found.add(name + where, "%" if name.startswith("%") else "", value, time, UNKNOWN, host)
    return found


def _date(text: str) -> datetime | None:
    for form in ("%m/%d/%Y", "%m/%d/%y", "%Y-%m-%d", "%d.%m.%Y"):
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None
