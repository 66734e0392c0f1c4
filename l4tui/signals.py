"""SIGTERM and SIGHUP end the program in order: children stopped, temporary folders gone, the terminal as it was."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGTERM, signal.SIGHUP)


def end_in_order() -> None:
    """Unwind the main thread on the ending signals; those that the shell ignores (nohup) stay ignored.

    Processes forked later die of them at once, as any other does.
    """
    if signal.getsignal(signal.SIGTERM) is not _unwind:
        os.register_at_fork(after_in_child=_restore)
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _unwind)


def _unwind(number: int, frame: FrameType | None) -> NoReturn:
    for ending in ENDING:  # timeout(1) sends its signal twice: the second must not break the way out
        signal.signal(ending, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _restore() -> None:
    for number in ENDING:
        if signal.getsignal(number) is _unwind:
            signal.signal(number, signal.SIG_DFL)
