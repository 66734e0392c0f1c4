"""Processes of ours: started alike, and ended with the one that started them, however that ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext


def spawning() -> SpawnContext:
    """Return how processes are started: never by a fork, because threads are reading."""
    # Python's own child removes the semaphores after us: a hang-up, sent to all of a terminal, must not end it before
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        resource_tracker.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return multiprocessing.get_context("spawn")


def begin() -> None:
    """Leave Ctrl-C to the owner of this process, and end when the owner has: nobody waits for the work any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_owner, name="l4tui-owner", daemon=True).start()


def _end_with_owner() -> None:
    owner = multiprocessing.parent_process()
    if owner is not None:
        owner.join()
        os._exit(1)
