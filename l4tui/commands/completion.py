"""`l4tui completion bash|zsh|fish`: completion scripts made from the argument parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from l4tui.commands import COMMANDS
from l4tui.config import Config
from l4tui.exits import Exit


class Option(NamedTuple):
    """One option of a command as a shell needs it."""

    flags: tuple[str, ...]
    words: str
    takes_value: bool
    choices: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="write it where the shell looks, or source it")


def run(args: argparse.Namespace, config: Config) -> int:
    """Print the script."""
    script = {"bash": bash, "zsh": zsh, "fish": fish}[args.shell]
    print("\n".join(script(options_by_command())))
    return Exit.OK


def options_by_command() -> dict[str, list[Option]]:
    """Read every command's options from its parser; the screen's stand under the empty name."""
    from l4tui.cli import command_parser, load_command, screen_parser  # cli itself knows no command's module

    parsers = {"": screen_parser()} | {c.name: command_parser(c.name, load_command(c.name)) for c in COMMANDS}
    return {name: list(_options(parser)) for name, parser in parsers.items()}


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:  # argparse offers no public way to list them
        choices = tuple(str(choice) for choice in action.choices or ())
        words = "" if action.help in (None, argparse.SUPPRESS) else str(action.help).replace("%%", "%")
        if action.option_strings or choices:
            yield Option(tuple(action.option_strings), words, action.nargs != 0, choices)


def bash(table: dict[str, list[Option]]) -> Iterator[str]:
    """Yield the lines for bash: commands first, then options of the command, else files."""
    names = "|".join(command.name for command in COMMANDS)
    yield "_l4tui() {"
    yield '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" command="" words=""'
    yield "  local i"
    yield "  for ((i = 1; i < COMP_CWORD; i++)); do"
    yield f'    case "${{COMP_WORDS[i]}}" in {names}) command="${{COMP_WORDS[i]}}"; break ;; esac'
    yield "  done"
    yield '  case "$command:$prev" in'
    for name, choices in table.items():
        for option in choices:
            if option.choices and option.flags:
                patterns = "|".join(f"{name}:{flag}" for flag in option.flags)
                yield f'    {patterns}) COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$cur")); return ;;'
    yield "  esac"
    yield '  case "$command" in'
    for name, choices in table.items():
        flags = [flag for option in choices for flag in option.flags]
        plain = [choice for option in choices if not option.flags for choice in option.choices]
        words = [*plain, *flags] if name else [*(c.name for c in COMMANDS), *flags]
        yield f'''    {name or '""'}) words="{" ".join(words)}" ;;'''
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur") $(compgen -f -- "$cur"))'
    yield "}"
    yield "complete -o filenames -F _l4tui l4tui"


def zsh(table: dict[str, list[Option]]) -> Iterator[str]:
    """Yield the lines for zsh."""
    yield "#compdef l4tui"
    yield "_l4tui() {"
    yield "  local command=${words[(r)(" + "|".join(c.name for c in COMMANDS) + ")]}"
    yield "  local -a commands"
    yield "  commands=(" + " ".join(_single(f"{c.name}:{c.words}") for c in COMMANDS) + ")"
    yield '  case "$command" in'
    for name, choices in table.items():
        specs = [_zsh_spec(flag, option) for option in choices for flag in option.flags]
        plain = [option for option in choices if not option.flags]
        specs += [_single(f"*:value:({' '.join(option.choices)})") for option in plain] or [_single("*:file:_files")]
        first = "      (( CURRENT == 2 )) && _describe command commands" if not name else ""
        yield f"    {_single(name)})"
        if first:
            yield first
        yield "      _arguments " + " ".join(specs) + " ;;"
    yield "  esac"
    yield "}"
    yield '_l4tui "$@"'


def _zsh_spec(flag: str, option: Option) -> str:
    words = "".join(" " if c in "[]:\\" else c for c in option.words)
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
    return _single(f"{flag}[{words}]{value}")


def fish(table: dict[str, list[Option]]) -> Iterator[str]:
    """Yield the lines for fish."""
    for command in COMMANDS:
        yield f"complete -c l4tui -n __fish_use_subcommand -a {command.name} -d {_fish(command.words)}"
    for name, choices in table.items():
        when = f"__fish_seen_subcommand_from {name}" if name else "__fish_use_subcommand"
        for option in choices:
            line = f"complete -c l4tui -n {_fish(when)}"
            for flag in option.flags:
                line += f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
            if option.choices:
                line += f" -x -a {_fish(' '.join(option.choices))}"
            elif option.takes_value:
                line += " -r"
            yield f"{line} -d {_fish(option.words)}"


def _single(words: str) -> str:
    return "'" + words.replace("'", "'\\''") + "'"


def _fish(words: str) -> str:
    return "'" + words.replace("\\", "\\\\").replace("'", "\\'") + "'"
