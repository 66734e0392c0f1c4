"""Written jobs: deterministic, true to their truth file, every scenario, style and layout."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from l4tui.demo import LAYOUTS, STYLES, scenarios, write, write_suite
from l4tui.demo.styles import style_named

SMALL: dict[str, Any] = {"ranks": 16, "nodes": 4, "iterations": 24}
NAMES = list(scenarios())
CASES = [
    (name, style, layout)
    for (name, layout), style in zip(itertools.product(NAMES, LAYOUTS), itertools.cycle(STYLES), strict=False)
]


def logs(folder: Path) -> dict[str, list[bytes]]:
    """Return the physical lines of every log by relative name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "truth.json":
            assert path.read_bytes().endswith(b"\n")
            found[str(path.relative_to(folder))] = path.read_bytes().split(b"\n")[:-1]
    return found


@pytest.mark.parametrize(("name", "style", "layout"), CASES)
def test_truth_fits_the_lines(tmp_path: Path, name: str, style: str, layout: str) -> None:
    truth = write(tmp_path, name, seed=len(name), style=style, layout=layout, **SMALL)
    lines = logs(tmp_path)
    every = [line for part in lines.values() for line in part]
    assert json.loads((tmp_path / "truth.json").read_text()) == truth
    assert truth["line_count"] == len(every)
    assert not any(b"\x02" in line or b"\x03" in line for line in every)
    for pattern in truth["failure_patterns"]:
        assert any(re.search(pattern.encode(), line) for line in every), pattern
    assert len(truth["failure_patterns"]) == len(truth["failure_pattern_scope"])
    assert truth["file"] in lines
    owners = {rank: host for host, ranks in truth["nodes"].items() for rank in ranks}
    assert {owners[rank] for rank in truth["culprit_ranks"]} <= set(truth["culprit_nodes"])
    if truth["fault"] != "healthy":
        assert truth["stage"]
        assert (truth["iteration"] is None) == (truth["stage"] not in ("train", "checkpoint", "eval"))


def tagged_rank(layout: str, truth: dict[str, Any], file: str, line: bytes) -> int | None:
    """Read the rank from the launcher's tag or the path, by this test's own rules."""
    hosts = list(truth["nodes"])
    per_node = truth["world_size"] // len(hosts)
    if layout == "srun":
        found = re.match(rb" *(\d+): (?!slurmstepd)", line)
        return int(found[1]) if found else None
    if layout == "mpirun":
        found = re.match(rb"\[1,(\d+)\]<std(?:out|err)>:", line)
        return int(found[1]) if found else None
    if layout == "torchrun":
        found = re.match(rb"\[default(\d+)\]:", line)
        return hosts.index(file.removesuffix(".log")) * per_node + int(found[1]) if found else None
    if layout == "ranks":
        named = re.search(r"rank_(\d+)\.log", file)
        return int(named[1]) if named else None
    named = re.match(r"([^/]+)/[^/]+/attempt_\d/(\d+)/std", file)
    return hosts.index(named[1]) * per_node + int(named[2]) if named else None


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "plain"])
@pytest.mark.parametrize("name", ["healthy", "elastic-restart", "rank-killed"])
def test_sampled_lines_belong_to_their_ranks(tmp_path: Path, name: str, layout: str) -> None:
    truth = write(tmp_path, name, seed=5, layout=layout, style="megatron", **SMALL)
    lines = logs(tmp_path)
    asked = {truth["file"]: truth["rank_of_line"], **truth["rank_of_line_other"]}
    checked = 0
    for file, told in asked.items():
        for number, rank in told.items():
            line = lines[file][int(number) - 1]
            if isinstance(rank, list):
                assert [int(tag) for tag in re.findall(rb"\[1,(\d+)\]<", line)] == rank
            else:
                assert tagged_rank(layout, truth, file, line) == rank, line
            checked += 1
    assert checked > 100


def test_a_plain_log_asks_only_for_ranks_that_lines_tell(tmp_path: Path) -> None:
    truth = write(tmp_path, "oom-gpu", layout="plain", style="python", **SMALL)
    lines = logs(tmp_path)[truth["file"]]
    told = {int(n): rank for n, rank in truth["rank_of_line"].items() if rank is not None}
    assert len(told) > 100
    for number, rank in told.items():
        assert re.search(rf"\brank ?{rank}\b".encode(), lines[number - 1], re.IGNORECASE), lines[number - 1]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        write(tmp_path / folder, "hang-collective", seed=seed, layout="mpirun", **SMALL)
    a, b, c = ((tmp_path / name / "mpirun.log").read_bytes() for name in "abc")
    assert a == b != c


