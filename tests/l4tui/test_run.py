"""l4tui run: the command's lines by rank, its log kept, signals and exit codes handed on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

LAUNCHER = """
import os, subprocess, sys
children = [
    subprocess.Popen([sys.executable, "-c", sys.argv[1]], env=os.environ | {"RANK": str(r), "LOCAL_RANK": str(r)})
    for r in range(3)
]
print("launcher speaks", flush=True)
sys.exit(max(child.wait() for child in children))
"""


def start(log: Path, *command: str, words: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("L4TUI_", "RANK", "LOCAL_RANK", "SLURM"))}
    return subprocess.Popen(
        [sys.executable, "-m", "l4tui", "run", "--plain", "--log", str(log), *words, "--", *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
    )  # fmt: skip


def test_lines_of_children_are_tagged_and_the_log_is_kept(tmp_path: Path) -> None:
    child = 'import os; print("hello"); os.write(2, b"past python\\n")'
    done = start(tmp_path / "job.log", sys.executable, "-c", LAUNCHER, child)
    out, err = done.communicate(timeout=60)
    assert done.returncode == 0
    lines = out.splitlines()
    assert sum("[l4 " not in line for line in lines) == 1 and "launcher speaks" in lines
    for rank in range(3):
        mine = [line.split("] ")[1] for line in lines if line.startswith(f"[l4 rank={rank} local={rank} ")]
        assert sorted(mine) == ["hello", "past python"]
    assert (tmp_path / "job.log").read_text() == out
    assert str(tmp_path / "job.log") in err


def test_lines_stay_as_they_are_on_demand(tmp_path: Path) -> None:
    done = start(tmp_path / "job.log", sys.executable, "-c", LAUNCHER, "print('hello')", words=("--no-tag",))
    assert done.communicate(timeout=60)[0].splitlines().count("hello") == 3


KILLED = "import os; os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(("code", "expected"), [("raise SystemExit(7)", 7), (KILLED, 137)])
def test_the_exit_code_is_the_commands(code: str, expected: int, tmp_path: Path) -> None:
    done = start(tmp_path / "job.log", sys.executable, "-c", code)
    done.communicate(timeout=60)
    assert done.returncode == expected


def test_signals_are_handed_on(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *a: sys.exit(5));"
        "print('ready', flush=True); time.sleep(30)"
    )
    done = start(tmp_path / "job.log", sys.executable, "-c", code)
    deadline = time.monotonic() + 20
    while "ready" not in ((tmp_path / "job.log").read_text() if (tmp_path / "job.log").exists() else ""):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    done.send_signal(signal.SIGTERM)
    done.communicate(timeout=30)
    assert done.returncode == 5


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    done = start(tmp_path / "job.log", "no-such-command-here")
    assert done.communicate(timeout=30)[1].startswith("l4tui: run: no-such-command-here: no such command")
    assert done.returncode == 2
