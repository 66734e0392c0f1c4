"""Files, pods and processes of one rank each: a line or two of each tell all of its lines' rank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.reading import files_ranks, ranks_of

TURN = (2, 0, 3, 1)  # the rank of each stream
HELLO = "Hello from rank {r} of 4"


def text(rank: int, told: str = HELLO) -> list[str]:
    """Return what a process writes that tells its rank once."""
    return ["loading", told.format(r=rank), *(f"step {k} loss 2.{k}" for k in range(12)), "done"]


def mixed(prefix: Callable[[int], str], told: str = HELLO, tellers: int = 4) -> list[tuple[str, int]]:
    """Return (line, rank) of four streams that take turns."""
    rows = [text(rank, told if i < tellers else "up") for i, rank in enumerate(TURN)]
    return [(prefix(i) + row[k], TURN[i]) for k in range(len(rows[0])) for i, row in enumerate(rows)]


NAMED: dict[str, Callable[[int], str]] = {
    "kubetail": lambda i: f"[fit-worker-{i}] ",
    "kubectl": lambda i: f"[pod/fit-worker-{i}/main] ",
    "stern": lambda i: f"fit-worker-{i} main ",
    "pdsh": lambda i: f"gx-{i + 11}: ",
    "compose": lambda i: f"fit-{i + 1}  | ",
    "honcho": lambda i: f"10:00:00 fit{i}.1 | ",
    "parallel": lambda i: f"seed={i}\t",
}


@pytest.mark.parametrize("name", NAMED)
def test_names_in_front_of_lines(tmp_path: Path, name: str) -> None:
    lines = mixed(NAMED[name])
    assert ranks_of(tmp_path, [line for line, _ in lines]) == [rank for _, rank in lines]


@pytest.mark.parametrize("name", NAMED)
def test_one_that_does_not_tell_its_rank(tmp_path: Path, name: str) -> None:
    lines = mixed(NAMED[name], tellers=3)
    found = ranks_of(tmp_path, [line for line, _ in lines])
    assert [rank for (line, _), rank in zip(lines, found, strict=True) if "Hello" not in line] == [None] * 57


@pytest.mark.parametrize("name", NAMED)
def test_names_of_nodes_with_two_ranks_of_which_one_tells(tmp_path: Path, name: str) -> None:
    lines = mixed(NAMED[name], told="Hello from rank {r} of 8")
    found = ranks_of(tmp_path, [line for line, _ in lines])
    assert {rank for (line, _), rank in zip(lines, found, strict=True) if "Hello" not in line} == {None}


@pytest.mark.parametrize("name", ["kubetail", "pdsh", "stern"])
def test_pods_that_count_nodes(tmp_path: Path, name: str) -> None:
    lines = [line for line, _ in mixed(NAMED[name])]
    for told in ("torchrun --nnodes 4 --nproc-per-node 8 fit.py", "[default7]:up"):
        found = ranks_of(tmp_path, [f"{NAMED[name](k % 4)}{told}" for k in range(12)] + lines)
        assert {rank for line, rank in zip(lines, found[12:], strict=True) if "Hello" not in line} == {None}


FILES = ("log.{}", "out/{}.txt", "p{}/current", "host-{}.out", "train_{:02}.log")


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    found = files_ranks(tmp_path, {name.format(41 + i): text(rank) for i, rank in enumerate(TURN)})
    assert [set(ranks) for ranks in found.values()] == [{rank} for rank in TURN]


def test_files_of_which_the_world_is_not_known(tmp_path: Path) -> None:
    found = files_ranks(tmp_path, {f"log.{41 + i}": text(rank, "Hello from rank {r}") for i, rank in enumerate(TURN)})
    assert [set(ranks) for ranks in found.values()] == [{None, rank} for rank in TURN]


def test_a_console_beside_the_files_of_the_other_ranks(tmp_path: Path) -> None:
    files = {f"log.{41 + i}": text(rank) for i, rank in enumerate(TURN) if rank}
    found = files_ranks(tmp_path, {"console.txt": [*text(0), "said by anybody"], **files})
    assert [set(ranks) for ranks in found.values()] == [{None, 0}, {None, 2}, {None, 3}, {None, 1}]


def test_a_file_that_tells_two_ranks(tmp_path: Path) -> None:
    files = {f"log.{41 + i}": text(rank) for i, rank in enumerate(TURN)}
    files["log.41"].append("Hello from rank 3 of 4")
    assert {rank for ranks in files_ranks(tmp_path, files).values() for rank in ranks[2:12]} == {None}
