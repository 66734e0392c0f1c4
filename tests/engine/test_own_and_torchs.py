"""A program's own tags beside those that PyTorch and torchrun write: each is read for what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.crews import Form, clock, said
from tests.engine.reading import files_ranks, ranks_of

TRACE = ["Traceback (most recent call last):", '  File "/srv/fit.py", line 61, in turn', "    loss.backward()"]
LOST = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.9]:1936"


def of_torch(rank: int) -> list[str]:
    """Write what PyTorch prints where a rank ends in an exception."""
    return [f"[rank{rank}]: {text}" for text in (*TRACE, *TRACE[1:] * 8, LOST)]


OWN: list[Form] = [
    lambda r, t, k: f"[R{r}] {t}",
    lambda r, t, k: f"{clock(k)} INFO [{r}] {t}",
    lambda r, t, k: f"{'IIWE'[k % 4]}20261129 10:00:{k % 60:02}.123456 {900 + r} fit.cc:{7 + k % 3}] [{r}/8] {t}",
    lambda r, t, k: f"Process {r} | {t}",
]


@pytest.mark.parametrize("form", OWN)
def test_torchs_tracebacks_do_not_hide_what_a_program_writes(tmp_path: Path, form: Form) -> None:
    lines = [(form(r, text, k), r) for k, (r, text) in enumerate(said(8, led=False))]
    lines += [(line, r) for r in (0, 2, 3, 5, 6, 7) for line in of_torch(r)]
    assert ranks_of(tmp_path, [line for line, _ in lines]) == [rank for _, rank in lines]


@pytest.mark.parametrize("form", OWN)
def test_files_of_nodes_that_end_in_tracebacks(tmp_path: Path, form: Form) -> None:
    files: dict[str, list[str]] = {"gx-11.txt": [], "gx-12.txt": []}
    for k, (r, text) in enumerate(said(8, led=False)):
        files[f"gx-{11 + r // 4}.txt"].append(form(r, text, k))
    for r in (1, 2, 4, 7):
        files[f"gx-{11 + r // 4}.txt"] += of_torch(r)
    found = files_ranks(tmp_path, files)
    assert {file: set(ranks) for file, ranks in found.items()} == {"gx-11.txt": {0, 1, 2, 3}, "gx-12.txt": {4, 5, 6, 7}}


def teed(dying: tuple[int, ...]) -> tuple[dict[str, list[str]], dict[str, list[int]]]:
    """Write two nodes' files under `torchrun --role rank --tee 3`: its tags hold local ranks, PyTorch's hold ranks."""
    files: dict[str, list[str]] = {"run-a.txt": [], "run-b.txt": []}
    told: dict[str, list[int]] = {"run-a.txt": [], "run-b.txt": []}
    lines = [(r, f"[fit] {clock(k)} - {text}") for k, (r, text) in enumerate(said(8, led=False))]
    lines += [(r, line) for r in dying for line in of_torch(r)]
    for r, line in lines:
        name = f"run-{'ab'[r // 4]}.txt"
        files[name].append(f"[rank{r % 4}]:{line}")
        told[name].append(r)
    return files, told


def test_torchruns_tags_for_a_role_called_rank_are_local_ranks(tmp_path: Path) -> None:
    files, told = teed((4, 5, 6, 7))
    assert files_ranks(tmp_path, files)["run-b.txt"] == told["run-b.txt"]


@pytest.mark.parametrize("dying", [(), (5,), (1, 5, 6)])
def test_such_a_tag_never_names_another_rank(tmp_path: Path, dying: tuple[int, ...]) -> None:
    files, told = teed(dying)
    for name, ranks in files_ranks(tmp_path, files).items():
        assert all(rank in (wanted, None) for rank, wanted in zip(ranks, told[name], strict=True))


def test_who_was_ended_before_it_could_report_has_its_nodes_place(tmp_path: Path) -> None:
    """The agent's table names its one host; three of four local ranks tell where it begins."""
    files, told = teed((4, 5, 7))
    agent = "E1129 10:03:00.000000 4100 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) "
    files["run-b.txt"] += [f"{agent}local_rank: 0 (pid: 4104) of binary: /usr/bin/python", "=" * 60, "fit.py FAILED"]
    files["run-b.txt"] += ["-" * 60, "Failures:", "  <NO_OTHER_FAILURES>", "-" * 60]
    files["run-b.txt"] += ["Root Cause (first observed failure):", "[0]:", "  time      : 2026-11-29_10:03:00"]
    files["run-b.txt"] += ["  host      : gx-12", "  rank      : 4 (local_rank: 0)", "  exitcode  : 1 (pid: 4104)"]
    files["run-b.txt"].append("=" * 60)
    assert files_ranks(tmp_path, files)["run-b.txt"][: len(told["run-b.txt"])] == told["run-b.txt"]


@pytest.mark.parametrize("sep", [":", "@", "/"])
def test_a_host_and_its_own_number_behind_a_stamp(tmp_path: Path, sep: str) -> None:
    lines = []
    for k, (r, text) in enumerate(said(8, led=False)):
        stamp = f"{clock(k).replace(' ', 'T')}.123+01:00"
        lines.append((f"{stamp} gx{r // 4 + 11}{sep}{r % 4} INFO {text}", r))
    alone = ranks_of(tmp_path, [line for line, _ in lines])
    assert set(alone) == {None}
    table = ["=" * 60, "fit.py FAILED", "-" * 60, "Failures:"]
    for r in (1, 6):
        table += [f"[{r}]:", f"  host      : gx{r // 4 + 11}", f"  rank      : {r} (local_rank: {r % 4})"]
        table += [f"  exitcode  : 1 (pid: {4000 + r})"]
    found = ranks_of(tmp_path, [*(line for line, _ in lines), *table, "=" * 60], "told.txt")
    assert found[: len(lines)] == [rank for _, rank in lines]
