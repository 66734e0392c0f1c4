"""One followed source: what has happened to it since the last look."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from l4tui.engine.descriptors import OpenFile, SourceError, reason, sizes
from l4tui.engine.sources import Source

HOT_FOR = 10.0  # seconds after growth in which a source is looked at often
HOT_EVERY = 0.2
NAME_HOT, NAME_COLD = 1.0, 15.0  # seconds between two looks at where the path leads
LEAVE_AFTER = 0.2  # a rotated file is left when it did not grow for this long …
LEAVE_AT_LAST = 2.0  # … or at the latest
MARK = 64  # bytes before the known end that are compared when a file has grown


class ChangeKind(StrEnum):
    """What happened to a source."""

    GROWN = "grown"
    ROTATED = "rotated"  # the path leads to a new file, the old one exists still
    REPLACED = "replaced"  # the path leads to a new file or other text, the old one is gone
    TRUNCATED = "truncated"
    VANISHED = "vanished"
    RETURNED = "returned"
    APPEARED = "appeared"
    ENDED = "ended"  # a pipe: nothing more will come
    DROPPED = "dropped"  # a pipe: from here on lines are dropped; Source.dropped_lines counts them
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened; `note` is the line to show for it, "" for mere growth.

    `offset` is where in the source's stream it stands: the bytes from there on are the new ones.
    """

    kind: ChangeKind
    source: Source
    offset: int
    note: str = ""


