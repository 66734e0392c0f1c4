"""Open files within the descriptor limit: each inode is opened once, the longest unused are closed and reopened."""

from __future__ import annotations

import contextlib
import os
import resource
import stat
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

SPARE = 64  # descriptors left to the terminal, the cache, worker pipes and Python itself


class SourceError(Exception):
    """Something to read that cannot be read; its text is one line for the user."""


def reason(error: OSError) -> str:
    """Return the system's words for an error, without number and path."""
    return (error.strerror or type(error).__name__).lower()


def raise_limit() -> int:
    """Raise the soft descriptor limit to the hard one and return how many log files may be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1 << 16 if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft == resource.RLIM_INFINITY:
        soft = wanted
    return max(8, soft - SPARE)


class OpenFile:
    """One inode behind a path, readable through descriptors that come and go.

    A pinned file keeps its descriptor: its path no longer leads to it (unlinked, renamed, a pipe's spill).
    """

    __slots__ = ("_fd", "_users", "identity", "path", "pinned")

    def __init__(self, path: str, identity: tuple[int, int] | None = None, fd: int = -1) -> None:
        self.path = path
        self.identity = identity
        self.pinned = fd >= 0
        self._fd = fd
        self._users = 0
        if fd >= 0:
            found = os.fstat(fd)
            self.identity = (found.st_dev, found.st_ino)

    def __getstate__(self) -> tuple[str, tuple[int, int] | None]:
        # another process of ours reaches an unlinked file through this one's descriptor table
        path = f"/proc/{os.getpid()}/fd/{self._fd}" if self.pinned else self.path
        return path, self.identity

    def __setstate__(self, state: tuple[str, tuple[int, int] | None]) -> None:
        OpenFile.__init__(self, *state)

    @contextlib.contextmanager
    def descriptor(self) -> Iterator[int]:
        """Hold a readable descriptor; raises SourceError when the inode cannot be reached any more."""
        fd = POOL.acquire(self)
        try:
            yield fd
        finally:
            POOL.release(self)

    def size(self) -> int:
        """Return the bytes in the file now; raises SourceError."""
        fd = POOL.acquire(self)
        try:
            return os.lseek(fd, 0, os.SEEK_END)  # a tenth of fstat's cost; pread never uses the position
        except OSError as error:  # a network file system whose server has lost the file
            raise SourceError(f"{self.path}: {reason(error)}") from error
        finally:
            POOL.release(self)

    def pread(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes at `offset`; shorter at the end of the file only."""
        try:
            with self.descriptor() as fd:
                data = os.pread(fd, length, offset)
                while 0 < len(data) < length:  # a signal or a network file system may hand over less
                    rest = os.pread(fd, length - len(data), offset + len(data))
                    if not rest:
                        break
                    data += rest
                return data
        except OSError as error:
            raise SourceError(f"{self.path}: {reason(error)}") from error

    def pin(self) -> None:
        """Keep the descriptor open, because the path will lead elsewhere; raises SourceError if it already does."""
        POOL.acquire(self)
        self.pinned = True
        POOL.release(self)

    def close(self) -> None:
        """Give the descriptor back."""
        POOL.forget(self)

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def open(self) -> int:
        """Open the inode by its path, or by its new name in the same folder when it was renamed."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            fd = self._open_renamed()
            if fd < 0:
                raise SourceError(f"{self.path}: {reason(error)}") from error
        found = os.fstat(fd)
        if stat.S_ISDIR(found.st_mode):
            os.close(fd)
            raise SourceError(f"{self.path}: is a directory")
        if self.identity is None:
            self.identity = (found.st_dev, found.st_ino)
        elif self.identity != (found.st_dev, found.st_ino):
            os.close(fd)
            fd = self._open_renamed()
            if fd < 0:
                raise SourceError(f"{self.path}: was replaced; the old text is gone")
        return fd

    def _open_renamed(self) -> int:
        if self.identity is None:
            return -1
        try:
            with os.scandir(Path(self.path).parent) as entries:
                for entry in entries:
                    if entry.inode() == self.identity[1] and entry.is_file(follow_symlinks=False):
                        fd = os.open(entry.path, os.O_RDONLY | os.O_CLOEXEC)
                        found = os.fstat(fd)
                        if (found.st_dev, found.st_ino) == self.identity:
                            return fd
                        os.close(fd)
        except OSError:
            return -1
        return -1


class Descriptors:
    """The process's open log files, least recently used first; safe from any thread."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._open: dict[OpenFile, None] = {}
        self._lock = threading.Lock()

    def acquire(self, file: OpenFile) -> int:
        """Return a descriptor that stays open until `release`."""
        with self._lock:
            if file._fd >= 0:
                file._users += 1
                if not file.pinned and len(self._open) * 2 > (self._limit or 0):
                    self._open.pop(file, None)  # order matters only once there is something to evict
                    self._open[file] = None
                return file._fd
            self._make_room()
            file._fd = file.open()
            file._users += 1
            self._open[file] = None
            return file._fd

    def release(self, file: OpenFile) -> None:
        with self._lock:
            file._users -= 1

    def acquire_open(self, files: Sequence[OpenFile]) -> list[int]:
        """Return each file's descriptor where it is open, else -1; open ones stay so until `release_open`."""
        found = []
        with self._lock:
            for file in files:
                found.append(file._fd)
                file._users += file._fd >= 0
        return found

    def release_open(self, files: Sequence[OpenFile], found: Sequence[int]) -> None:
        with self._lock:
            for file, fd in zip(files, found, strict=True):
                file._users -= fd >= 0

    def forget(self, file: OpenFile) -> None:
        """Close a file's descriptor unless someone is reading it."""
        with self._lock:
            if file._fd >= 0 and not file._users:
                self._open.pop(file, None)
                fd, file._fd, file.pinned = file._fd, -1, False
                os.close(fd)

    def _make_room(self) -> None:
        if self._limit is None:
            self._limit = raise_limit()
        if len(self._open) < self._limit:
            return
        idle = [file for file in self._open if not file._users]
        idle.sort(key=lambda file: file.pinned)  # stable: oldest first, those that cannot be reopened last
        for file in idle[: max(1, len(idle) // 16)]:
            del self._open[file]
            fd, file._fd, file.pinned = file._fd, -1, False
            os.close(fd)


POOL = Descriptors()  # one per process, because the limit is one per process


def sizes(files: Sequence[OpenFile]) -> list[int]:
    """Return the bytes in each file that is open, else -1: thousands are asked each second, so not one by one."""
    found = POOL.acquire_open(files)
    try:
        return [os.lseek(fd, 0, os.SEEK_END) if fd >= 0 else -1 for fd in found]
    except OSError:
        return [-1] * len(found)
    finally:
        POOL.release_open(files, found)
