"""Sources: one byte stream each, append-only to everyone who reads it.

A stream is a row of *extents*. A file that is rotated, truncated or replaced goes on as a new extent behind the old
one, so offsets stay valid and only grow; where the old text no longer exists, reading it raises SourceError.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event
from typing import Protocol

from l4tui.engine import compressed
from l4tui.engine.descriptors import OpenFile, SourceError, reason
from l4tui.engine.model import SourceName
from l4tui.engine.spill import CAP, Pump, Spill

__all__ = ["Extent", "Feed", "Source", "SourceError", "TextLost", "open_path", "open_pipe"]


class TextLost(SourceError):
    """Bytes that were read once and exist no more; reading goes on at `resume`."""

    def __init__(self, words: str, resume: int) -> None:
        super().__init__(words)
        self.resume = resume

    def __reduce__(self) -> tuple[type[TextLost], tuple[str, int]]:
        return TextLost, (str(self), self.resume)


class Feed(Protocol):
    """Where the bytes of a spill come from."""

    is_final: bool  # nothing more will come
    on_data: Callable[[], None] | None

    @property
    def dropped_lines(self) -> int: ...
    @property
    def kept_lines(self) -> int: ...
    @property
    def expected(self) -> int: ...
    @property
    def problem(self) -> str: ...
    def more(self, have: int, timeout: float) -> bool: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes `skip`… of a file that stand at `start`… of the stream; `length` −1: as far as the file goes."""

    start: int
    file: OpenFile | None  # None: the newline that the last line of the extent before lacks
    skip: int = 0
    length: int = -1
    is_lost: bool = False  # the file was cut or written over: these bytes exist no more

    def size(self) -> int:
        if self.length >= 0 or self.file is None:
            return max(self.length, 0)
        return max(0, self.file.size() - self.skip)

    def read(self, within: int, length: int) -> bytes:
        return b"\n" if self.file is None else self.file.pread(self.skip + within, length)