@dataclass(slots=True, eq=False)
class Watched:
    """What is known of a source between two looks; `look` returns what happened."""

    source: Source
    path: str = ""  # absolute, as the file system's events spell it
    known: int = 0  # bytes of the stream
    mark: bytes = b""  # the last of them
    grew_at: float = -math.inf
    look_at: float = 0.0
    name_at: float = 0.0
    leave_since: float = math.inf  # when the path was first seen to lead elsewhere
    is_gone: bool = False
    is_bad: bool = False
    is_dropping: bool = False
    is_ended: bool = False
    is_queued: bool = False  # stands in the follower's row of quiet sources
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.source.file_path:
            self.path = os.path.abspath(self.source.file_path)  # noqa: PTH100 - keeps links
        self.known = _size(self.source, 0)
        self.mark = _mark(self.source, self.known)

    def is_hot(self, now: float) -> bool:
        """True when the next look should come soon: it grows, is being left for a new file, or is a pipe."""
        if self.source.feed is not None:
            return not self.is_ended
        return now - self.grew_at <= HOT_FOR or self.leave_since <= now

    def is_in_place(self, now: float) -> bool:
        """Say whether the path of a quiet file leads to it, as it did; of what has changed `look` tells."""
        try:
            there = os.stat(self.path)  # noqa: PTH116 - thousands of files
        except OSError:
            return False
        file = self.source.live.file
        if self.is_gone or file is None or (there.st_dev, there.st_ino) != file.identity:
            return False
        self.name_at = now + NAME_COLD
        return True

    def look(self, now: float) -> list[Change]:
        """Compare the source with what is known of it."""
        self.changes = []
        try:
            if self.source.feed is not None:
                self._look_at_feed()
            else:
                self._look_at_file(now)
            self.is_bad = False
        except (SourceError, OSError) as error:
            if not self.is_bad and not self.is_gone:
                self._tell(ChangeKind.UNREADABLE, str(error))
            self.is_bad = True
        self.look_at = now + HOT_EVERY * 0.95  # a thread never wakes up quite on time
        return self.changes

    def _tell(self, kind: ChangeKind, words: str = "") -> None:
        note = f"{self.source.path}: {words}" if words else ""
        self.changes.append(Change(kind, self.source, self.known, note))

    def _look_at_feed(self) -> None:
        source, ended = self.source, self.source.is_final
        self._grow(source.size())
        if source.dropped_lines and not self.is_dropping:
            self.is_dropping = True
            self._tell(ChangeKind.DROPPED, f"the following lines are dropped: {source.problem}")
        if ended:
            self.is_ended = True
            self._tell(ChangeKind.ENDED, "" if self.is_dropping else source.problem)

    def _grow(self, size: int) -> bool:
        if size <= self.known:
            return False
        self._tell(ChangeKind.GROWN)
        self.known = size
        return True

    def _look_at_file(self, now: float) -> None:
        source = self.source
        size = _size(source, self.known)
        if size < self.known:
            self._start_over(
                ChangeKind.TRUNCATED, f"was cut to {size - source.live.start:,} bytes; earlier text is gone"
            )
            size = _size(source, self.known)
        elif size > self.known and _mark(source, self.known) != self.mark:
            self._start_over(ChangeKind.REPLACED, "was written over; earlier text is gone")
            size = _size(source, self.known)
        if self._grow(size):
            self.grew_at = now
            self.name_at = min(self.name_at, now + NAME_HOT)
            self.mark = _mark(source, size)
        if self.name_at <= now or self.leave_since <= now:
            self.name_at = now + (NAME_HOT if now - self.grew_at <= HOT_FOR else NAME_COLD)
            self._look_at_name(now)

    def _start_over(self, kind: ChangeKind, words: str) -> None:
        """Go on at the beginning of the same file: a writer that kept its position leaves a hole there, not text."""
        file = self.source.live.file
        if file is None:
            return
        with file.descriptor() as fd:
            try:
                begin = os.lseek(fd, 0, os.SEEK_DATA)
            except OSError:  # empty, or a file system that does not tell
                begin = 0
        self.known = self.source.continue_with(file, self.known, begin, torn=self._is_torn(), lost=True)
        self.mark = b""
        self._tell(kind, words)

    def _is_torn(self) -> bool:
        """The last line that was seen lacks its newline."""
        return self.known > self.source.live.start and not self.mark.endswith(b"\n")

    def _look_at_name(self, now: float) -> None:
        file = self.source.live.file
        if file is None or not self.path:
            return
        try:
            there = os.stat(self.path)  # noqa: PTH116 - thousands of files
        except OSError as error:
            if not self.is_gone:
                self.is_gone = True
                _keep(file)
                words = "was removed" if isinstance(error, FileNotFoundError) else f"cannot be reached: {reason(error)}"
                self._tell(ChangeKind.VANISHED, words)
            return
        if (there.st_dev, there.st_ino) == file.identity:
            self.leave_since = math.inf
            if self.is_gone:
                self.is_gone = False
                self._tell(ChangeKind.RETURNED, "is back")
            return
        if not stat.S_ISREG(there.st_mode):
            return
        self.leave_since = min(self.leave_since, now)
        _keep(file)  # found by its new name when its descriptor was given back meanwhile
        if now - max(self.leave_since, self.grew_at) >= LEAVE_AFTER or now - self.leave_since >= LEAVE_AT_LAST:
            self._switch(OpenFile(self.source.file_path, (there.st_dev, there.st_ino)), now)

    def _switch(self, file: OpenFile, now: float) -> None:
        """Leave a file that has another name, or none, for the one that its path leads to now."""
        source, old = self.source, self.source.live.file
        if self.is_gone:
            kind, words = ChangeKind.RETURNED, "was made anew"
        elif old is not None and _has_name(old):
            kind, words = ChangeKind.ROTATED, "was rotated; a new file goes on"
        else:
            kind, words = ChangeKind.REPLACED, "was replaced; a new file goes on"
        self.known = source.continue_with(file, self.known, torn=self._is_torn())
        self.mark, self.is_gone, self.leave_since = b"", False, math.inf
        self._tell(kind, words)
        self._grow(_size(source, self.known))
        self.mark = _mark(source, self.known)
        self.grew_at = now


def still(some: Sequence[Watched], now: float) -> list[bool]:
    """Tell which quiet files need no look, by one question to the system for each: thousands are asked each second."""
    live = [one.source.live for one in some]
    files = [extent.file for extent in live if extent.file is not None]  # what grows is always a file
    return [
        one.known == extent.start + max(0, size - extent.skip)
        and size >= 0
        and now < one.leave_since
        and not one.is_bad
        and one.source.feed is None
        and (now < one.name_at or one.is_in_place(now))
        for one, extent, size in zip(some, live, sizes(files), strict=True)
    ]


def _size(source: Source, known: int) -> int:
    """Return a stream's size; what is known where its file cannot be reached now."""
    try:
        return source.size()
    except SourceError:
        return known


def _mark(source: Source, end: int) -> bytes:
    begin = max(end - MARK, source.live.start)
    try:
        return source.pread(begin, end - begin) if end > begin else b""
    except SourceError:
        return b""


def _keep(file: OpenFile) -> None:
    try:
        file.pin()
    except SourceError:
        return  # neither open nor to be found: reading it will say so


def _has_name(file: OpenFile) -> bool:
    try:
        with file.descriptor() as fd:
            return os.fstat(fd).st_nlink > 0
    except SourceError:
        return False
