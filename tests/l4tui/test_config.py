"""Settings: file, environment and flags in order, and mistakes named."""

from __future__ import annotations

import tomllib
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from l4tui.config import Config, default_text, load, settings, size
from l4tui.exits import UsageError


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "l4tui").mkdir()
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def write(home: dict[str, str], text: str) -> None:
    Path(home["XDG_CONFIG_HOME"], "l4tui", "config.toml").write_text(text)


def test_without_a_file_the_defaults_hold(home: dict[str, str]) -> None:
    assert load({}, home) == Config()
    with pytest.raises(FrozenInstanceError):
        Config().theme = "x"  # type: ignore[misc]


def test_flags_beat_the_environment_and_the_environment_the_file(home: dict[str, str]) -> None:
    write(home, '[screen]\ntheme = "file"\nascii = true\n[read]\njobs = 3\n[cache]\ncache_max = "512MB"\n')
    config = load({"theme": "flag", "cache": None}, {**home, "L4TUI_THEME": "env", "L4TUI_JOBS": "4"})
    assert (config.theme, config.jobs, config.ascii, config.cache_max) == ("flag", 4, True, 512_000_000)
    assert config.cache is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[screen]\nthem = 'x'\n", "unknown key 'them' in [screen]: did you mean 'theme'?"),
        ("[scren]\n", "unknown section [scren]: did you mean 'screen'?"),
        ("[read]\njobs = 'many'\n", "jobs: expects a whole number, not 'many'"),
        ("[read]\njobs = true\n", "jobs: expects a whole number"),
        ("[screen]\nascii = 3\n", "ascii: expects true or false, not 3"),
        ("screen = 1\n", "'screen' is a table: write [screen]"),
        ("[format]\nname = 'x'\n", "formats are written as [[format]] tables"),
        ("[screen\n", "config.toml: "),
    ],
)
def test_a_mistake_in_the_file_is_named(home: dict[str, str], text: str, words: str) -> None:
    write(home, text)
    with pytest.raises(UsageError) as caught:
        load({}, home)
    assert words in str(caught.value)


def test_a_mistake_in_the_environment_or_a_flag_is_named(home: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="L4TUI_CACHE: expects true or false, not 'maybe'"):
        load({}, {**home, "L4TUI_CACHE": "maybe"})
    with pytest.raises(UsageError, match="--world-size: expects a whole number, not 'x'"):
        load({"world_size": "x"}, home)
    with pytest.raises(UsageError, match="no such config file"):
        load({"config": "/no/such/file"}, home)


def test_keys_and_formats_pass_through(home: dict[str, str]) -> None:
    write(home, "[keys]\nsearch = 'slash'\n[[format]]\nname = 'a'\n[[format]]\nname = 'b'\n")
    config = load({"keys": ["follow=f", "search=ctrl+f"]}, home)
    assert config.keys == {"search": "ctrl+f", "follow": "f"}
    assert [entry["name"] for entry in config.formats] == ["a", "b"]
    with pytest.raises(UsageError, match="expects ACTION=KEY"):
        load({"keys": ["follow"]}, home)


def test_the_default_file_sets_nothing_and_its_examples_load(home: dict[str, str]) -> None:
    text = default_text()
    write(home, text)
    config = load({}, home)
    assert config == Config(file=config.file)
    opened = "\n".join(
        line.removeprefix("# ") if any(line.startswith(f"# {f.name} = ") for f in settings()) else line
        for line in text.splitlines()
    )
    assert {f.name for f in settings()} == {key for table in tomllib.loads(opened).values() for key in table}
    write(home, opened)
    assert load({}, home).world_size == 64


@pytest.mark.parametrize(
    ("words", "number"),
    [("4096", 4096), (7, 7), ("2GB", 2 * 10**9), ("1.5 k", 1500), ("3MiB", 3 * 2**20), ("1tb", 10**12)],
)
def test_sizes(words: str | int, number: int) -> None:
    assert size(words) == number


@pytest.mark.parametrize("words", ["", "GB", "-", "1 XB", "nan", "inf", True, 1.5, -1, "-1", None])
def test_what_is_no_size(words: object) -> None:
    with pytest.raises(ValueError, match="expects a size"):
        size(words)


@pytest.mark.parametrize(
    ("environ", "is_plain"),
    [
        ({}, False),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "C.utf8", "TERM": "screen"}, False),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, False),  # what Python makes of a plain C locale
        ({"LANG": "en_US.ISO-8859-1"}, True),
        ({"TERM": "linux", "LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": "C", "L4TUI_ASCII": "false"}, False),
    ],
)
def test_a_terminal_of_ascii_alone_is_known_by_its_locale(
    home: dict[str, str], environ: dict[str, str], is_plain: bool
) -> None:
    assert load({}, {**home, **environ}).ascii is is_plain
