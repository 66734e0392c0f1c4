"""SIGTERM and SIGHUP end the program in order: children stopped, temporary folders gone, the terminal as it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import tempfile

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


@contextmanager
def held() -> Iterator[None]:
    """Let signals that end the program wait for the end of the block: what it makes has an owner by then.

    For the main thread; programs started in the block are not affected, as they would be by a blocked signal.
    """
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGINT)}
    ours = {number: handler for number, handler in before.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for first in came[:1]:
            ours[signal.Signals(first)](first, None)  # raises, unless somebody handles it otherwise


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """Yield the path of a new folder that is gone in the end, also when a signal comes while it is made."""
    import tempfile  # not needed by most commands

    folder: tempfile.TemporaryDirectory[str] | None = None
    try:
        with held():
            folder = tempfile.TemporaryDirectory(prefix=prefix)
        yield folder.name
    finally:
        if folder is not None:
            with held():
                folder.cleanup()


def _restore() -> None:
    for number in ENDING:
        if signal.getsignal(number) is _unwind:
            signal.signal(number, signal.SIG_DFL)
