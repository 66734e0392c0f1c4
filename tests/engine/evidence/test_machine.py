"""Tables of monitors and kernel logs beside a job: reasons for its trouble, silence where they explain none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from l4tui.engine.appraisal import appraise
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.library import load
from l4tui.engine.opinion import Opinion
from l4tui.engine.telemetry.outside import Shelf

BEGIN = 1_772_000_000  # 2026-02-25 06:13:20 UTC
SECONDS, GPUS = 300, 8
NCCL = (
    "[rank{r}]:[E] ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=88, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600000 milliseconds "
    "before timing out."
)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB"


def at(second: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return time.strftime(form, time.gmtime(BEGIN + second))


def says(node: int, rank: int, second: float, text: str) -> str:
    return f"[default{rank % GPUS}]:{at(second)},{int(second % 1 * 1000):03} - train - INFO - train.py:10 - {text}"


def hello(rank: int) -> str:
    return f"initializing distributed: rank {rank} of 16, host node0{rank // GPUS} local_rank {rank % GPUS} pid 7{rank}"


def job(
    folder: Path, slow_from: float = 1e9, stops_at: float = 1e9, ending: Iterable[tuple[int, float, str]] = ()
) -> None:
    """Two nodes of eight ranks; each iteration takes a second, from some time on two; only rank 0 tells of them."""
    lines: dict[int, list[str]] = {0: [], 1: []}
    for rank in range(2 * GPUS):
        lines[rank // GPUS].append(says(rank // GPUS, rank, 0, hello(rank)))
    second, step = 1.0, 0
    while second < min(SECONDS, stops_at):
        step += 1
        lines[0].append(says(0, 0, second, f"iteration {step} loss {9 - step / 100:.3f}"))
        second += 2 if second >= slow_from else 1
    for rank, when, text in ending:
        lines[rank // GPUS].append(says(rank // GPUS, rank, when, text))
    for node, texts in lines.items():
        (folder / f"train-node0{node}.log").write_text("\n".join(texts) + "\n")


Cell = Callable[[int, int], str]  # device, second → text


def query(path: Path, columns: dict[str, Cell], gpus: int = GPUS, offset_s: int = 0) -> None:
    """Write what `nvidia-smi --query-gpu=… --format=csv -l 1` writes."""
    rows = [", ".join(["timestamp", "index", *columns])]
    for s in range(SECONDS):
        stamp = at(s + offset_s, "%Y/%m/%d %H:%M:%S.000")
        rows += [", ".join([stamp, str(g), *(cell(g, s) for cell in columns.values())]) for g in range(gpus)]
    path.write_text("\n".join(rows) + "\n")


def dmon(path: Path, columns: dict[str, tuple[str, Cell]]) -> None:
    """Write what `nvidia-smi dmon -o DT` writes, the head again every 16 rows."""
    head = ["#Date       Time        gpu " + " ".join(f"{name:>6}" for name in columns),
            "#YYYYMMDD   HH:MM:SS    Idx " + " ".join(f"{unit:>6}" for unit, _ in columns.values())]  # fmt: skip
    rows: list[str] = []
    for s in range(SECONDS):
        rows += head if s % 2 == 0 else []
        for g in range(GPUS):
            cells = " ".join(f"{cell(g, s):>6}" for _, cell in columns.values())
            rows.append(f" {at(s, '%Y%m%d   %H:%M:%S')}  {g:5} {cells}")
    path.write_text("\n".join(rows) + "\n")


def judged(folder: Path) -> Opinion:
    found = discover([str(folder)])
    opened = Job(found.choose(0).sources)
    opened.read_all()
    snap = opened.snapshot()
    return appraise(snap, load(), outside=Shelf().outside(snap, found.beside))


def hardware(opinion: Opinion) -> list[tuple[str, str, tuple[str, int]]]:
    """Return (whom, sentence, first place) of the reasons from machines."""
    out = []
    for s in (*opinion.ranks, *(n for n in opinion.nodes if not any(r.node == n.node for r in opinion.ranks))):
        for reason in s.reasons:
            if reason.kind == "hardware":
                place = reason.places[0] if reason.places else None
                out.append((s.name, reason.text, (Path(place.path).name, place.line) if place else ("", 0)))
    return out


def constant(value: str) -> Cell:
    return lambda g, s: value


def odd(gpu: int, begin: int, value: str, usual: str, end: int = SECONDS) -> Cell:
    return lambda g, s: value if g == gpu and begin <= s < end else usual


BUSY = {"utilization.gpu [%]": constant("100 %")}
TIMED_OUT = [(r, 290.0 + r / 100, NCCL.format(r=r)) for r in range(16) if r != 11]


def test_a_gpu_that_slows_down_explains_slow_iterations(tmp_path: Path) -> None:
    job(tmp_path, slow_from=150)
    query(tmp_path / "smi-node00.csv", BUSY | {"clocks.current.sm [MHz]": constant("1980 MHz")})
    query(
        tmp_path / "smi-node01.csv",
        BUSY | {
            "clocks.current.sm [MHz]": odd(3, 148, "645 MHz", "1965 MHz"),
            "clocks_event_reasons.hw_thermal_slowdown": odd(3, 148, "Active", "Not Active"),
            "clocks_event_reasons.sw_power_cap": constant("Active"),
        },
    )  # fmt: skip
    found = hardware(judged(tmp_path))
    line = 2 + 148 * GPUS + 3
    assert {(who, place) for who, _, place in found} == {("rank 11", ("smi-node01.csv", line))}
    assert any("GPU 3: runs at 645 MHz where its peers run at 1,980" in text for _, text, _ in found)
    assert all("the iterations take 2 times as long meanwhile" in text for _, text, _ in found)


@pytest.mark.parametrize(
    "columns",
    [
        {"clocks_event_reasons.active": odd(3, 148, "0x0000000000000040", "0x0000000000000004")},
        {"temperature.gpu": odd(3, 148, "93", "64")},
        {"clocks.sm [MHz]": odd(3, 148, "645 MHz", "1965 MHz")},
    ],
)
def test_each_sign_of_slowness_tells_alone(columns: dict[str, Cell], tmp_path: Path) -> None:
    job(tmp_path, slow_from=150)
    query(tmp_path / "smi-node01.csv", BUSY | columns)
    assert {who for who, _, _ in hardware(judged(tmp_path))} == {"rank 11"}


@pytest.mark.parametrize(
    "columns",
    [
        {"clocks.sm [MHz]": odd(3, 148, "645 MHz", "1965 MHz", 150)},  # for a moment
        {"clocks.sm [MHz]": lambda g, s: "1200 MHz" if s > 148 else "1980 MHz"},  # all of them
        {"clocks_event_reasons.sw_power_cap": odd(3, 148, "Active", "Not Active")},
        {"clocks_event_reasons.active": odd(3, 148, "0x0000000000000004", "0x0000000000000000")},
        {"temperature.gpu": odd(3, 148, "74", "64")},
        {"memory.used [MiB]": constant("80900 MiB"), "memory.total [MiB]": constant("81559 MiB")},
        {"ecc.errors.corrected.volatile.total": odd(3, 148, "12", "0")},
        {"ecc.errors.uncorrected.volatile.total": odd(3, 148, "[N/A]", "[N/A]")},
    ],
)
def test_what_is_usual_explains_nothing(columns: dict[str, Cell], tmp_path: Path) -> None:
    job(tmp_path, slow_from=150)
    query(tmp_path / "smi-node01.csv", BUSY | columns)
    assert hardware(judged(tmp_path)) == []


def test_a_slow_gpu_of_a_job_that_keeps_its_pace_is_no_reason(tmp_path: Path) -> None:
    job(tmp_path)
    query(tmp_path / "smi-node01.csv", BUSY | {"clocks.sm [MHz]": odd(3, 148, "645 MHz", "1965 MHz")})
    opinion = judged(tmp_path)
    assert hardware(opinion) == [] and opinion.verdict.scope == "none"


def test_memory_errors_before_the_failure_accuse(tmp_path: Path) -> None:
    job(tmp_path, stops_at=200, ending=TIMED_OUT)
    dmon(tmp_path / "dmon-node01.txt", {"sm": ("%", constant("100")), "sbecc": ("errs", constant("-")),
                                        "dbecc": ("errs", odd(3, 195, "2", "0"))})  # fmt: skip
    opinion = judged(tmp_path)
    assert opinion.accused == (11,) and opinion.verdict.cause == "gpu"
    ((_, text, place),) = hardware(opinion)
    assert "uncorrectable memory errors rise from 0 to 2 (dbecc)" in text and "95 s before the failure was told" in text
    assert place == ("dmon-node01.txt", 98 * 2 + 195 * GPUS + 4)


def test_the_same_errors_in_a_job_that_goes_on_accuse_nobody(tmp_path: Path) -> None:
    job(tmp_path)
    dmon(tmp_path / "dmon-node01.txt", {"sm": ("%", constant("100")), "dbecc": ("errs", odd(3, 195, "2", "0"))})
    assert hardware(judged(tmp_path)) == []


@pytest.mark.parametrize(("code", "accused"), [(79, (11,)), (31, ()), (45, ())])
def test_codes_of_the_driver_in_a_dump_of_metrics(code: int, accused: tuple[int, ...], tmp_path: Path) -> None:
    job(tmp_path, stops_at=200, ending=TIMED_OUT)
    rows = ["# HELP DCGM_FI_DEV_XID_ERRORS Value of the last XID error encountered.",
            "# TYPE DCGM_FI_DEV_XID_ERRORS gauge"]  # fmt: skip
    for s in range(0, SECONDS, 15):
        for g in range(GPUS):
            labels = f'gpu="{g}",UUID="GPU-{g}",device="nvidia{g}",modelName="X",Hostname="node01"'
            value = code if g == 3 and s >= 195 else 0
            rows.append(f"DCGM_FI_DEV_XID_ERRORS{{{labels}}} {value} {(BEGIN + s) * 1000}")
    (tmp_path / "dcgm.prom").write_text("\n".join(rows) + "\n")
    opinion = judged(tmp_path)
    assert {int(who.split()[1]) for who, _, _ in hardware(opinion)} == set(accused)


def test_a_gpu_that_idles_while_all_wait_is_where_it_hangs(tmp_path: Path) -> None:
    job(tmp_path, stops_at=120, ending=[(r, 290.0, NCCL.format(r=r)) for r in range(16)])
    query(tmp_path / "smi-node00.csv", BUSY)
    query(tmp_path / "smi-node01.csv", {"utilization.gpu [%]": odd(3, 121, "0 %", "100 %")})
    (first, *_) = hardware(judged(tmp_path))
    assert first[0] == "rank 11" and "GPU 3: is idle while its peers are busy (100 %)" in first[1]
    assert "s after the job stopped" in first[1]


def test_a_gpu_that_is_lost_is_named(tmp_path: Path) -> None:
    job(tmp_path, stops_at=200, ending=TIMED_OUT)
    query(tmp_path / "smi-node01.csv", {"utilization.gpu [%]": odd(3, 199, "[GPU is lost]", "100 %")})
    opinion = judged(tmp_path)
    assert opinion.accused == (11,)
    assert any("GPU is lost" in text for _, text, _ in hardware(opinion))


def test_full_memory_counts_where_memory_ran_out(tmp_path: Path) -> None:
    job(tmp_path, stops_at=200, ending=[(2, 201.0, OOM)])
    query(tmp_path / "smi-node00.csv", {"memory.used [MiB]": odd(2, 190, "81200 MiB", "70000 MiB"),
                                        "memory.total [MiB]": constant("81559 MiB")})  # fmt: skip
    opinion = judged(tmp_path)
    ((who, text, _),) = hardware(opinion)
    assert who == "rank 2" and "its memory is nearly full (81,200 MiB)" in text and opinion.accused == (2,)


def test_a_machine_that_waits_for_disks_as_the_job_stops(tmp_path: Path) -> None:
    job(tmp_path, stops_at=200, ending=TIMED_OUT)
    for node, odd_wait in ((0, 0.4), (1, 71.0)):
        rows = [f"Linux 5.15.0-97-generic (node0{node}) \t02/25/2026 \t_x86_64_\t(96 CPU)", "",
                f"{at(0, '%H:%M:%S')}    CPU     %user     %nice   %system   %iowait    %steal     %idle"]  # fmt: skip
        for s in range(10, SECONDS, 10):
            wait = odd_wait if s >= 190 else 0.3
            rows.append(f"{at(s, '%H:%M:%S')}    all     40.10      0.00      2.20     {wait:5.2f}      0.00     50.00")
        (tmp_path / f"sar-{node}.txt").write_text("\n".join(rows) + "\n")
    found = hardware(judged(tmp_path))
    assert any("the processors wait for disks, 71 % of the time" in text and "node01" in text for _, text, _ in found)
    assert not any("node00" in text for _, text, _ in found)


def test_local_time_beside_a_log_in_utc(tmp_path: Path) -> None:
    job(tmp_path, slow_from=150)
    columns = BUSY | {"clocks.sm [MHz]": odd(3, 148, "645 MHz", "1965 MHz")}
    query(tmp_path / "smi-node01.csv", columns, offset_s=-8 * 3600)
    assert {who for who, _, _ in hardware(judged(tmp_path))} == {"rank 11"}


KERNELS = {  # how a line of the kernel begins at a second
    "dmesg -T": lambda s: f"[{at(s, '%a %b %e %H:%M:%S %Y')}] ",
    "journalctl": lambda s: f"{at(s, '%b %d %H:%M:%S')} node01 kernel: ",
    "short-iso": lambda s: f"{at(s, '%Y-%m-%dT%H:%M:%S')}+0000 node01 kernel: ",
    "short-precise": lambda s: f"{at(s, '%b %d %H:%M:%S')}.123456 node01.cluster.local kernel: ",
}
BOOT = ["Linux version 5.15.0-97-generic (buildd@lcy02) (gcc 11.4.0)", "NVRM: loading NVIDIA UNIX x86_64 Kernel Module"]


@pytest.mark.parametrize(
    ("form", "name"),
    [("dmesg -T", "kernel-node01.log"), ("dmesg -T", "node01.dmesg.txt"), ("journalctl", "kernel.log"),
     ("short-iso", "journal.txt"), ("short-precise", "j.log")],
)  # fmt: skip
def test_kernel_logs_of_every_form_beside_a_job(form: str, name: str, tmp_path: Path) -> None:
    job(tmp_path, stops_at=200, ending=TIMED_OUT)
    begins = KERNELS[form]
    lines = [begins(s - 4000) + text for s, text in enumerate(BOOT)]
    lines += [begins(195) + "mlx5_core 0000:9f:00.0 mlx5_3: Link down"]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    opinion = judged(tmp_path)
    assert opinion.nodes and opinion.nodes[0].node == "node01"
    reasons = [r for r in opinion.nodes[0].reasons if r.kind == "hardware"]
    assert reasons and all(opinion.quotes[r.entries[0]][0] == f"{name}:3" for r in reasons)


def test_what_most_nodes_tell_alike_accuses_none(tmp_path: Path) -> None:
    job(tmp_path, stops_at=200, ending=TIMED_OUT)
    for node in range(2):
        line = KERNELS["dmesg -T"](195) + "thermal thermal_zone0: clock throttled"
        hang = KERNELS["dmesg -T"](196) + "LustreError: 11-0: fs-OST0001: operation ost_read failed"
        (tmp_path / f"dmesg-node0{node}.log").write_text(f"{line}\n{hang}\n")
    assert not any("fs-OST" in text for _, text, _ in hardware(judged(tmp_path)))
