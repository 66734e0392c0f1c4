"""Who wrote a line, through the whole engine: one job in several layouts, and labelled cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine.filenames import names_of
from l4tui.engine.job import Job
from l4tui.engine.sources import open_path
from tests.engine.reading import ranks_of

CASES = Path(__file__).parents[3] / "shared" / "cases"


def read(root: Path, files: list[Path]) -> Iterator[tuple[Path, int, int]]:
    """Yield (file, line, rank) of every entry."""
    sources = []
    names = names_of([file.relative_to(root) for file in files])
    for i, (file, name) in enumerate(zip(files, names, strict=True)):
        source = open_path(str(file))
        source.index, source.name = i, name
        sources.append(source)
    job = Job(sources)
    try:
        job.read_all()
        snap = job.snapshot()
        entries = np.arange(snap.length)
        for place, rank in zip(snap.places(entries), snap.rank(entries).tolist(), strict=True):
            yield files[place.source], place.line, rank
    finally:
        job.close()


def node_lines(node: int, taught: bool) -> list[tuple[str, int]]:
    """Return the log of one agent of two, with the true rank of each line; the second node holds the lower ranks."""
    first = 0 if node else 2
    lines = [(f"+ torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --node-rank {node} t.py", -1)]
    for j in range(2):
        r = first + j
        text = f"rank {r} starts on n{node}, local rank {j}, pid {70 + r}, restart 0" if taught or j else "ready"
        lines.append((f"[default{j}]:2026-03-01 10:00:0{j},000 - main - INFO - {text}", r))
    for step in range(6):
        text = f"2026-03-01 10:01:0{step},000 - main - INFO - step {step}"
        lines += [(f"[default{j}]:{text}", first + j) for j in range(2)]
    lines.append((f"[default1]:[rank{first + 1}]: Traceback (most recent call last):", first + 1))
    return lines


@pytest.mark.parametrize("taught", [True, False])
@pytest.mark.parametrize("layout", ["files", "host", "label", "mixed"])
def test_two_nodes(tmp_path: Path, layout: str, taught: bool) -> None:
    nodes = [node_lines(n, taught) for n in range(2)]
    if layout == "files":
        files = [tmp_path / f"worker-{n}.log" for n in range(2)]
        truth = {(files[n], i): rank for n in range(2) for i, (_, rank) in enumerate(nodes[n], 1)}
        for file, lines in zip(files, nodes, strict=True):
            file.write_text("".join(f"{text}\n" for text, _ in lines))
    else:
        prefix = {"host": "n{}: ", "label": "{}: ", "mixed": ""}[layout]
        files = [tmp_path / "job.log"]
        pairs = zip(*nodes, strict=True)
        woven = [(prefix.format(n) + text, rank) for pair in pairs for n, (text, rank) in enumerate(pair)]
        truth = {(files[0], i): rank for i, (_, rank) in enumerate(woven, 1)}
        files[0].write_text("".join(f"{text}\n" for text, _ in woven))
    found = list(read(tmp_path, files))
    assert all(rank in (-1, truth[file, line]) for file, line, rank in found)
    if layout != "mixed":
        assert all(rank == truth[file, line] for file, line, rank in found)


@pytest.mark.skipif(not CASES.is_dir(), reason="the labelled cases are not here")
@pytest.mark.parametrize("case", sorted(p.name for p in CASES.glob("reports/*")) if CASES.is_dir() else [])
def test_no_definite_rank_is_wrong(case: str) -> None:
    root = CASES / "reports" / case
    truth = json.loads((root / "truth.json").read_text())
    asked = {(root / truth.get("file", "input.log"), int(n)): r for n, r in (truth.get("rank_of_line") or {}).items()}
    for name, lines in (truth.get("rank_of_line_other") or {}).items():
        asked |= {(root / name, int(n)): r for n, r in lines.items()}
    files = sorted(p for p in root.rglob("*") if p.is_file() and p.name != "truth.json")
    wrong = []
    for file, line, rank in read(root, files):
        right = asked.get((file, line), rank)
        if rank >= 0 and rank not in (right if isinstance(right, list) else [right]):
            wrong.append((file.name, line, rank, right))
    assert not wrong


def test_torch_tells_the_rank_of_a_ray_process(tmp_path: Path) -> None:
    colours = {"(": "[36m(", ") ": ")[0m "}  # what a copy of a terminal keeps of them
    for form in ({}, colours):
        lines = []
        for rank in range(2):
            tag = f"(WorkerDict pid=81{rank}) "
            for plain, coloured in form.items():
                tag = tag.replace(plain, coloured)
            lines += [f"{tag}loading", f"{tag}50%|##  | 1/2[rank{rank}]:[W205 10:00:00.123456789 x.cpp:1] Warning: y"]
            lines += [f"{tag}[rank{rank}]:[W205 10:00:00.123456789 x.cpp:1] Warning: y", f"{tag}step 1"]
        assert ranks_of(tmp_path, lines) == [0] * 4 + [1] * 4
