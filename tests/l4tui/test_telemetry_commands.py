"""What the command line makes of telemetry: --tensorboard and --reduction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from l4tui.cli import main
from l4tui.engine.telemetry.eventfiles import curves_of


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(
        "".join(f"{r}: step {i} loss {i + r}\n{r}: all quiet here\n" for i in range(1, 31) for r in range(4))
    )
    return path


def test_series_become_runs(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--no-cache", "--tensorboard", str(tmp_path / "board"), str(log)]) == 0
    (path,) = (tmp_path / "board" / "rank-00002").iterdir()
    loss = next(curve for curve in curves_of(path) if curve.name == "loss")
    assert loss.step.tolist() == list(range(1, 31)) and loss.value.tolist() == list(range(3, 33))
    out, err = capsys.readouterr()
    assert not out and "4 runs" in err


def test_follow_needs_a_board(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--follow", str(log)]) == 2
    assert "--tensorboard" in capsys.readouterr().err


def test_own_series_come_from_the_config_file(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text("".join(f"{r}: step {i} loss {i + r}\n{r}: card~7~{i}.5\n" for i in range(30) for r in range(4)))
    config = tmp_path / "config.toml"
    config.write_text("[[series]]\npattern = 'card~\\d+~(?P<fan>[\\d.]+)'\n[[series]]\npattern = '(?P<x>'\n")
    words = ["export", "--no-cache", "--config", str(config), "--tensorboard", str(tmp_path / "board"), str(log)]
    assert main(words) == 0
    (path,) = (tmp_path / "board" / "rank-00003").iterdir()
    assert {curve.name for curve in curves_of(path)} >= {"fan"}
    assert "left out" in capsys.readouterr().err


def test_reduction_is_written_as_text_and_json(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--no-cache", "--reduction", str(log)]) == 0
    text = capsys.readouterr().out
    assert "116 of 240 lines" in text.splitlines()[0] and "all quiet here" in text
    assert main(["report", "--no-cache", "--reduction", "--format", "json", str(log)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["saved_lines"] == 116 and found["savings"][0]["reason"] == "constant"
    assert main(["report", "--no-cache", "--reduction", "--format", "html", str(log)]) == 2
