"""Real torchrun jobs, tagged both ways: every line of the export has its rank (set L4TUI_TORCH=1; installs PyTorch)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path

import pytest

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("L4TUI_TORCH"), reason="L4TUI_TORCH is not set"),
]
RANKS = 8
SCRIPT = """
import logging, os, sys, warnings
import torch, torch.distributed as dist
{install}
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("train")
dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(20):
    total = torch.full((4,), float(rank))
    dist.all_reduce(total)
    log.info("step %d loss %.3f", step, float(total[0]) / (step + 1) + rank)
    if step % 5 == 0:
        print("bare print of", rank)
        sys.stderr.write("a bar\\r another\\r last\\n")
        os.write(2, b"past python\\n")
warnings.warn("of the library")
log.warning("two\\nlines")
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """Return the Python of a venv with PyTorch: L4TUI_TORCH_PYTHON, else one made for these tests."""
    if given := os.environ.get("L4TUI_TORCH_PYTHON"):
        return Path(given)
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "l4tui" / "test-torch"
    if not (folder / "bin" / "torchrun").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", "torch==2.13.0", "numpy"], check=True)
    return folder / "bin" / "python"


def rows_of(log: Path) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "l4tui", "export", "--no-cache", str(log)], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(log: Path) -> None:
    """Every line is a rank's, or the launcher's own; each rank has all its lines."""
    rows, lines = rows_of(log), log.read_bytes().decode().split("\n")[:-1]
    assert [row["line"] for row in rows] == list(range(1, len(lines) + 1))
    own = [lines[number - 1] for number, row in enumerate(rows, 1) if row["rank"] is None]
    assert all("torch/distributed/run.py" in line for line in own), own
    job = Job(discover([str(log)]).choose(0).sources)
    job.read_all()
    counts = job.snapshot().counts()
    assert (counts.launcher, counts.mixed, counts.unknown) == (len(own), 0, 0)
    texts = Counter((row["rank"], str(row["text"]).split(":")[-1].strip()) for row in rows)
    for rank in range(RANKS):
        assert texts[rank, f"bare print of {rank}"] == 4
        assert texts[rank, "past python"] == 4
        steps = [row for row in rows if row["rank"] == rank and " loss " in str(row["text"])]
        assert len(steps) == 20 and all(row["local_rank"] == rank for row in steps)


def torchrun(python: Path, *words: str) -> list[str]:
    return [str(python.parent / "torchrun"), "--nproc-per-node", str(RANKS), "--standalone", *words]


def test_by_l4tui_run(python: Path, tmp_path: Path) -> None:
    script, log = tmp_path / "train.py", tmp_path / "job.log"
    script.write_text(SCRIPT.format(install=""))
    subprocess.run(
        [sys.executable, "-m", "l4tui", "run", "--plain", "--log", str(log), "--", *torchrun(python, str(script))],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=240,
    )  # fmt: skip
    check(log)


def test_by_two_lines_in_the_script(python: Path, tmp_path: Path) -> None:
    import l4tui.tag

    (tmp_path / "l4tui").mkdir()  # what `pip install l4tui` would put there: the module needs nothing else
    (tmp_path / "l4tui" / "__init__.py").touch()
    (tmp_path / "l4tui" / "tag.py").write_bytes(Path(l4tui.tag.__file__).read_bytes())
    script, log = tmp_path / "train.py", tmp_path / "job.log"
    script.write_text(SCRIPT.format(install="import l4tui.tag; l4tui.tag.install()"))
    with log.open("wb") as out:
        subprocess.run(
            torchrun(python, str(script)), check=True, stdout=out, stderr=out, cwd=tmp_path, timeout=240,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
    check(log)
