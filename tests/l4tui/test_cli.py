"""The command line: which command, which exit code, one line for every mistake."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from l4tui import cli
from l4tui.commands import COMMANDS
from l4tui.exits import Exit, UsageError
from l4tui.inputs import check_paths


def l4tui(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, as a person does."""
    given = {"stdin": subprocess.DEVNULL, "timeout": 60} | more
    return subprocess.run([sys.executable, "-m", "l4tui", *args], capture_output=True, text=True, **given)  # type: ignore[call-overload]


def one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (done.returncode, done.stdout) == (Exit.USAGE, ""), done
    assert done.stderr.startswith("l4tui: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["export", "x"], 0),
        (["--theme", "export", "config"], 1),
        (["--since", "-10m", "export"], 1),
        (["x", "export"], None),
        (["--", "export"], None),
        (["./export"], None),
        (["-"], None),
        ([], None),
    ],
)
def test_the_command_is_the_first_word_that_is_no_option(
    words: list[str], at: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", (*COMMANDS, type(COMMANDS[0])("export", "")))
    assert cli.find_command(cli.join_values(words)) == at


def test_values_may_begin_with_a_dash() -> None:
    assert cli.join_values(["--since", "-10m", "a", "--", "--jobs", "4"]) == ["--since=-10m", "a", "--", "--jobs", "4"]
    assert cli.join_values(["--since"]) == ["--since"]


def test_help_lists_every_command_and_costs_little() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = l4tui("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert all(f"  {command.name} " in done.stdout for command in COMMANDS)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_has_help(name: str) -> None:
    done = l4tui(name, "--help")
    assert done.returncode == 0, done.stderr
    assert f"l4tui {name}" in done.stdout


def test_a_missing_path_is_one_line(tmp_path: Path) -> None:
    one_line(l4tui(str(tmp_path / "no")), "no: no such file or folder")
    one_line(l4tui("confg"), "the command 'config'")
    one_line(l4tui(str(tmp_path / "*.log")), "no file matches")
    one_line(l4tui("bad\x1b]0;\nname"), "no such file")


def test_bad_usage_is_one_line() -> None:
    one_line(l4tui("--nonsense"), "--nonsense", "l4tui --help")
    one_line(l4tui("config", "--nonsense"), "--nonsense", "l4tui config --help")


def test_without_a_terminal_it_says_what_to_do(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("hello\n")
    one_line(l4tui(str(log)), "no terminal", "l4tui export")
    one_line(l4tui(), "no input")


@pytest.mark.parametrize("command", [["-"], []])
def test_a_closed_standard_input_is_one_line(command: list[str]) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m l4tui "$@" <&-', sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=60,
    )
    one_line(done, "closed" if command else "no input")


def test_a_closed_standard_output_is_one_line() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m l4tui config >&-', sys.executable],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (Exit.USAGE, "l4tui: standard output is closed\n")


def test_no_permission_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "job.log"
    log.write_text("hello\n")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read everything
    with pytest.raises(UsageError, match="no permission"):
        check_paths([str(log)])


def test_a_broken_link_and_a_device_are_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(UsageError, match="No such file"):
        check_paths([str(tmp_path / "link")])
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        check_paths(["/dev/null"])


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "l4tui", "config", "--default"], stdout=write, stderr=subprocess.PIPE, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (Exit.PIPE, b"")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), Exit.INTERRUPTED, ""),
        (FileNotFoundError(2, "No such file", "x.log"), Exit.USAGE, "l4tui: x.log: No such file\n"),
        (ZeroDivisionError("oh"), 2, "l4tui: internal error: ZeroDivisionError: oh (L4TUI_DEBUG=1 shows where)\n"),
    ],
)
def test_how_errors_end(
    error: BaseException, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(argv: object) -> int:
        raise error

    monkeypatch.delenv("L4TUI_DEBUG", raising=False)
    monkeypatch.setattr(cli, "dispatch", fail)
    assert cli.main([]) == code
    assert capsys.readouterr().err == words
