"""Open the screen: check the input and the terminal, then hand over to the app."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from l4tui import firstpage
from l4tui.config import Config
from l4tui.exits import UsageError
from l4tui.inputs import check_paths
from l4tui.terminal import adopt_terminal

if TYPE_CHECKING:
    from l4tui.engine.discovery import Found


def open_screen(paths: Sequence[str], config: Config) -> int:
    """Check what was given, load the app and run it."""
    checked = check_paths(paths)
    if not os.isatty(1):
        raise UsageError("standard output is no terminal: use l4tui export or l4tui report, or run l4tui in a terminal")
    firstpage.show(checked)
    try:
        piped = adopt_terminal()
    except OSError:
        raise UsageError("there is no terminal to take keys from: use l4tui export or l4tui report") from None
    found = find(checked, max(piped.stdin, 0))
    from l4tui.app import run_app  # loads Textual: 400 ms CPU

    return run_app(found, config)


def find(paths: Sequence[str], stdin: int) -> Found:
    """Find the logs in the paths; raise UsageError where there are none."""
    from l4tui.engine.descriptors import SourceError
    from l4tui.engine.discovery import discover  # loads numpy: 260 ms CPU

    try:
        return discover(paths, stdin=stdin)
    except SourceError as error:
        raise UsageError(str(error)) from None
