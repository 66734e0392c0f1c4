"""Threads for work that nobody waits for: neither the end of an event loop nor the end of the program."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Daemons(ThreadPoolExecutor):
    """Runs each piece of work in a daemon thread of its own (50 µs), in place of a loop's pool.

    A loop joins the threads of its pool before it ends, and Python joins those of every pool before it exits: who
    leaves a screen would wait for what counts or compares. A loop takes no other class as its pool.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin at once; returns what becomes of it."""
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # told to whoever waits, as by every pool
                future.set_exception(error)
            else:
                future.set_result(result)

        Thread(target=run, name="l4tui-worker", daemon=True).start()
        return future
