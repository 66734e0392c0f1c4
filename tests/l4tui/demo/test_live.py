"""The live job: paced by the wall, ended with its parent."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from l4tui.commands.demo import parse_size
from l4tui.demo import live
from l4tui.exits import UsageError

COMMAND = [sys.executable, "-m", "l4tui.demo"]
SMALL = ["--ranks", "8", "--nodes", "2"]


def grown(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.log"))


def wait_until(check: object, seconds: float = 10) -> bool:
    assert callable(check)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False


def test_history_stands_at_once_and_the_job_goes_on(tmp_path: Path) -> None:
    child = subprocess.Popen([*COMMAND, str(tmp_path), *SMALL])
    try:
        assert wait_until((tmp_path / ".ready").exists)
        before = grown(tmp_path)
        assert before > 10_000
        assert wait_until(lambda: grown(tmp_path) > before)
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(5) == 0


def test_a_fast_job_ends_by_itself() -> None:
    out = io.BytesIO()
    live(out, "oom-gpu", ranks=8, nodes=2, iterations=20, rate=2000.0)
    assert b"torch.OutOfMemoryError" in out.getvalue()
    assert b"ChildFailedError" in out.getvalue()


def test_stop_ends_a_slow_job() -> None:
    stop = threading.Event()
    out = io.BytesIO()
    writer = threading.Thread(target=live, args=(out,), kwargs={"ranks": 8, "nodes": 2, "stop": stop})
    writer.start()
    assert wait_until(lambda: len(out.getvalue()) > 10_000)
    stop.set()
    writer.join(5)
    assert not writer.is_alive()


def test_the_writer_ends_with_its_parent(tmp_path: Path) -> None:
    script = f"import subprocess, sys; print(subprocess.Popen({[*COMMAND, str(tmp_path), *SMALL]!r}).pid, flush=True); "
    parent = subprocess.Popen(
        [sys.executable, "-c", script + "sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout and parent.stdin
    pid = int(parent.stdout.readline())
    assert wait_until((tmp_path / ".ready").exists)
    parent.stdin.close()
    parent.wait(5)
    parent.stdout.close()

    def gone() -> bool:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        return state == "Z"

    assert wait_until(gone)
    if not gone():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("text", "size"), [("1GB", 10**9), ("300 MB", 3 * 10**8), ("4KiB", 4096), ("77", 77), ("1.5m", 1_500_000)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "one", "-1GB", "1XB"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(UsageError):
        parse_size(text)
