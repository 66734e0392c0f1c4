"""Threads that nobody waits for: the loop and the program end while they still work."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from textual.app import App

from l4tui.app import L4App
from l4tui.config import Config
from l4tui.daemons import Daemons
from l4tui.engine.discovery import Found

ENDLESS = """
import asyncio, threading
from l4tui.daemons import Daemons
async def leave():
    loop = asyncio.get_running_loop()
    loop.set_default_executor(Daemons())
    begun = threading.Event()
    loop.run_in_executor(None, lambda: (begun.set(), threading.Event().wait()))
    begun.wait()
asyncio.run(leave())
print("left")
"""


def test_the_program_ends_while_a_thread_works() -> None:
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("left\n", "")


def test_results_and_errors_are_told() -> None:
    pool = Daemons()
    assert pool.submit(divmod, 7, 2).result(20) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 7, 0).result(20)


def test_the_screen_gives_the_loop_such_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    async def run(self: App[int], **told: object) -> int:
        await asyncio.get_running_loop().run_in_executor(None, lambda: threads.append(threading.current_thread()))
        return 3

    monkeypatch.setattr(App, "run_async", run)
    app = L4App(Found((), ()), Config(), {})
    assert asyncio.run(app.run_async()) == 3
    assert threads[0].daemon
