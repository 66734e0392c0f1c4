"""`l4tui report` on several jobs, on nothing, and on what is piped in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LINES = "".join(
    f"2026-03-01 10:00:{n:02},000 INFO [rank{n % 4}] train.py:10 iteration {n} loss 2.0\n" for n in range(30)
)


def report(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "l4tui", "report", "--no-cache", "--jobs", "1", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    for number in (11, 12):
        (tmp_path / f"slurm-{number}.out").write_text(LINES)
    return str(tmp_path)


def test_each_job_of_a_folder_has_its_report(jobs: str) -> None:
    told = report(jobs)
    assert told.returncode == 0
    assert "2 jobs, each read on its own: " in told.stderr
    assert told.stdout.count("\n\nThe job runs") == 1
    assert told.stdout.startswith("The job runs")
    lines = report(jobs, "--format", "json", "--check").stdout.splitlines()
    sources = [json.loads(line)["job"]["sources"] for line in lines]
    assert sorted(Path(paths[0]).name for paths in sources) == ["slurm-11.out", "slurm-12.out"]


def test_an_empty_log_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "job.log").touch()
    for told in (report(str(tmp_path / "job.log"), "--check"), report("-")):
        assert told.returncode == 0
        assert told.stdout.startswith("The log is empty: there is nothing to judge.\n")
        assert "sure" not in told.stdout


def test_what_is_piped_in_is_judged() -> None:
    failed = LINES + "[rank2]: Traceback (most recent call last):\n[rank2]: RuntimeError: CUDA error: out of memory\n"
    assert "4 ranks, 0 nodes, 30 lines" in report(text=LINES).stdout
    assert report("--check", text=failed).returncode == 1


def test_a_folder_without_logs_is_bad_input(tmp_path: Path) -> None:
    told = report(str(tmp_path))
    assert told.returncode == 2
    assert told.stderr.endswith("no log found\n")