class Source:
    """A log as one stream of bytes; safe to read from any thread, pickles for worker processes of ours.

    `path` is what reports say. `file_path` is what the system opens ("" for a pipe).
    """

    def __init__(
        self, path: str, file: OpenFile, *, file_path: str = "", feed: Feed | None = None, skip: int = 0
    ) -> None:
        self.index = 0
        self.path = path
        self.file_path = file_path
        self.name = SourceName()
        self.mirror_of = (
            ""  # path of the source with the same text: of its lines only the launcher's are to be analysed
        )
        self.feed = feed
        self._extents: tuple[Extent, ...] = (Extent(0, file, skip),)

    def __repr__(self) -> str:
        return f"Source({self.index}, {self.path!r})"

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"feed": None}

    def size(self) -> int:
        """Return the bytes of the stream that can be read now."""
        last = self._extents[-1]
        return last.start + last.size()

    def pread(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes at `offset`, fewer only at the end; raises SourceError."""
        extents = self._extents
        at = bisect_right(extents, offset, key=lambda extent: extent.start) - 1
        data = b""
        for extent in extents[max(at, 0) :]:
            within = offset + len(data) - extent.start
            wanted = length - len(data)
            if extent.length >= 0:
                wanted = min(wanted, extent.length - within)
            if wanted <= 0:
                break
            piece = b"" if extent.is_lost else extent.read(within, wanted)
            if len(piece) < wanted and extent.length >= 0 and not data:
                words = f"{self.path}: the text at {offset + len(piece):,} exists no more: the file was cut"
                raise TextLost(words, next(e.start for e in extents if e.start > offset and e.file is not None))
            data = data + piece if data else piece
            if len(piece) < wanted:
                break
            if len(data) == length:
                break
        return data

    def more(self, timeout: float = 0.0) -> bool:
        """Make more bytes readable where that takes an act: inflate a piece, or wait for a pipe."""
        return self.feed is not None and self.feed.more(self.size(), timeout)

    def fill(self, size: int, stop: Event | None = None, *, wait: bool = False) -> int:
        """Make `size` bytes readable if there are so many; `wait`: a pipe is waited for. Return the size then."""
        while self.feed is not None and (have := self.size()) < size and (stop is None or not stop.is_set()):
            more = self.feed.more(have, 0.1 if wait else 0.0)
            if not more and (self.is_final or not wait):
                break
        return self.size()

    def continue_with(self, file: OpenFile, known: int, skip: int = 0, *, torn: bool, lost: bool = False) -> int:
        """End the stream at `known` and go on with another file behind it; return the offset where that begins.

        `torn`: the last line lacks its newline; one that is in no file is put between. `lost`: the text so far exists
        no more.
        """
        last = self._extents[-1]
        kept = list(self._extents[:-1])
        if known > last.start:
            kept.append(replace(last, length=known - last.start, is_lost=lost))
        if torn and known > last.start:
            kept.append(Extent(known, None, length=1))
            known += 1
        self._extents = (*kept, Extent(known, file, skip))
        return known

    @property
    def is_final(self) -> bool:
        """True when nothing more will come; a plain file never says so."""
        return self.feed is not None and self.feed.is_final

    @property
    def is_inflated(self) -> bool:
        """True for a compressed file: its size is known, and its text there, only as far as it has been read."""
        return isinstance(self.feed, compressed.Inflation)

    @property
    def dropped_lines(self) -> int:
        """Lines of a pipe or compressed file that came after the spill's cap."""
        return self.feed.dropped_lines if self.feed is not None else 0

    @property
    def kept_lines(self) -> int:
        """Lines of a pipe or compressed file that came before them."""
        return self.feed.kept_lines if self.feed is not None else 0

    @property
    def expected(self) -> int:
        """Bytes once all is fetched, estimated while a file is inflated; -1: a pipe does not tell."""
        return self.feed.expected if self.feed is not None else self.size()

    @property
    def problem(self) -> str:
        """What went wrong while bytes were fetched, in words; "" when nothing did."""
        return self.feed.problem if self.feed is not None else ""

    @property
    def live(self) -> Extent:
        """The extent that grows."""
        return self._extents[-1]

    @property
    def has_lost(self) -> bool:
        """True when a part of the stream exists no more."""
        return any(extent.is_lost for extent in self._extents)

    @property
    def is_plain(self) -> bool:
        """True for a file of the file system, which can be rotated or cut; False for pipes and inflated text."""
        return self.feed is None and bool(self.file_path)

    @property
    def mtime(self) -> int:
        """Return when the file was last written, ns UTC; 0 where it cannot be known."""
        try:
            return os.stat(self.file_path).st_mtime_ns if self.file_path else 0  # noqa: PTH116 - 4,096 files a sweep
        except OSError:
            return 0

    @property
    def identity(self) -> tuple[int, int]:
        """Return device and inode of what is being read now; (0, 0) for a pipe."""
        if not self.file_path:
            return (0, 0)
        file = self._extents[0].file if self.feed is not None else self.live.file
        if file is not None and not self.feed and file.identity is not None:
            return file.identity
        try:
            found = os.stat(self.file_path)  # noqa: PTH116
        except OSError:
            return (0, 0)
        return found.st_dev, found.st_ino

    def close(self) -> None:
        """Give descriptors back and stop what feeds the source."""
        if self.feed is not None:
            self.feed.close()
        for extent in self._extents:
            if extent.file is not None:
                extent.file.close()


def open_path(path: str, file_path: str | None = None, cap: int = CAP) -> Source:
    """Open a file, FIFO or device as a source; raises SourceError when it cannot be read."""
    where = file_path or path
    try:
        found = os.stat(where)  # noqa: PTH116 - thousands of files
        if stat.S_ISDIR(found.st_mode):
            raise SourceError(f"{path}: is a directory")
        if stat.S_ISSOCK(found.st_mode) or stat.S_ISBLK(found.st_mode):
            raise SourceError(f"{path}: is neither a file nor a pipe")
        if not stat.S_ISREG(found.st_mode):
            return _pumped(path, lambda: os.open(where, os.O_RDONLY | os.O_CLOEXEC), cap)
        file = OpenFile(where, (found.st_dev, found.st_ino))
        head = file.pread(0, 8)
    except OSError as error:
        raise SourceError(f"{path}: {reason(error)}") from error
    kind = compressed.kind_of(head)
    if not kind:
        return Source(path, file, file_path=where)
    file.close()
    spill = Spill(cap)
    try:
        return Source(path, spill.file, file_path=where, feed=compressed.Inflation(where, kind, spill))
    except OSError as error:
        raise SourceError(f"{path}: {reason(error)}") from error


def open_pipe(fd: int, path: str = "-", cap: int = CAP) -> Source:
    """Take over a descriptor (standard input, a process's output) as a source; raises SourceError when it is closed."""
    try:
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode):  # `l4tui - < job.log`: a file, from where the shell left off
            return Source(path, OpenFile(path, fd=os.dup(fd)), skip=os.lseek(fd, 0, os.SEEK_CUR))
        if stat.S_ISDIR(found.st_mode):
            raise SourceError(f"{path}: is a directory")
        own = os.dup(fd)
    except OSError as error:
        raise SourceError(f"{path}: standard input is closed" if path == "-" else f"{path}: {reason(error)}") from error
    return _pumped(path, lambda: own, cap)


def _pumped(path: str, open_fd: Callable[[], int], cap: int) -> Source:
    spill = Spill(cap)
    return Source(path, spill.file, feed=Pump(open_fd, spill, path))
