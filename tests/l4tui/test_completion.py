"""Completion scripts: made from the parsers and understood by the shells that are here."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from l4tui.commands import COMMANDS
from l4tui.commands.completion import bash, fish, options_by_command, zsh

SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_the_script(shell: str) -> None:
    table = options_by_command()
    script = "\n".join(SHELLS[shell](table))
    for command in COMMANDS:
        assert command.name in script
    for option in (option for options in table.values() for option in options):
        assert all((flag if shell != "fish" else flag.lstrip("-")) in script for flag in option.flags)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_accepts_the_script(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    script = "\n".join(SHELLS[shell](options_by_command()))
    subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=30)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("l4tui conf", "config"),
        ("l4tui config --def", "--default"),
        ("l4tui completion f", "fish"),
        ("l4tui --asc", "--ascii"),
    ],
)
def test_bash_completes(words: str, expected: str) -> None:
    script = "\n".join(bash(options_by_command()))
    given = words.split(" ")
    ask = f'COMP_WORDS=({" ".join(given)}); COMP_CWORD={len(given) - 1}; _l4tui; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True, timeout=30)
    assert expected in done.stdout.split()
