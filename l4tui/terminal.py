"""The terminal: taken back where standard streams are pipes, left clean, and given text to copy."""

from __future__ import annotations

import base64
import os
import signal
import sys
from pathlib import Path
from typing import NamedTuple

STREAMS = (0, 1, 2)  # Textual reads keys from 0, measures the window on 1 and draws on 2
OSC52_MAX = 100_000  # characters of base64: xterm and tmux drop longer ones


class Streams(NamedTuple):
    """What the shell had connected to stdin, stdout and stderr: a new descriptor each; −1 where it was the terminal."""

    stdin: int = -1
    stdout: int = -1
    stderr: int = -1


def adopt_terminal() -> Streams:
    """Put the terminal on all standard streams and keep what was there; raise OSError where there is no terminal."""
    piped = [fd for fd in STREAMS if not os.isatty(fd)]
    if not piped:
        return Streams()
    kept = [-1, -1, -1]
    terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    for fd in piped:
        if _is_open(fd):
            kept[fd] = os.dup(fd)
        os.dup2(terminal, fd)
    if terminal not in STREAMS:
        os.close(terminal)
    if sys.__stdin__ is None:  # Python found it closed; Textual asks it for its descriptor
        sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)  # type: ignore[misc]
    return Streams(*kept)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def has_shell() -> bool:
    """Say whether a shell with job control waits for our process group: without one nobody could wake it again."""
    try:
        parent = os.getppid()
        while parent and os.getpgid(parent) == os.getpgrp():  # a script's shell is stopped with us
            parent = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
        return bool(parent) and os.getsid(parent) == os.getsid(0)
    except OSError:
        return True


def stop_job() -> None:
    """Stop all processes of the job, as the terminal does at Ctrl+Z: the shell waits for those that write to us too."""
    os.killpg(os.getpgrp(), signal.SIGTSTP)


def osc52(text: str, *, through_tmux: bool = False) -> str:
    """Write the sequence that puts text into the terminal's clipboard, cut to what terminals take."""
    coded = base64.b64encode(text.encode()).decode("ascii")[: OSC52_MAX // 4 * 4]
    sequence = f"\x1b]52;c;{coded}\a"
    if not through_tmux:
        return sequence
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"
