"""The README: its two commands are one line each, and what it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from l4tui.commands import COMMANDS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


def command(section: str) -> str:
    words = [sys.executable, ROOT / ".ci" / "readme_command.py", ROOT / "README.md", section]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def test_one_command_runs_the_demo_and_one_the_tests() -> None:
    assert command("Run").endswith("l4tui demo")
    assert command("Test").endswith("python -m pytest")
    for section in ("Run", "Test"):
        assert command(section).startswith("python3 -m venv ")


def test_ci_takes_the_test_command_from_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert "readme_command.py README.md Test" in script
    assert "pytest" not in script
    subprocess.run(["bash", "-n", ROOT / ".ci" / "run"], check=True, timeout=30)


def test_commands_and_files_that_it_names_exist() -> None:
    known = {row.name for row in COMMANDS}
    for name in re.findall(r"`?l4tui (export|report|index|formats|keys|doctor|slurm|config|completion|demo)\b", TEXT):
        if name != "demo":
            assert name in known, name
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("text", ["# A\n\n# B\n```\nx\n```\n", "# A\n```\nx\ny\n```\n", "no heading\n"])
def test_no_single_command_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)
    words = [sys.executable, ROOT / ".ci" / "readme_command.py", tmp_path / "README.md", "A"]
    assert subprocess.run(words, capture_output=True, timeout=30).returncode == 1
