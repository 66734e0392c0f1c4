"""Lines whose writer is known by a framework's convention or by what they say of themselves; and when they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.reading import files_ranks, ranks_of

TAGS = [f"[rank{r}]:[W220 10:00:00.000000013 ProcessGroupNCCL.cpp:4115] [PG ID 0 Rank {r}]  x" for r in range(4)]
WORLD = "using world size: 4, data-parallel-size: 4, tensor-model-parallel size: 1, pipeline-model-parallel size: 1 "
METRICS = "{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.25}"
BAR = "  5%|5         | 10/200 [00:20<06:00,  1.90s/it]"
LIGHTNING = "Epoch 0:   8%|8         | 8/96 [00:01<00:07, 11.2it/s, v_num=4]"
ITERATION = " iteration        2/     500 | consumed samples:          128 | elapsed time per iteration (ms): 321.2 |"
LOGGED = "Epoch: [3]  [  20/1562]  eta: 1:20:40  loss: 0.0883 (0.0822)  time: 0.950  data: 0.0003  max mem: 61204"
COORDINATOR = (
    "2026-03-22 04:54:41.220193: E external/xla/tsl/distributed_runtime/coordination/coordination_service.cc:954] "
    "/job:w/replica:0/task:5 heartbeat timeout"
)


CHECK = "Sanity Checking DataLoader 0: 100%|##| 2/2 [00:00<00:00, 8.1it/s]"


@pytest.mark.parametrize("line", [METRICS, LIGHTNING, CHECK])
def test_rank_0_writes(tmp_path: Path, line: str) -> None:
    assert ranks_of(tmp_path, [*TAGS, line, line])[4:] == [0, 0]


@pytest.mark.parametrize("line", [METRICS, LIGHTNING, ITERATION])
def test_in_a_job_of_unknown_size_nobody_is_named(tmp_path: Path, line: str) -> None:
    assert ranks_of(tmp_path, ["loading", line, line]) == [None] * 3


def test_a_habit_that_another_rank_breaks_names_nobody(tmp_path: Path) -> None:
    lines = [*TAGS, METRICS, f"[rank2]: {METRICS}", METRICS, *[f"[rank{r}]: ready" for r in range(4)] * 4]
    got = ranks_of(tmp_path, lines)
    assert got[4] is None and got[5] == 2 and got[6] is None


@pytest.mark.parametrize("tag", ["node{}: ", "10:00:0{} trainer.{} | "])
def test_a_habit_of_several_nodes_or_processes_names_nobody(tmp_path: Path, tag: str) -> None:
    lines = [tag.format(k % 3, k % 3) + (METRICS if k > 30 else f"step {k}") for k in range(60)]
    told = [f"node0: [rank{r}]:{TAGS[r].partition(':')[2]}" for r in range(3)]
    assert ranks_of(tmp_path, [*told, *lines])[40:] == [None] * 23


def test_numbers_of_anybodys_loop_are_no_metrics_of_the_trainer(tmp_path: Path) -> None:
    assert ranks_of(tmp_path, [*TAGS, "{'loss': 1.25, 'epoch': 1}"])[4] is None


def test_a_header_in_front_makes_another_kind_of_line(tmp_path: Path) -> None:
    lines = [*TAGS, f"2026-03-01 10:00:00,000 - INFO - 71 - {LIGHTNING}", LIGHTNING]
    assert ranks_of(tmp_path, lines)[5] == 0  # the first is no line of the habit: a header stands before it


def test_the_bar_needs_the_metrics(tmp_path: Path) -> None:
    assert ranks_of(tmp_path, [*TAGS, BAR])[4] is None
    assert ranks_of(tmp_path, [*TAGS, BAR, METRICS, "Map:" + BAR])[4:] == [0, 0, None]


def test_the_last_rank_writes_iterations(tmp_path: Path) -> None:
    assert ranks_of(tmp_path, [WORLD, ITERATION]) == [0, 3]
    assert ranks_of(tmp_path, [*TAGS, ITERATION])[4] is None  # 4 seen, but how many are there?


def test_iterations_of_every_rank_are_no_habit(tmp_path: Path) -> None:
    tagged = [f"[rank{r}]: {ITERATION}" for r in range(4)] * 4
    assert ranks_of(tmp_path, [WORLD, *TAGS, *tagged, ITERATION])[-1] is None


def test_metric_logger_after_setup_for_distributed(tmp_path: Path) -> None:
    init = [f"[default{r % 2}]:| distributed init (rank {r}): env://, gpu {r % 2}" for r in range(4)]
    assert ranks_of(tmp_path, [*init, f"[default0]:{LOGGED}"]) == [0, 1, 2, 3, 0]
    assert ranks_of(tmp_path, [*init, f"[default0]:{LOGGED}", f"[default1]:{LOGGED}"])[4:] == [None, None]
    assert ranks_of(tmp_path, [*TAGS, LOGGED])[4] is None


def test_a_seat_decides_before_a_habit(tmp_path: Path) -> None:
    init = [f"[default{r % 2}]:| distributed init (rank {r}): env://, gpu {r % 2}" for r in range(4)]
    files = {f"worker-{n}.log": [*init[2 * n : 2 * n + 2], f"[default0]:{LOGGED}"] for n in range(2)}
    assert [got[2] for got in files_ranks(tmp_path, files).values()] == [0, 2]  # by their seats


def test_the_coordination_service_is_task_0(tmp_path: Path) -> None:
    agent = COORDINATOR.replace("service.cc", "service_agent.cc")
    assert ranks_of(tmp_path, [COORDINATOR, agent]) == [0, None]


def test_a_child_is_reported_by_its_parent(tmp_path: Path) -> None:
    members = [f"Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r + 1}/2" for r in range(2)]
    child = "[rank: 1] Child process with PID 9178 terminated with code 1. Forcefully terminating all other processes"
    assert ranks_of(tmp_path, [*members, child]) == [0, 1, 0]


def test_own_devices_count_the_ranks_of_one_host(tmp_path: Path) -> None:
    who = [f"Hostname n-7, rank {r} / size 2, local rank {r}, pid {50 + r}" for r in range(2)]
    steps = [f"ep 1 train, step {s}, ce 1.7, mem_usage:cuda:{d} 8.1GB" for s in range(2) for d in range(2)]
    assert ranks_of(tmp_path, [*who, *steps])[2:] == [0, 1, 0, 1]
    alone = [step.replace("cuda:1", "cuda:0") for step in steps]
    assert ranks_of(tmp_path, [*who, *alone])[2:] == [None] * 4
    other = [line.replace("n-7, rank 1", "n-8, rank 1") for line in who]
    assert ranks_of(tmp_path, [*other, *steps])[2:] == [None] * 4


def test_a_field_names_the_writer_but_not_one_in_trouble(tmp_path: Path) -> None:
    head = "[2026-01-23 11:14:09,400][root][INFO] - "
    who = [f"{head}rank: {r}, local_rank: {r}, world_size: 3, gpu: {r}" for r in range(3)]
    said = [f"{head}epoch 1 done, rank: {r}, batches: 28" for r in (2, 0)]
    other = [f"{head}lost a worker, rank: 1, code: 3", f"{head}waiting, rank: 2, seconds: 40"]
    assert ranks_of(tmp_path, [*who, *said, *other]) == [0, 1, 2, 2, 0, None, None]


def test_spawned_processes_count_from_0_again(tmp_path: Path) -> None:
    lines = [f"[{job},{rank}]<stdout>:step {step}" for step in range(9) for job in (1, 2) for rank in range(2)]
    assert ranks_of(tmp_path, lines)[:4] == [0, 1, None, None]


def test_the_process_in_a_files_name(tmp_path: Path) -> None:
    lines = [
        f"[INFO] HCCL({80 + r},python3):2026-10-09-18:20:00.664.491 [op_base.cc:211] [{80 + r}][HcclGetRootInfo] "
        f"rank[{r}] nRanks[2] device[{r}] server[172.30.20.77]"
        for r in range(2)
    ]
    files = {f"plog/plog-{80 + r}_20261009182000664.log": [lines[r], "text"] for r in range(2)}
    assert list(files_ranks(tmp_path, files).values()) == [[0, 0], [1, 1]]
