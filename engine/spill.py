"""Bytes that arrive once (a pipe, an inflated file), kept in an unlinked temporary file with a bound."""

from __future__ import annotations

import contextlib
import os
import select
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from l4tui.engine.descriptors import OpenFile, SourceError, reason

CAP = 64 << 30  # bytes; half of the free disk space bounds it further
CHUNK = 1 << 20


def spill_folder() -> Path:
    """Return where spill files go: the cache folder, because /tmp is often memory."""
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    folder = Path(base) / "l4tui"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.gettempdir())


class Spill:
    """An append-only temporary file that nobody else sees and that ends with the process.

    What comes after the cap, or after the disk is full, is counted and dropped; what was kept stays.
    """

    def __init__(self, cap: int = CAP, folder: Path | None = None) -> None:
        where = folder or spill_folder()
        try:
            with tempfile.TemporaryFile(dir=where, buffering=0) as file:
                fd = os.dup(file.fileno())
            room = os.statvfs(where)
        except OSError as error:
            raise SourceError(f"{where}: no temporary file: {reason(error)}") from error
        self.cap = min(cap, room.f_bavail * room.f_frsize // 2)
        self.file = OpenFile(f"{where}/spill", fd=fd)
        self._fd = fd
        self.size = 0
        self.lines = 0  # of what is kept
        self.dropped_lines = 0
        self.problem = ""

    def append(self, data: bytes) -> None:
        """Keep the bytes, or as many of their whole lines as still fit."""
        room = self.cap - self.size
        if self.problem or len(data) > room:
            kept = b"" if self.problem else data[: data.rfind(b"\n", 0, max(room, 0)) + 1]
            self._drop(data[len(kept) :], f"more than {self.cap:,} bytes")
            data = kept
        while data:
            try:
                written = os.pwrite(self._fd, data, self.size)
            except OSError as error:  # the disk is full
                self._drop(data, reason(error))
                return
            self.lines += data.count(b"\n", 0, written)
            self.size += written
            data = data[written:]

    def _drop(self, data: bytes, why: str) -> None:
        self.dropped_lines += data.count(b"\n")
        self.problem = self.problem or why


class Pump:
    """Moves a pipe into a spill on a thread of its own, so that the writer is never held up."""

    def __init__(self, open_pipe: Callable[[], int], spill: Spill, name: str) -> None:
        self._open_pipe = open_pipe
        self._spill = spill
        self._stop = threading.Event()
        self._news = threading.Condition()
        self.is_final = False
        self.on_data: Callable[[], None] | None = None  # called from the pump's thread
        self._thread = threading.Thread(target=self._run, name=f"l4tui-pump-{name}", daemon=True)
        self._thread.start()

    @property
    def dropped_lines(self) -> int:
        return self._spill.dropped_lines

    @property
    def kept_lines(self) -> int:
        return self._spill.lines

    @property
    def expected(self) -> int:
        return self._spill.size if self.is_final else -1

    @property
    def problem(self) -> str:
        return self._spill.problem

    def more(self, have: int, timeout: float) -> bool:
        """Wait until more than `have` bytes are kept, the pipe has ended, or time is up."""
        with self._news:
            self._news.wait_for(lambda: self._spill.size > have or self.is_final, timeout)
            return self._spill.size > have

    def close(self) -> None:
        """Stop reading; the thread ends at its next look."""
        self._stop.set()

    def _run(self) -> None:
        try:
            fd = self._open_pipe()
            try:
                self._copy(fd)
            finally:
                os.close(fd)
        except OSError as error:
            self._spill.problem = self._spill.problem or reason(error)
        finally:
            self.is_final = True
            self._tell()

    def _copy(self, fd: int) -> None:
        ready = select.poll()  # select() takes no descriptor above 1023: a job of many files has some
        ready.register(fd, select.POLLIN)
        while not self._stop.is_set():
            if not ready.poll(200):
                continue
            data = os.read(fd, CHUNK)
            if not data:
                return
            self._spill.append(data)
            self._tell()

    def _tell(self) -> None:
        with self._news:
            self._news.notify_all()
        if self.on_data is not None:
            self.on_data()
