"""Job: all sources opened together; what the command line and the screen hold."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from l4tui.engine import preview
from l4tui.engine.backlog import Backlog
from l4tui.engine.cache import is_keepable
from l4tui.engine.discovery import Found
from l4tui.engine.follow import Change, Follower
from l4tui.engine.options import Options
from l4tui.engine.reader import UNFINISHED_S, Reader
from l4tui.engine.reading import Progress, Reading, nobody
from l4tui.engine.resuming import keep, take_up
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.sources import Source, SourceError
from l4tui.engine.troubles import troubles_of

WORTH_KEEPING = 0.02  # share of new text from which an index is written again
__all__ = ["Job", "Options"]


class Job(Reading):
    """Reads sources, keeps what it knows for the next time and follows what they grow by."""

    def __init__(
        self,
        sources: Sequence[Source],
        options: Options | None = None,
        *,
        found: Found | None = None,
        follow: bool = False,
    ) -> None:
        """Take sources whose index is their place; `follow`: `poll` will read what they grow by.

        `found` tells where new files of the job may appear.
        """
        super().__init__(sources, options or Options())
        self.follower = Follower(sources, found) if follow else None
        self.unfinished: tuple[str, bytes] | None = None  # path and end of the line that is being written
        self.behind = 0  # bytes that were seen in files and are still to be read
        self._backlog = Backlog()
        self._early: Snapshot | None = None  # of the tails, while the rest is read

    @property
    def troubles(self) -> tuple[str, ...]:
        """What could not be read or kept, in words."""
        kept = (self.store.remark, self.merger.book.remark)
        return troubles_of(self.sources, (*self.problems.values(), *self.remarks, *kept))

    def read_all(
        self, stop: threading.Event | None = None, progress: Progress | None = None, final: bool = True
    ) -> None:
        """Read all there is now; `final`: a last line without its newline counts as a line.

        The first time what is known from an earlier run is taken up, and kept for the next one.
        """
        stop = stop or threading.Event()
        cache = self.options.cache if self.store.length == 0 else None
        if cache is not None:
            with self._lock:
                if take_up(self, cache):
                    self.version += 1
                elif self.store.length:
                    self._start_anew()
                    for reader in self.readers:
                        reader.judged, reader.is_settled = 0, False
        known = sum(reader.at for reader in self.readers)
        if self.options.tail_first and self.store.length == 0:
            self._read_tails(stop, progress or nobody)
        keeps = cache is not None and is_keepable(self.sources)
        try:
            self._read_rest(stop, progress, final, keeps)
        finally:
            self._early = None
        if cache is not None and keeps and not stop.is_set():
            read = sum(reader.at for reader in self.readers)
            if read - known > read * WORTH_KEEPING and (why := keep(self, cache)):
                self.remarks.append(why)
        if keeps:
            self._read_unfinished(stop, final)

    def _read_unfinished(self, stop: threading.Event, final: bool) -> None:
        """Read last lines without their newline: an index that held one would be another once the line has grown."""
        with self._together():
            for reader in self.readers:
                if reader.holds and (final or reader.is_silent()) and not stop.is_set():
                    with self._told_of(reader.source.index):
                        self._read(reader, reader.source.size(), stop, final=True, told=nobody)

    def _read_tails(self, stop: threading.Event, progress: Progress) -> None:
        """Read the ends of a large job and show them until all is read; line numbers there are estimates."""
        files = [reader for reader in self.readers if reader.source.feed is None]
        total = sum(reader.size() for reader in files)
        if total < preview.FROM:
            return
        tails = Reading(self.sources, replace(self.options, jobs=1, dask="", cache=None), self._kindred)
        over = time.thread_time() + preview.SECONDS
        for part in (preview.head_of, preview.tail_of):  # one after the other: small ones of many files together
            with tails._together():
                for reader in files:
                    if stop.is_set() or time.thread_time() > over:
                        return
                    with contextlib.suppress(SourceError):
                        tails._read_early(reader.source, *part(reader.source, len(files)), stop)
        for reader in files:
            tail = tails.readers[reader.source.index]
            if tail.judged:
                reader.dialect, reader.judged, reader.is_settled = tail.dialect, tail.judged, tail.is_settled
        if tails.store.length:
            with self._lock:
                self._early = replace(tails.snapshot(), is_complete=False)
                self.generation += 1
            progress(0, total)

    def _read_rest(self, stop: threading.Event, progress: Progress | None, final: bool, holds: bool) -> None:
        """Read what has not been read; `holds`: last lines without their newline are left."""
        total = sum(reader.size() for reader in self.readers)
        progress = progress or nobody
        if self._is_worth_workers(total):
            fresh = [reader for reader in self.readers if reader.source.feed is None and reader.at == 0]
            turn = [(reader, reader.size(), not holds and (final or reader.is_silent())) for reader in fresh]
            self._read_by_workers(turn, stop, progress)
            self._workers.close(wait=not stop.is_set())
        done = sum(reader.at for reader in self.readers)
        with self._together():
            for reader in self.readers:
                source, before = reader.source, reader.at
                others = total - reader.size()

                def told(at: int, done: int = done - before, others: int = others, reader: Reader = reader) -> None:
                    whole = reader.expected()
                    progress(done + at, others + whole if whole >= 0 else 0)

                to_its_end = source.is_inflated or (final and source.feed is not None)
                try:
                    ended = not holds and (final or reader.is_silent())
                    self._read(reader, None if to_its_end else source.size(), stop, ended, told)
                except SourceError as error:
                    self.problems[source.index] = str(error)
                done += reader.at - before
                total = others + max(reader.expected(), reader.at)
                if stop.is_set():
                    return

    def poll(self, stop: threading.Event | None = None) -> bool:
        """Read what has been written since, of very much a turn; say whether anything changed.

        Nothing to do without `follow`. `behind` then tells the bytes that are still to be read.
        """
        if self.follower is None:
            return False
        before = (self.generation, self.version)
        now = time.monotonic()
        stop = stop or threading.Event()
        for change in self.follower.poll(now):
            with self._told_of(change.source.index):
                self._take(change, now, stop)
        self._catch_up(stop)
        holding = [reader for reader in self.readers if reader.holds and reader not in self._backlog]
        for reader in holding:
            if now - reader.grown_at >= UNFINISHED_S and not stop.is_set():
                with self._told_of(reader.source.index):
                    self._read(reader, reader.source.size(), stop, final=True, told=nobody)
        newest = max(holding, key=lambda reader: reader.grown_at, default=None)
        text = newest.held(now) if newest is not None else b""
        self.unfinished = (newest.source.path, text) if newest is not None and text else None
        return before != (self.generation, self.version)

    @contextlib.contextmanager
    def _told_of(self, source: int) -> Iterator[None]:
        """Keep what cannot be read of one source from ending the reading of all."""
        try:
            yield
        except SourceError as error:
            self.problems[source] = str(error)

    def wait(self, timeout: float) -> bool:
        """Sleep until there may be something to `poll`, at most `timeout` seconds; True for news."""
        if self.follower is None:
            return False
        if self._backlog:
            return True
        return self.follower.wait(min(timeout, self.follower.delay()))

    def wake(self) -> None:
        """End a `wait` from another thread."""
        if self.follower is not None:
            self.follower.wake()

    def close(self) -> None:
        """Give back descriptors and threads."""
        if self.follower is not None:
            self.follower.close()
        self._workers.close()
        for reader in self.readers:
            reader.source.close()

    def _take(self, change: Change, now: float, stop: threading.Event) -> None:
        """Act on what happened to a source; what a file has grown by waits for its turn."""
        source = change.source
        if source.index == len(self.readers):
            self._appear(source)
        reader = self.readers[source.index]
        if change.note:
            self._read(reader, change.offset, stop, final=True, told=nobody)  # the old text before our line
            with self._lock:
                self.merger.note(source.index, change.note)
                self.version += 1
        reader.grown_at = now
        if source.feed is None:
            self._backlog.put(reader)
        else:
            end = None if source.is_inflated else source.size()
            self._read(reader, end, stop, final=source.is_final, told=nobody)

    def _catch_up(self, stop: threading.Event) -> None:
        """Read a turn of what the files have grown by."""
        turn = [(reader, end, False) for reader, end in self._backlog.turn()]
        if self._is_worth_workers(sum(end - reader.at for reader, end, _ in turn)):
            self._read_by_workers(turn, stop, nobody)
        with self._together():
            for reader, end, final in turn:
                with self._told_of(reader.source.index):
                    self._read(reader, end, stop, final, told=nobody)
        self.behind = self._backlog.size
        if not self._backlog:
            self._workers.close()

    def snapshot(self) -> Snapshot:
        """Return a frozen view of what has been read; of a large job's end as long as it is being read."""
        with self._lock:
            return self._early if self._early is not None else super().snapshot()
