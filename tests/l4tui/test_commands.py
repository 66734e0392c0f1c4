"""The small commands: config, keys, doctor."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from l4tui.actions import ACTIONS
from l4tui.cli import main
from l4tui.commands import doctor
from l4tui.config import Config, settings
from l4tui.exits import Exit


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_the_settings_in_force_are_shown_as_toml(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("L4TUI_TZ", 'a"b')
    assert main(["config"]) == Exit.OK
    shown = tomllib.loads(capsys.readouterr().out)
    assert shown["read"]["tz"] == 'a"b'
    assert {key for table in shown.values() for key in table} == {f.name for f in settings()}


def test_keys_lists_every_action_as_it_is_bound(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "--format", "json", "--keys", "follow=ctrl+f"]) == Exit.OK
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == [action.id for action in ACTIONS]
    assert rows["follow"]["keys"] == ["ctrl+f"]
    assert main(["keys"]) == Exit.OK
    shown = capsys.readouterr().out
    assert all(f" {action.id} " in shown and action.words in shown for action in ACTIONS)


def test_a_key_wanted_twice_is_an_error_that_names_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "--keys", "search=n"]) == Exit.USAGE
    assert "'search' and by 'next_hit'" in capsys.readouterr().err


def named(environ: dict[str, str], name: str, config: Config | None = None) -> doctor.Finding:
    return next(finding for finding in doctor.findings(environ, config or Config()) if finding.name == name)


def test_doctor_runs_anywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == Exit.OK
    assert all(line[:3] in ("ok ", "!! ") for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"NO_COLOR": ""}, "off: NO_COLOR"),
        ({"COLORTERM": "truecolor", "TERM": "xterm"}, "16 million"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "linux"}, "16: the ansi themes"),
    ],
)
def test_doctor_counts_colours(environ: dict[str, str], words: str) -> None:
    assert named(environ, "colours").words.startswith(words)


def test_doctor_names_what_is_wrong(tmp_path: Path) -> None:
    assert "L4TUI_THEEM" in named({"L4TUI_THEEM": "x", "L4TUI_THEME": "y"}, "environment").words
    assert not named({"STY": "1.pts"}, "screen").is_fine
    assert named({}, "cache", Config(cache=False)).words == "switched off"
    assert not named({}, "cache", Config(cache_dir=tmp_path / "x" / "y", cache_max=10**18)).is_fine
