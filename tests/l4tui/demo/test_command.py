"""`l4tui demo` as a command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from l4tui.commands import demo as command
from l4tui.demo import scenarios
from l4tui.exits import UsageError


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "l4tui", "demo", *words], capture_output=True, text=True, timeout=60)


def test_list_names_every_scenario() -> None:
    done = demo("--list")
    assert done.returncode == 0
    assert {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")} >= set(scenarios())


def test_write_leaves_logs_and_truth(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "job"
    words = ["--scenario", "segfault", "--ranks", "8", "--layout", "srun", "--style", "megatron", "--bytes", "2MB"]
    done = demo("--write", str(folder), *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert (folder / "truth.json").exists()
    assert 1_500_000 < sum(path.stat().st_size for path in folder.glob("*.out")) < 2_500_000
    again = demo("--write", str(folder))
    assert (again.returncode, "not empty" in again.stderr) == (2, True)


def test_a_scenario_may_be_named_alone(tmp_path: Path) -> None:
    done = demo("nan-rank", "--write", str(tmp_path / "job"), "--ranks", "4")
    assert done.returncode == 0 and "scenario nan-rank" in done.stderr


def test_bad_wishes_are_one_line() -> None:
    bad = (["nonsense"], ["--ranks", "-3"], ["--ranks", "9", "--nodes", "2"], ["--rate", "0"], ["--bytes", "1GB"])
    for words in bad:
        done = demo(*words)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_plain_streams_to_standard_output() -> None:
    done = demo("--plain", "--ranks", "4", "--nodes", "1", "--rate", "5000", "--layout", "srun")
    assert done.returncode == 0
    assert "OutOfMemoryError" in done.stdout


def test_the_list_of_names_loads_no_numpy() -> None:
    code = "import sys, l4tui.commands.demo; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


class Writer:
    """A process that writes when it is waited for the second time, or ends."""

    def __init__(self, file: Path, *, ends: bool) -> None:
        self.file, self.ends, self.waits, self.returncode = file, ends, 0, None

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float) -> None:
        self.waits += 1
        if self.waits == 2:
            self.returncode = 3 if self.ends else None
            self.file.write_text("" if self.ends else "a line\n")
        raise subprocess.TimeoutExpired("writer", timeout)


def test_a_writer_that_needs_long_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PATIENCE_S", 0.0)
    writer = Writer(tmp_path / "job.log", ends=False)
    command.wait_for_lines(tmp_path, writer)  # type: ignore[arg-type]
    assert writer.waits == 2
    (tmp_path / "job.log").unlink()
    with pytest.raises(UsageError, match="without a line"):
        command.wait_for_lines(tmp_path, Writer(tmp_path / "job.log", ends=True))  # type: ignore[arg-type]
