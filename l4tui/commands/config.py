"""`l4tui config`: the default config file with comments, or the settings in force."""

from __future__ import annotations

import argparse

from l4tui import config as settings
from l4tui.exits import Exit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--default", action="store_true", help="print the default config file with comments")


def run(args: argparse.Namespace, config: settings.Config) -> int:
    """Print the default file or every setting as it is resolved."""
    if args.default:
        print(settings.default_text(), end="")
        return Exit.OK
    print(f"# {config.file or 'no config file; write one with: l4tui config --default'}")
    section = ""
    for f in settings.settings():
        if f.metadata["section"] != section:
            section = f.metadata["section"]
            print(f"\n[{section}]")
        value = getattr(config, f.name)
        print(f"{f.name} = {_toml(value)}")
    print("\n[keys]")
    for action, keys in config.keys.items():
        print(f"{_toml(action)} = {_toml(keys)}")
    print(f"\n# {len(config.formats)} [[format]] tables: l4tui formats lists them")
    return Exit.OK


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    words = str(value or "").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else "�" for c in words) + '"'
