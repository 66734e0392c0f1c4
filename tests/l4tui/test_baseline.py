"""`l4tui baseline` and `report --baseline NAME`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from l4tui.cli import main
from l4tui.exits import Exit


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "healthy.log"
    path.write_text("".join(f"[rank{r}]: step {i} loss {i}.5\n" for i in range(9) for r in range(4)))
    return path


def test_add_list_use_remove(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "add", "small", str(log)]) == Exit.OK
    assert (tmp_path / "data" / "l4tui" / "baselines" / "small.json").is_file()
    capsys.readouterr()
    assert main(["baseline", "list", "--json"]) == Exit.OK
    row = json.loads(capsys.readouterr().out)
    assert (row["baseline"], row["ranks"], row["lines"]) == ("small", 4, 36)
    assert main(["baseline", "list"]) == Exit.OK and "small" in capsys.readouterr().out
    assert main(["report", "--format", "json", "--baseline", "small", str(log)]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert report["baseline"] == {"jobs": 1, "events_removed": 1}
    assert main(["baseline", "remove", "small"]) == Exit.OK
    assert main(["baseline", "list"]) == Exit.OK and capsys.readouterr().out == ""


def test_jobs_come_together_under_a_name(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.log"
    other.write_bytes(log.read_bytes())
    for path in (log, other, log):
        assert main(["baseline", "add", "small", str(path)]) == Exit.OK
    capsys.readouterr()
    assert main(["report", "--format", "json", "--baseline", "small", str(log)]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["baseline"]["jobs"] == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["baseline", "add"], "which NAME"),
        (["baseline", "add", "small"], "which PATH"),
        (["baseline", "add", "../up", "LOG"], "no name for a baseline"),
        (["baseline", "remove", "none"], "no baseline 'none'"),
        (["baseline", "remove", "none", "LOG"], "takes no PATH"),
        (["report", "--baseline", "none", "LOG"], "none: no such file or folder"),
    ],
)
def test_mistakes_are_one_line(words: list[str], told: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([w.replace("LOG", str(log)) for w in words]) == Exit.USAGE
    err = capsys.readouterr().err
    assert told in err and err.count("\n") == 1
