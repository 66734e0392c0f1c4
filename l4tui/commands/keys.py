"""`l4tui keys`: every action with its keys as they are bound now, and the name the config file knows it by."""

from __future__ import annotations

import argparse
import json

from l4tui import options
from l4tui.actions import ACTIONS, KeyClash, keymap, shown_key
from l4tui.config import Config
from l4tui.exits import Exit, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    options.add_screen(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Print the table; raise UsageError where the settings bind one key twice."""
    try:
        bound = keymap(config.keys)
    except KeyClash as error:
        raise UsageError(str(error)) from None
    keys = {action.id: [key for key, name in bound.items() if name == action.id] for action in ACTIONS}
    if args.format == "json":
        rows = [action._asdict() | {"keys": keys[action.id]} for action in ACTIONS]
        print(json.dumps(rows, indent=1))
        return Exit.OK
    shown = {name: " ".join(map(shown_key, bound_to)) for name, bound_to in keys.items()}
    wide, broad = max(map(len, shown.values())), max(map(len, shown))
    group = ""
    for action in ACTIONS:
        if action.group != group:
            print(f"{'' if not group else chr(10)}{action.group}")
            group = action.group
        print(f"  {shown[action.id]:<{wide}}  {action.id:<{broad}}  {action.words}")
    return Exit.OK
