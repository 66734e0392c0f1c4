"""Hardware monitors, kernel logs and dumps beside the logs: values, nodes, devices and times as a person reads them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.model import NO_TIME
from l4tui.engine.telemetry.curves import Mark, Outside
from l4tui.engine.telemetry.outside import Shelf, read_outside, reasons, steps_of
from tests.engine.telemetry.jobs import snap_of


def ns(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000) * 10**6


# what a program wrote: {(series, unit, node, device): [(time or None, value), …]}
TABLES = {
    "nvidia-smi dmon": (
        "#Date       Time        gpu    pwr  gtemp     sm\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      %\n"
        " 20260102   10:00:01      0     71     37      5\n"
        " 20260102   10:00:01      1     80      -     99\n"
        " 20260102   10:00:02      0     72     38      6\n",
        {
            ("pwr", "W", "n12", 0): [("2026-01-02T10:00:01", 71), ("2026-01-02T10:00:02", 72)],
            ("gtemp", "C", "n12", 0): [("2026-01-02T10:00:01", 37), ("2026-01-02T10:00:02", 38)],
            ("sm", "%", "n12", 0): [("2026-01-02T10:00:01", 5), ("2026-01-02T10:00:02", 6)],
            ("pwr", "W", "n12", 1): [("2026-01-02T10:00:01", 80)],
            ("sm", "%", "n12", 1): [("2026-01-02T10:00:01", 99)],
        },
    ),
    "nvidia-smi pmon": (
        "# gpu         pid   type     sm    mem    command\n# Idx           #    C/G      %      %    name\n"
        "    0       7372     C     20     3    python\n    1          -     -      -     -    -\n",
        {("sm pid 7372", "%", "n12", 0): [(None, 20)], ("mem pid 7372", "%", "n12", 0): [(None, 3)]},
    ),
    "nvidia-smi --query": (
        "timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
        "2026/01/02 10:00:01.500, 3, NVIDIA X, 12 %, 1024 MiB, 71.23 W\n"
        "2026/01/02 10:00:02.500, 3, NVIDIA X, 13 %, [N/A], 70.00 W\n",
        {
            ("utilization.gpu", "%", "n12", 3): [("2026-01-02T10:00:01.500", 12), ("2026-01-02T10:00:02.500", 13)],
            ("memory.used", "MiB", "n12", 3): [("2026-01-02T10:00:01.500", 1024)],
            ("power.draw", "W", "n12", 3): [("2026-01-02T10:00:01.500", 71.23), ("2026-01-02T10:00:02.500", 70)],
        },
    ),
    "dcgmi dmon": (
        "#Entity   GPUTL   POWER\nID                W\nGPU 0     97      402.5\nGPU 1     N/A     88.0\n",
        {
            ("GPUTL", "", "n12", 0): [(None, 97)], ("POWER", "", "n12", 0): [(None, 402.5)],
            ("POWER", "", "n12", 1): [(None, 88)],
        },
    ),
    "npu-smi": (
        "NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)\n"
        "2           0           65.4        38          7\n",
        {("Pwr", "W", "n12", 2): [(None, 65.4)], ("Temp", "C", "n12", 2): [(None, 38)],
         ("AI Core", "%", "n12", 2): [(None, 7)]},
    ),
    "sar": (
        "Linux 5.15.0 (n77) \t01/02/2026 \t_x86_64_\t(96 CPU)\n\n"
        "11:50:01 PM     CPU     %user   %iowait\n11:50:02 PM     all      5.00      0.50\n"
        "12:00:01 AM     all      6.00      0.25\nAverage:        all      5.50      0.30\n\n"
        "11:50:01 PM     IFACE   rxkB/s\n11:50:02 PM      ib0   1200.5\n",
        {
            ("%user", "%", "n77", -1): [("2026-01-02T23:50:02", 5), ("2026-01-03T00:00:01", 6)],
            ("%iowait", "%", "n77", -1): [("2026-01-02T23:50:02", 0.5), ("2026-01-03T00:00:01", 0.25)],
            ("rxkB/s ib0", "", "n77", -1): [("2026-01-02T23:50:02", 1200.5)],
        },
    ),
    "sadf": (
        "# hostname;interval;timestamp;CPU;%user\nn77;600;2026-01-02 10:00:01 UTC;-1;5.25\n",
        {("%user", "%", "n77", -1): [("2026-01-02T10:00:01", 5.25)]},
    ),
    "prometheus": (
        "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
        'DCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-1",Hostname="n12"} 41 1767348001000\n'
        'node_load{instance="n12:9100",kind="a b"} 2.5\n',
        {
            ("DCGM_FI_DEV_GPU_TEMP", "", "n12", 1): [("2026-01-02T10:00:01", 41)],
            ("node_load{kind=a b}", "", "n12", -1): [(None, 2.5)],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_read_as_a_person_reads_them(kind: str, tmp_path: Path) -> None:
    text, expected = TABLES[kind]
    path = tmp_path / "monitor-n12.txt"
    path.write_text(text)
    read = read_outside(str(path), ["n1", "n12", "n123"])
    assert read is not None and read.source == kind
    found = {
        (c.name, c.unit, c.node, c.device): list(zip(c.time.tolist(), c.value.tolist(), strict=True))
        for c in read.curves
    }
    assert found == {
        key: [(NO_TIME if time is None else ns(time), value) for time, value in rows] for key, rows in expected.items()
    }


DMESG = """\
[Fri Jan  2 10:00:01 2026] usb 1-1: new device
[Fri Jan  2 10:00:05 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.
[Fri Jan  2 10:00:06 2026] Out of memory: Killed process 4711 (python) total-vm:1kB
[Fri Jan  2 10:00:07 2026] mlx5_core 0000:12:00.0 ib0: Link down
"""
JOURNAL = """\
Jan 02 10:00:01 n13.cluster kernel: EXT4-fs error (device sda1): bad
2026-01-02T10:00:02+0100 n13 kernel: INFO: task python:99 blocked for more than 120 seconds.
Jan 02 10:00:03 n13 kernel: eth0: renamed
"""


def test_kernel_logs_become_marks(tmp_path: Path) -> None:
    (tmp_path / "dmesg-n12.txt").write_text(DMESG)
    (tmp_path / "journal.txt").write_text(JOURNAL)
    changed = ns("2026-01-05T00:00:00") / 1e9
    os.utime(tmp_path / "journal.txt", (changed, changed))
    dmesg = read_outside(str(tmp_path / "dmesg-n12.txt"), ["n12", "n13"])
    assert dmesg is not None
    assert [(m.kind, m.node, m.device, m.time) for m in dmesg.marks] == [
        ("xid", "n12", "0000:3b:00", ns("2026-01-02T10:00:05")),
        ("oom", "n12", "", ns("2026-01-02T10:00:06")),
        ("link", "n12", "ib0", ns("2026-01-02T10:00:07")),
    ]
    journal = read_outside(str(tmp_path / "journal.txt"))
    assert journal is not None
    assert [(m.kind, m.node, m.time) for m in journal.marks] == [
        ("fs", "n13", ns("2026-01-02T10:00:01")), ("hang", "n13", ns("2026-01-02T09:00:02")),
    ]  # fmt: skip


def test_the_nearest_mark_on_the_node_is_the_reason() -> None:
    t = ns("2026-01-02T10:00:00")
    marks = (
        Mark(t - 500 * 10**9, "n12", "xid", "far"),
        Mark(t - 5 * 10**9, "n13", "oom", "another node"),
        Mark(t - 20 * 10**9, "n12", "link", "near"),
        Mark(t + 30 * 10**9, None, "fs", "later, of any node"),
        Mark(NO_TIME, "n12", "xid", "no time"),
        Mark(t - 5000 * 10**9, "n12", "xid", "too far"),
    )
    found = reasons([Outside("k", "kernel", (), marks)], "n12", t)
    assert [(r.mark.text, r.distance) for r in found] == [("near", 20), ("later, of any node", -30), ("far", 500)]
    assert reasons([Outside("k", "kernel", (), marks)], "n12", NO_TIME) == ()


def test_marks_stand_at_the_jobs_iterations(tmp_path: Path) -> None:
    snap = snap_of(tmp_path, "".join(f"2026-01-02 10:00:{i:02d} INFO step {i} loss 2.5\n" for i in range(1, 30)))
    times = np.array([ns("2026-01-02T10:00:10") + 5 * 10**8, ns("2026-01-01T00:00:00"), NO_TIME])
    assert steps_of(snap, times).tolist() == [10, -1, -1]


def test_files_beside_the_logs_are_found(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("step 1 loss 2.5\n" * 20)
    (tmp_path / "gpu.csv").write_text(TABLES["nvidia-smi --query"][0])
    (tmp_path / "people.csv").write_text("name, age\nx, 3\n")
    (tmp_path / "dmesg.log").write_text(DMESG)
    found = discover([str(tmp_path)])
    job = Job(found.choose(0).sources)
    job.read_all()
    read = Shelf().outside(job.snapshot(), found.beside)
    assert sorted((Path(o.path).name, o.source) for o in read) == [
        ("dmesg.log", "kernel"), ("gpu.csv", "nvidia-smi --query"),
    ]  # fmt: skip


ODD = ["", "#", "# gpu\n", "Linux x (n) 99/99/99\n12:00:01 CPU %user\n", "\0\0", "a,b\n1,2\n", "#\n" * 99]


@pytest.mark.parametrize("text", ODD)
def test_odd_files_do_no_harm(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    read = read_outside(str(path))
    assert read is None or not read.curves
    for kind, (whole, _) in TABLES.items():
        for cut in range(0, len(whole), 17):
            path.write_text(whole[:cut] + "\x00é;,[" + whole[cut:])
            read_outside(str(path), [kind])


def test_a_named_pipe_is_left_to_who_reads_the_log(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    os.mkfifo(path)
    both = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    os.write(both, b"more\n")
    assert read_outside(str(path)) is None
    assert os.read(both, 100) == b"more\n"
    os.close(both)
