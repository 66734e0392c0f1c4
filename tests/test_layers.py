"""The rules of the tree that a machine can check: layers, sizes, packaging, what an import loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CODE = ("l4tui", "engine", "widgets")
MODULES = [path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]
HEAVY = ("numpy", "textual", "rich", "drain3", "sklearn", "scipy", "dtaidistance", "watchfiles", "duckdb", "asyncio")


def imported(path: Path) -> Iterator[str]:
    """Yield the full names of all modules that a file imports anywhere in it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def reaches(name: str, *roots: str) -> bool:
    return any(name == root or name.startswith(root + ".") for root in roots)


def test_the_engine_knows_no_screen() -> None:
    for path in sorted((ROOT / "engine").rglob("*.py")):
        for name in imported(path):
            assert not reaches(name, "textual", "rich"), f"{path}: {name}"
            assert not reaches(name, "l4tui") or name == "l4tui" or reaches(name, "l4tui.engine"), f"{path}: {name}"


def test_widgets_know_no_app_no_files_and_no_processes() -> None:
    for path in sorted((ROOT / "widgets").rglob("*.py")):
        for name in imported(path):
            mine = name == "l4tui" or reaches(name, "l4tui.engine", "l4tui.widgets")
            assert not reaches(name, "l4tui") or mine, f"{path}: {name}"
            assert not reaches(name, "subprocess", "multiprocessing", "tempfile", "socket"), f"{path}: {name}"
        for node in ast.walk(ast.parse(path.read_bytes())):
            called = node.func if isinstance(node, ast.Call) else None
            assert not (isinstance(called, ast.Name) and called.id == "open"), f"{path}:{node.lineno} opens a file"
            opens = isinstance(called, ast.Attribute) and called.attr in ("read_text", "read_bytes", "write_text")
            assert not opens, f"{path}:{node.lineno} reads a file"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_short_and_finished(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 400
    assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", text)


def test_the_list_of_packages_is_the_tree() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = set()
    for path in MODULES:
        parts = path.parent.relative_to(ROOT).parts
        found.add(".".join(parts if parts[0] == "l4tui" else ("l4tui", *parts)))
    assert sorted(listed) == sorted(found)


def test_every_folder_of_code_is_a_package() -> None:
    for path in MODULES:
        assert (path.parent / "__init__.py").is_file(), path.parent


def loaded_by(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the modules it loaded."""
    script = f"import sys\nold = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - old), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "code",
    [
        "import l4tui",
        "import l4tui.cli, l4tui.config, l4tui.inputs",
        "from l4tui.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from l4tui.cli import main\nmain(['completion', 'bash'])",
    ],
)
def test_nothing_heavy_is_loaded_for_help(code: str) -> None:
    assert not loaded_by(code) & set(HEAVY)