def test_ended_ranks_say_no_more(tmp_path: Path) -> None:
    truth = write(tmp_path, "rank-killed", seed=2, layout="srun", **SMALL)
    lines = logs(tmp_path)[truth["file"]]
    killed = next(i for i, line in enumerate(lines) if line.endswith(b": Killed"))
    label = f"{truth['culprit_ranks'][0]:2d}: ".encode()
    assert not any(line.startswith(label) and b"slurmstepd" not in line for line in lines[killed:])


def test_ranks_really_differ(tmp_path: Path) -> None:
    truth = write(tmp_path, "healthy", seed=1, layout="ranks", **SMALL)
    losses = set()
    for file, lines in logs(tmp_path).items():
        if "rank_" in file:
            losses.add(next(line.split(b"local loss ")[1].split()[0] for line in lines if b"step 9 " in line))
    assert len(losses) > truth["world_size"] * 0.8


@pytest.mark.parametrize(("style", "layout"), [("python", "torchrun"), ("megatron", "srun"), ("hf", "mpirun")])
def test_long_jobs_are_whole(tmp_path: Path, style: str, layout: str) -> None:
    wanted = 6_000_000
    truth = write(tmp_path, "oom-gpu", seed=1, style=style, layout=layout, ranks=16, nodes=2, bytes_wanted=wanted)
    lines = logs(tmp_path)
    every = [line for part in lines.values() for line in part]
    assert 0.8 * wanted < sum(len(line) + 1 for line in every) < 1.2 * wanted
    assert truth["line_count"] == len(every)
    assert not any(b"\x02" in line or b"\x03" in line for line in every)
    marker = re.compile(rb"iteration +(\d+)/|\| (\d+)/\d+ \[" if style != "hf" else rb"\| (\d+)/\d+ \[")
    steps = [int(next(filter(None, found.groups()))) for line in every if (found := marker.search(line))]
    assert steps == list(range(1, truth["iteration"]))
    assert len(set(every)) > 0.97 * len(every)
    for pattern in truth["failure_patterns"]:
        assert sum(bool(re.search(pattern.encode(), line)) for line in every) == 1


def test_clocks_of_copies_run_on(tmp_path: Path) -> None:
    write(tmp_path, "healthy", style="glog", layout="ranks", ranks=2, nodes=1, bytes_wanted=2_000_000)
    path = next(tmp_path.rglob("rank_0.log"))
    stamps = re.findall(rb"^[IDWE](\d{4} \d\d:\d\d:\d\d\.\d{6})", path.read_bytes(), re.MULTILINE)
    assert len(stamps) > 5000
    assert stamps == sorted(stamps)


def test_suite_gives_each_case_a_healthy_sibling(tmp_path: Path) -> None:
    kind = {"styles": ("python", "glog"), "layouts": ("torchrun", "srun"), **SMALL}
    folders = write_suite(tmp_path, ["oom-gpu", "straggler"], **kind)
    assert len(folders) == 2
    for folder in folders:
        truth = json.loads((folder / "truth.json").read_text())
        sibling = json.loads((tmp_path / truth["healthy_baseline"] / "truth.json").read_text())
        assert (sibling["style"], sibling["layout"], sibling["fault"]) == (truth["style"], truth["layout"], "healthy")


def test_bad_wishes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown scenario"):
        write(tmp_path, "nonsense")
    with pytest.raises(ValueError, match="needs at least 2 ranks"):
        write(tmp_path, "desync", ranks=1, nodes=1)
    with pytest.raises(ValueError, match="do not divide"):
        write(tmp_path, ranks=10, nodes=4)
    with pytest.raises(ValueError, match="unknown layout"):
        write(tmp_path, layout="smoke")
    with pytest.raises(ValueError, match="unknown style"):
        style_named("smoke")


@pytest.mark.parametrize(("ranks", "nodes"), [(1, 1), (2, 2), (6, 3)])
def test_small_jobs_can_be_simulated(tmp_path: Path, ranks: int, nodes: int) -> None:
    for name, row in scenarios().items():
        if ranks >= row.least_ranks and nodes >= row.least_nodes:
            truth = write(tmp_path / name, name, ranks=ranks, nodes=nodes, iterations=10)
            assert truth["iteration"] is None or 0 < truth["iteration"] <= 10


def test_names_offered_are_names_known() -> None:
    from l4tui.demo import layouts, styles

    assert list(STYLES) == list(styles._STYLES)
    assert list(LAYOUTS) == list(layouts._LAYOUTS)
