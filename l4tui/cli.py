"""The command line: find the command, resolve the settings, run it, end with the right exit code."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn, Protocol, cast

import l4tui
from l4tui import config as settings
from l4tui import options
from l4tui.commands import COMMANDS
from l4tui.exits import Exit, UsageError
from l4tui.signals import end_in_order

# Objects made between two searches for garbage, by generation. What is read of a job lives as long as the job: to look
# through it again and again took a tenth of the time for 4,096 files.
COLLECTED = (50_000, 20, 50)


class CommandModule(Protocol):
    """What l4tui.commands.NAME offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""

    def run(self, args: argparse.Namespace, config: settings.Config) -> int:
        """Run the command and return its exit code."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and which takes no abbreviations."""

    def __init__(self, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage as well."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def load_command(name: str) -> CommandModule:
    """Import the module of a command."""
    return cast(CommandModule, importlib.import_module(f"l4tui.commands.{name}"))


def screen_parser() -> Parser:
    """Build the parser of `l4tui [PATH]…`."""
    width = max(len(command.name) for command in COMMANDS)
    listed = "\n".join(f"  {command.name:<{width}}  {command.words}" for command in COMMANDS)
    parser = Parser(
        "l4tui",
        "Explore the logs of a distributed training job by rank. Without a command, opens the screen on the paths.",
        f"commands (l4tui COMMAND --help):\n{listed}\n\nA file named like a command is opened as ./NAME.",
    )
    parser.add_argument("--version", action="version", version=f"l4tui {l4tui.__version__}")
    options.add_paths(parser)
    options.add_config(parser)
    options.add_choosing(parser)
    options.add_reading(parser)
    options.add_screen(parser)
    return parser


def command_parser(name: str, module: CommandModule) -> Parser:
    """Build the parser of one command."""
    parser = Parser(f"l4tui {name}", next(command.words for command in COMMANDS if command.name == name))
    module.add_arguments(parser)
    options.add_config(parser)
    return parser


def join_values(argv: Sequence[str]) -> list[str]:
    """Write `--option value` as `--option=value`, up to a `--`."""
    words: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            return [*words, word, *rest]
        value = next(rest, None) if word in options.VALUED else None
        words.append(word if value is None else f"{word}={value}")
    return words


def find_command(words: Sequence[str]) -> int | None:
    """Find the command's place: the first word that is no option, if it is a command's name."""
    at = next((i for i, word in enumerate(words) if not word.startswith("-") or word in ("-", "--")), None)
    names = [command.name for command in COMMANDS]
    return at if at is not None and words[at] in names else None


def dispatch(argv: Sequence[str]) -> int:
    """Run the command or the screen that argv asks for."""
    words = join_values(argv)
    at = find_command(words)
    if at is None:
        args = screen_parser().parse_intermixed_args(words)
        from l4tui.screen import open_screen  # loads Textual (400 ms CPU) once the input has been checked

        return open_screen(args.paths, settings.load(options.settings_of(args)))
    module = load_command(words[at])
    own, rest = [*words[:at], *words[at + 1 :]], []
    if getattr(module, "TAKES_COMMAND", False) and "--" in own:
        own, rest = own[: own.index("--")], own[own.index("--") + 1 :]  # argparse would read the command's options
    args = command_parser(words[at], module).parse_intermixed_args(own)
    args.rest = rest
    return module.run(args, settings.load(options.settings_of(args)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run l4tui and return its exit code; every error is one line on stderr."""
    if argv is None:
        end_in_order()
        gc.set_threshold(*COLLECTED)
    try:
        if sys.stdout is None:
            raise UsageError("standard output is closed")
        code = int(dispatch(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _hush_stdout()
        return Exit.PIPE
    except UsageError as error:
        return _fail(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{where}{error.strerror or error}")
    except Exception as error:
        if os.environ.get("L4TUI_DEBUG"):
            raise
        return _fail(f"internal error: {type(error).__name__}: {error} (L4TUI_DEBUG=1 shows where)")


def _fail(words: str) -> int:
    if sys.stderr is not None:
        line = " ".join("".join(c if c.isprintable() else "�" for c in part) for part in words.splitlines())
        sys.stderr.write(f"l4tui: {line}\n")
    return Exit.USAGE


def _hush_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
