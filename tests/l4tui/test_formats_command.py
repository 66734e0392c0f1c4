"""`l4tui formats`: the list, and what was read in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from l4tui.cli import main


def test_lists_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats"]) == 0
    out = capsys.readouterr().out
    assert "srun-label" in out and "torchrun-tee" in out and "\x1b" not in out


def test_explains_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "job.log"
    log.write_bytes(b"".join(b"%d: [default%d]:step %d\x07\n" % (k // 2 % 2, k % 2, k) for k in range(80)))
    assert main(["formats", "--explain", str(log)]) == 0
    out = capsys.readouterr().out
    assert "accepted srun-label" in out and "task=0" in out and "local_rank=0" in out and "\x07" not in out
    assert main(["formats", "--json", "--explain", str(log)]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert [part["format"] for part in row["parts"]] == ["srun-label", "torchrun-tee"] and row["message"] == 14


def test_own_formats_are_listed_and_broken_ones_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        "[[format]]\nname = 'site'\npattern = '<<(?P<task>\\d+)>> '\n"
        "samples = [{line = '<<3>> x', fields = {task = '3'}}]\n"
        "[[format]]\nname = 'bad'\npattern = '('\n"
    )
    assert main(["formats", "--config", str(config)]) == 0
    out, err = capsys.readouterr()
    assert "own" in next(line for line in out.splitlines() if " site " in line or "prefix   site" in line)
    assert "'bad' left out" in err
