"""Which ranks are on each node, as launchers tell it before anybody has spoken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job


def seats(tmp_path: Path, *lines: str) -> dict[str, list[int]]:
    return seats_of(tmp_path, {"job.log": lines})


def seats_of(tmp_path: Path, files: Mapping[str, Iterable[str]]) -> dict[str, list[int]]:
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    job = Job(discover([str(tmp_path / name) for name in files]).whole().sources)
    job.read_all()
    found = {node: list(ranks) for node, ranks in job.snapshot().node_ranks.items()}
    job.close()
    return found


def spoken(nodes: dict[str, list[int]]) -> list[str]:
    return [f"{n}: [rank{r}]: step {s} loss 2.{r}" for s in range(12) for n, ranks in nodes.items() for r in ranks]


def test_nodes_that_a_command_numbers(tmp_path: Path) -> None:
    start = [f"n{k}: + torchrun --nnodes=2 --nproc_per_node=4 --node_rank={k} train.py" for k in (0, 1)]
    chatter = [f"n{k}: loading part {p} of the data" for p in range(9) for k in (0, 1)]
    found = seats(tmp_path, *start, *chatter)
    assert found == {"n0": [0, 1, 2, 3], "n1": [4, 5, 6, 7]}


def test_a_dynamic_rendezvous_numbers_its_nodes_itself(tmp_path: Path) -> None:
    start = [
        f"n{k}: + torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --node_rank={k} train.py" for k in (0, 1)
    ]
    chatter = [f"n{k}: loading part {p} of the data" for p in range(9) for k in (0, 1)]
    assert not any(seats(tmp_path, *start, *chatter).values())


def test_the_last_node_has_what_is_left(tmp_path: Path) -> None:
    lines = spoken({"n0": [0, 1], "n1": [2, 3]}) + [f"n2: loading part {p}" for p in range(8)]
    found = seats(tmp_path, "n0: using world size: 6", *lines)
    assert found == {"n0": [0, 1], "n1": [2, 3], "n2": [4, 5]}


def test_nothing_is_left_where_a_node_is_half_told(tmp_path: Path) -> None:
    lines = spoken({"n0": [0, 1], "n1": [2]}) + [f"n2: loading part {p}" for p in range(8)]
    found = seats(tmp_path, "n0: using world size: 6", *lines)
    assert found.get("n2", []) == []


def test_agents_that_tell_their_ranks_seat_workers_that_say_no_name(tmp_path: Path) -> None:
    head = "INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:"
    chatter = [f"Epoch: [1][{b}/90]\tLoss 2.{b}" for b in range(20)]
    files = {f"ft-worker-{k}.log": [head, f"  global_ranks=[{k}]", *chatter] for k in range(3)}
    assert seats_of(tmp_path, files) == {f"ft-worker-{k}": [k] for k in range(3)}
