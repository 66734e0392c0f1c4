"""How the command line ends: exit codes and the error that carries one line of words."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FOUND = 1  # only with --check: the report accuses someone or the job failed
    USAGE = 2  # bad usage or unreadable input
    INTERRUPTED = 130  # Ctrl+C
    PIPE = 141  # the reader of our output went away; quiet, like any Unix tool


class UsageError(Exception):
    """Bad usage or unreadable input; the text is the one line shown on stderr."""
