"""Open the screen: check the input and the terminal, then hand over to the app."""

from __future__ import annotations

import os
from collections.abc import Sequence

from l4tui import firstpage
from l4tui.config import Config
from l4tui.exits import UsageError
from l4tui.inputs import check_paths
from l4tui.terminal import adopt_terminal


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
    from l4tui.opening import find  # loads numpy: 260 ms CPU

    found = find(checked, max(piped.stdin, 0))
    from l4tui.app import run_app  # loads Textual: 400 ms CPU

    return run_app(found, config)
