"""Check the paths a person gave before anything is read, so that a mistake is one clear line."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from l4tui.commands import COMMANDS
from l4tui.exits import UsageError

STDIN = "-"


def check_paths(paths: Sequence[str], standard_input: bool = True) -> list[str]:
    """Return the paths to open; without any, standard input when it is piped.

    Raises UsageError for a path that is missing or must not be read, a glob without a match, no input at all, and a
    standard input that is closed.
    """
    if not paths and standard_input and is_piped(0):
        paths = [STDIN]
    if not paths:
        raise UsageError("no input: name a log file or a folder, or pipe the output into l4tui (see l4tui --help)")
    for path in paths:
        _check(path)
    return list(paths)


def is_piped(fd: int) -> bool:
    """Say whether a standard stream is open and connected to a pipe, a file or a socket."""
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _check(path: str) -> None:
    if path == STDIN:
        try:
            os.fstat(0)
        except OSError:
            raise UsageError("-: standard input is closed") from None
        if os.isatty(0):
            raise UsageError("-: standard input is the terminal: pipe a log into l4tui")
        return
    if not os.path.lexists(path):
        _check_missing(path)
        return
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    needed = os.R_OK | os.X_OK if stat.S_ISDIR(mode) else os.R_OK
    if not os.access(path, needed):
        raise UsageError(f"{path}: no permission to read it")
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise UsageError(f"{path}: neither a file nor a folder nor a pipe")


def _check_missing(path: str) -> None:
    if glob.has_magic(path):
        if not glob.glob(path, recursive=True):  # noqa: PTH207 -- Path.glob takes no absolute pattern
            raise UsageError(f"{path}: no file matches")
        return
    import difflib  # used only for an error's words

    near = difflib.get_close_matches(path, [command.name for command in COMMANDS], n=1)
    raise UsageError(f"{path}: no such file or folder" + (f" (or the command {near[0]!r}?)" if near else ""))
