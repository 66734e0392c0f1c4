"""Prometheus text dumps: one scrape, or several one after the other (exposition format 0.0.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.telemetry.curves import Gathering

_ROW = re.compile(r"(?P<name>[A-Za-z_:][\w:]*)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)(?: (?P<ms>\d{12,14}))?\s*$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_DEVICES = ("gpu", "device", "card", "npu", "id")
_NODES = ("Hostname", "hostname", "node", "nodename", "host", "instance")
_DULL = frozenset(
    ("UUID", "uuid", "modelName", "pci_bus_id", "job", "DCGM_FI_DRIVER_VERSION", "err_msg", "namespace", "container")
)
MOST = 20_000  # curves of one dump


def is_prometheus(lines: Iterable[str]) -> bool:
    """Tell whether the lines are a dump of metrics."""
    rows = [line for line in lines if line.strip()]
    metrics = sum(_ROW.match(line) is not None for line in rows)
    comments = sum(line.startswith(("# HELP ", "# TYPE ")) for line in rows)
    return comments > 0 and metrics > 0 and (metrics + comments) * 10 >= len(rows) * 9


def read_prometheus(lines: Iterable[str], node: str | None) -> Gathering:
    """Read metrics as curves: the GPU and node of a row from its labels, other labels in the name."""
    found = Gathering(node)
    names: set[str] = set()
    for found.line, line in enumerate(lines, 1):
        row = _ROW.match(line)
        if row is None or line.startswith("#"):
            continue
        try:
            value = float(row["value"])
        except ValueError:
            continue
        labels = dict(_LABEL.findall(row["labels"] or ""))
        device = next((int(labels[key]) for key in _DEVICES if labels.get(key, "").isdecimal()), UNKNOWN)
        host = next((labels[key].partition(":")[0] for key in _NODES if labels.get(key)), None)
        rest = ",".join(
            f"{key}={text}"
            for key, text in labels.items()
            if key not in _DULL and key not in _NODES and not (key in _DEVICES and text.isdecimal())
        )
        name = f"{row['name']}{{{rest}}}" if rest else row["name"]
        names.add(name)
        if len(names) <= MOST:
            time = int(row["ms"]) * 10**6 if row["ms"] else NO_TIME
            found.add(name, "", value, time, device, host.split(".")[0] if host and not host[0].isdigit() else host)
    return found
