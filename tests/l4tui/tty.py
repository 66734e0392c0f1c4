"""A real terminal for tests: a pty, and pyte that reads what is drawn on it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence

import pyte


class Terminal:
    """Runs a command on a pty of its own."""

    def __init__(
        self, arguments: Sequence[str], size: tuple[int, int] = (80, 24), stdin: int | None = None, **environment: str
    ) -> None:
        columns, rows = size
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.received = bytearray()
        self.code: int | None = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            if stdin is not None:
                os.dup2(stdin, 0)
            variables = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
            variables.pop("L4TUI_DEBUG", None)
            os.execve(sys.executable, [sys.executable, "-m", "l4tui", *arguments], variables)

    def read(self, seconds: float) -> int:
        """Take in what is drawn for a while; gives the bytes."""
        before, until = len(self.received), time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.has_drawn(left) and not self._take():
                break
        return len(self.received) - before

    def wait_for(self, holds: Callable[[str], object], seconds: float = 15.0) -> float:
        """Read until the screen's text fulfils a condition; gives the seconds it took."""
        start = time.monotonic()
        while not holds(self.text):
            if time.monotonic() - start > seconds:
                raise AssertionError("not on screen:\n" + self.text)
            if self.has_drawn(0.05) and not self._take():
                break
        return time.monotonic() - start

    def has_drawn(self, seconds: float) -> bool:
        """Wait until there is something to take in; `select` knows no descriptors above 1023, and tests open many."""
        ready = select.poll()
        ready.register(self.fd, select.POLLIN)
        return bool(ready.poll(seconds * 1000))

    def _take(self) -> bool:
        try:
            data = os.read(self.fd, 65_536)
        except OSError:
            return False
        self.received += data
        # pyte knows neither the private forms of CSI u and CSI p nor DCS: they draw nothing
        self.stream.feed(_drawing(data))
        return bool(data)

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(self.screen.display)

    def send(self, text: str) -> None:
        """Type."""
        os.write(self.fd, text.encode())

    def kill(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def end(self, seconds: float = 5.0) -> int:
        """Wait for the end and give the exit code."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read(0.05)
                self.code = os.waitstatus_to_exitcode(status)
                return self.code
        raise AssertionError("still running:\n" + self.text)

    def close(self) -> None:
        """Leave nothing behind."""
        if self.code is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.fd)

    def modes_left_on(self) -> list[str]:
        """Name what a program must switch off before it ends and has not."""
        names = {1049: "alternate screen", 1000: "mouse", 1003: "mouse", 1006: "mouse", 2004: "paste", 1004: "focus"}
        left = []
        for mode, name in names.items():
            on = self.received.rfind(f"\x1b[?{mode}h".encode())
            if on > self.received.rfind(f"\x1b[?{mode}l".encode()):
                left.append(name)
        if self.received.rfind(b"\x1b[?25l") > self.received.rfind(b"\x1b[?25h"):
            left.append("hidden cursor")
        return left


def _drawing(data: bytes) -> bytes:
    import re

    return re.sub(rb"\x1b\[[<>=?][0-9;]*\$?[up]|\x1bP.*?\x1b\\", b"", data, flags=re.DOTALL)
