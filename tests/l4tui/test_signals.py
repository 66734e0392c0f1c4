"""What is made while a signal comes has an owner: folders are gone, commands get what was meant for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from l4tui.commands.run import _forwarding
from l4tui.signals import _unwind, held, temporary_folder

NUMBERS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@pytest.fixture(autouse=True)
def handlers():
    before = {number: signal.getsignal(number) for number in NUMBERS}
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _unwind)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "raised"), [(n, SystemExit) for n in NUMBERS[:2]] + [(NUMBERS[2], KeyboardInterrupt)]
)
def test_a_signal_waits_for_the_end_of_the_block(number: int, raised: type[BaseException]) -> None:
    done = False
    with pytest.raises(raised), held():
        os.kill(os.getpid(), number)
        done = True
    assert done


def test_a_folder_is_gone_though_a_signal_comes_while_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tempfile.mkdtemp

    def interrupted(*words: object, **more: object) -> str:
        name = made(dir=tmp_path)
        os.kill(os.getpid(), signal.SIGTERM)
        return name

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(SystemExit), temporary_folder("l4tui-test-"):
        raise AssertionError("the block is not entered")
    assert list(tmp_path.iterdir()) == []


def test_a_command_gets_the_signal_that_came_while_it_was_started() -> None:
    with _forwarding() as own:
        os.kill(os.getpid(), signal.SIGTERM)
        command = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        own(command)
        assert command.wait(30) == -signal.SIGTERM
