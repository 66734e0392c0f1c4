"""The wheel: built from the tree, installed alone, it holds everything it needs and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from l4tui.commands import COMMANDS

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def run(*words: str | Path, cwd: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "L4TUI_"))}
    done = subprocess.run(words, cwd=cwd, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from a copy: setuptools would leave a build folder in the tree and take up what is stale in it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("l4tui", "engine", "widgets"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tree / "dist", tree, cwd=tree)
    return next((tree / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a fresh environment that borrows only the dependencies; return its bin folder."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, with_pip=True)
    site = next(home.glob("lib/python*/site-packages"))
    site.joinpath("borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")  # its own .pth files stay unread
    run(home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=home)
    return home / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"l4tui"}
    tree = wheel.parent.parent
    for path in (path for folder in ("l4tui", "engine", "widgets") for path in (tree / folder).rglob("*")):
        if path.is_file():
            inside = path.relative_to(tree).as_posix()
            assert (inside if inside.startswith("l4tui/") else f"l4tui/{inside}") in names


def test_it_runs_alone(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed / "python", "-c", "import l4tui.engine; print(l4tui.__file__, l4tui.engine.__file__)", cwd=tmp_path
    )
    assert where.count(str(installed.parent)) == 2
    assert "usage: l4tui" in run(installed / "l4tui", "--help", cwd=tmp_path)
    if any(command.name == "demo" for command in COMMANDS):
        assert len(run(installed / "l4tui", "demo", "--list", cwd=tmp_path).splitlines()) >= 10


def test_it_reads_a_log_alone(installed: Path, tmp_path: Path) -> None:
    lines = [f"[default{rank}]:2026-03-01 12:00:0{rank} step 1 loss 2.{rank}" for rank in range(4)]
    Path(tmp_path, "job.log").write_text("\n".join(lines) + "\n")
    rows = [json.loads(row) for row in run(installed / "l4tui", "export", "job.log", cwd=tmp_path).splitlines()]
    assert [(row["source"], row["line"], row["rank"]) for row in rows] == [("job.log", n + 1, n) for n in range(4)]
