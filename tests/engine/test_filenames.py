"""Paths of real layouts, one by one and as sets."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine import filenames
from l4tui.engine.filenames import names_of, short_names
from l4tui.engine.model import UNKNOWN, SourceName

ROWS = tomllib.loads(Path(filenames.__file__).with_name("filenames.toml").read_text())["name"]
SAMPLES = [(row["name"], sample) for row in ROWS for sample in row["samples"]]


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SAMPLES)])
def test_samples(name: str, sample: dict[str, object]) -> None:
    beside = [PurePosixPath(str(p)) for p in sample.get("beside", [])]  # type: ignore[attr-defined]
    found = names_of([PurePosixPath(str(sample["path"])), *beside])[0]
    fields = {field: sample[field] for field in SourceName._fields if field in sample}
    expected = SourceName(**fields)  # type: ignore[arg-type]
    assert (found.rank, found.local_rank, found.node) == (expected.rank, expected.local_rank, expected.node)
    if not sample.get("none"):
        assert found == expected


def named(*paths: str) -> dict[str, SourceName]:
    return dict(zip(paths, names_of([PurePosixPath(p) for p in paths]), strict=True))


def test_slurm_task_before_host() -> None:
    found = named(*(f"logs/job-17-{t}-n{t // 2}.{x}" for t in range(4) for x in ("out", "err")))
    assert found["logs/job-17-3-n1.err"] == SourceName(rank=3, node="n1", stream="stderr", group="logs/job-17-3-n1")
    assert found["logs/job-17-0-n0.out"].stream == "stdout"


@pytest.mark.parametrize(
    "paths",
    [
        ("step-17.2-2-0.out", "step-17.2-2-1.out"),  # %n: nodes
        ("sweep-18_0.log", "sweep-18_1.log", "sweep-18_2.log"),  # an array's jobs
        ("slurm-18_0.out", "slurm-18_1.out"),
        ("train.log", "train.log.1", "train.log.2.gz"),  # rotation
        ("seed0/train.log", "seed1/train.log"),
        ("0.log", "1.log"),
        ("job-17-4-n1.out", "job-17-9-n1.out"),  # numbers that do not count up from 0
        ("slurm-17.out",),
    ],
)
def test_numbers_that_are_no_rank(paths: tuple[str, ...]) -> None:
    assert all(name.rank < 0 and name.local_rank < 0 for name in named(*paths).values())


def test_tasks_behind_a_jobs_id() -> None:
    tasks = [f"train.12.{t:04}.out" for t in range(3)]
    ranks = [name.rank for name in names_of([PurePosixPath(p) for p in [*tasks, "slurm-12.out"]])]
    assert ranks == [0, 1, 2, UNKNOWN]
    assert [name.rank for name in names_of([PurePosixPath(p) for p in [*tasks, "train.12.out"]])] == [0, 1, 2, UNKNOWN]
    for others in (tasks, [*tasks, "slurm-13.out"], [*tasks[1:], "slurm-12.out"]):  # nobody says that 12 is a job
        assert {name.rank for name in names_of([PurePosixPath(p) for p in others])} == {UNKNOWN}


def test_hosts_by_their_set() -> None:
    found = named("exa0-torchrun.log", "exa1-torchrun.log", "tpu-vm-0.log", "tpu-vm-1.log", "readme.log")
    assert [name.node for name in found.values()] == ["exa0", "exa1", "tpu-vm-0", "tpu-vm-1", None]
    found = named("gx-12/train.log", "gx-13/train.log")
    assert [name.node for name in found.values()] == ["gx-12", "gx-13"]
    assert named("exa0.log")["exa0.log"].node is None  # one name alone may be anything


@pytest.mark.parametrize(
    ("name", "hosts"),
    [
        ("slurm-77.{}.out", ("node003", "node004")),
        ("pretrain-481516-{}.err", ("gpu-b7", "gpu-b8")),
        ("llama2-7b-481516-{}.log", ("gx-11", "gx-12")),
        ("train_{}.log", ("gpu-a01", "gpu-a02")),
        ("log_{}.txt", ("worker-0", "worker-1")),
        ("output.{}.log", ("dgx01", "dgx02")),
    ],
)
def test_hosts_behind_words_of_files(name: str, hosts: tuple[str, ...]) -> None:
    assert [one.node for one in names_of([PurePosixPath(name.format(host)) for host in hosts])] == list(hosts)


@pytest.mark.parametrize(
    "name",
    ["train_lr{}.log", "train-epoch0{}.log", "job-120{}.log", "exp-12-{}.log", "train_7b_v0{}.log", "dc1-r12-n{}.log"],
)
def test_numbers_behind_words_of_files_that_are_no_hosts(name: str) -> None:
    assert {one.node for one in names_of([PurePosixPath(name.format(n)) for n in (1, 2)])} == {None}


def test_a_dot_ends_a_hosts_name() -> None:
    assert {name.node for name in named("o.0.vm", "o.1.vm", "e.0.vm", "e.1.vm").values()} == {None}


def test_streams_in_folders_of_their_own() -> None:
    found = named("out/gx-11", "err/gx-11", "out/gx-12", "err/gx-12")
    assert [name.stream for name in found.values()] == ["stdout", "stderr"] * 2
    assert found["out/gx-11"].group == found["err/gx-11"].group != found["out/gx-12"].group


def test_streams_pair() -> None:
    found = named("16-node.out", "16-node.err", "other.out")
    assert found["16-node.out"].stream == "stdout" and found["16-node.err"].stream == "stderr"
    assert found["16-node.out"].group == found["16-node.err"].group
    assert found["other.out"].stream is None


def test_two_runs_of_one_tree_are_two_groups() -> None:
    found = named("none_aaaaaaaa/attempt_0/0/stdout.log", "none_bbbbbbbb/attempt_0/0/stdout.log")
    assert len({name.group for name in found.values()}) == 2


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab01-_./rank taskouterlg", min_size=1, max_size=30), max_size=8))
def test_any_names(texts: list[str]) -> None:
    paths = [PurePosixPath(text) for text in texts]
    found = names_of(paths)
    assert len(found) == len(paths)
    assert sorted(map(str, found)) == sorted(map(str, names_of(paths[::-1])))


def test_files_by_node_and_task() -> None:
    found = named(*(f"fit-812-{t // 2}-{t}.out" for t in range(6)))
    assert [name.rank for name in found.values()] == [0, 1, 2, 3, 4, 5]
    turned = named(*(f"fit-812-{t}-{t // 2}.out" for t in range(6)))
    assert {name.rank for name in turned.values()} == {UNKNOWN}


def test_files_of_a_stream_by_rank() -> None:
    found = named(*(f"run/{stream}.{r}" for r in range(3) for stream in ("stdout", "stderr")))
    assert found["run/stderr.2"] == SourceName(rank=2, stream="stderr")
    assert named("out.0", "out.1")["out.1"].rank == 1
    for others in (("out.1", "out.2"), ("out", "out.0", "out.1"), ("part.0", "part.1")):
        assert {name.rank for name in named(*others).values()} == {UNKNOWN}


def test_names_as_short_as_they_tell_files_apart() -> None:
    assert short_names(("job/0/out", "job/1/out", "job/1/err", "out")) == ("0/out", "1/out", "err", "out")
    assert short_names(("x/0/s/out", "x/0/t/out", "y/0/s/out")) == ("x/0/s/out", "t/out", "y/0/s/out")
    assert short_names(("a.log", "a.log")) == ("a.log", "a.log")  # nothing tells them apart: no loop
    assert short_names(("-",)) == ("-",) and short_names(()) == ()
