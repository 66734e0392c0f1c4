"""Groups of options that several commands share, and which of them are settings."""

from __future__ import annotations

import argparse

_READING = ("ranks_per_node", "world_size", "map", "tz", "jobs", "dask", "max_mem", "cache", "cache_dir")
_CHOOSING = ("ranks", "since", "until")
_SCREEN = ("follow", "ascii", "theme", "keys")
_SWITCHES = ("cache", "follow", "ascii")

VALUED = frozenset(  # options whose value is the next word, whatever it begins with (--since -10m)
    f"--{name.replace('_', '-')}" for name in ("config", *_READING, *_CHOOSING, *_SCREEN) if name not in _SWITCHES
)


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add the PATH arguments of a command that reads logs."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file, folder, quoted glob, or - for standard input")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the choice of the config file."""
    parser.add_argument("--config", metavar="FILE", help="config file (default: $XDG_CONFIG_HOME/l4tui/config.toml)")
    _mark(parser, ("config",))


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what tells the engine how to read the logs."""
    group = parser.add_argument_group("reading")
    group.add_argument("--ranks-per-node", metavar="N", help="ranks on each node, where the text cannot tell")
    group.add_argument("--world-size", metavar="N", help="ranks of the job, where the text cannot tell")
    group.add_argument("--map", metavar="FILE", help='a file of lines "node ranks", as in "n12 96-103"')
    group.add_argument("--tz", metavar="ZONE", help="zone of times that name none: UTC, +02:00, Europe/Berlin")
    group.add_argument("--jobs", metavar="N", help="processes that index (default: one a core)")
    group.add_argument("--dask", metavar="ADDRESS", help="a Dask scheduler whose workers index: tcp://host:8786")
    group.add_argument("--max-mem", metavar="SIZE", help="memory of the index before it goes to a mapped file: 4GB")
    group.add_argument(
        "--no-cache", dest="cache", action="store_const", const=False, help="neither read nor write the index cache"
    )
    group.add_argument("--cache-dir", metavar="DIR", help="where finished indexes are kept")
    _mark(parser, _READING)


def add_choosing(parser: argparse.ArgumentParser) -> None:
    """Add what narrows down which lines are shown."""
    group = parser.add_argument_group("which lines")
    group.add_argument("--ranks", metavar="SET", help="only these ranks: 0-7,!3,node:n12")
    group.add_argument("--since", metavar="TIME", help="only lines from this time on: 12:03, 2026-01-31T12:03, -10m")
    group.add_argument("--until", metavar="TIME", help="only lines up to this time")
    _mark(parser, _CHOOSING)


def add_screen(parser: argparse.ArgumentParser) -> None:
    """Add what only the screen heeds."""
    group = parser.add_argument_group("screen")
    group.add_argument(
        "--no-follow", dest="follow", action="store_const", const=False, help="do not read on while the files grow"
    )
    group.add_argument("--ascii", action="store_const", const=True, help="draw with ASCII characters only")
    group.add_argument("--theme", metavar="NAME", help="a theme of the palette; auto follows the terminal")
    group.add_argument(
        "--keys", action="append", metavar="ACTION=KEY", help="bind an action to other keys; repeatable (l4tui keys)"
    )
    _mark(parser, _SCREEN)


def settings_of(args: argparse.Namespace) -> dict[str, object]:
    """Return the settings among a command's arguments by name; None where the flag was not given."""
    return {name: getattr(args, name) for name in args.settings}


def _mark(parser: argparse.ArgumentParser, names: tuple[str, ...]) -> None:
    parser.set_defaults(settings=(*(parser.get_default("settings") or ()), *names))
