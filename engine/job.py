"""Job: all sources opened together; what the command line and the screen hold."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from l4tui.engine import preview
from l4tui.engine.blocks import blocks
from l4tui.engine.dating import Dating
from l4tui.engine.discovery import Found
from l4tui.engine.follow import Change, Follower
from l4tui.engine.formats import Dialect, Parser, detect
from l4tui.engine.identity import Identity, Ranks
from l4tui.engine.iterations import FillCache
from l4tui.engine.mapper import Mapper, Part
from l4tui.engine.merger import Merger
from l4tui.engine.options import Options
from l4tui.engine.order import OrderCache
from l4tui.engine.parallel import Workers
from l4tui.engine.planbook import Translation
from l4tui.engine.ranges import WORTHWHILE, Failed, Range, map_task, tasks_of, unpack
from l4tui.engine.reader import UNFINISHED_S, Reader
from l4tui.engine.resuming import keep, take_up
from l4tui.engine.sampling import sample
from l4tui.engine.snapshot import RankTable, Snapshot, count_lines
from l4tui.engine.sources import Source, SourceError
from l4tui.engine.store import Store
from l4tui.engine.troubles import troubles_of

WORTH_KEEPING = 0.02  # share of new text from which an index is written again
SETTLED = 1 << 20  # a source that has grown past it has shown its dialect
__all__ = ["Job", "Options"]
Progress = Callable[[int, int], None]


class Job:
    """Reads sources into a store and hands out snapshots; one thread reads, any thread takes snapshots."""

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
        self.options = options or Options()
        self.follower = Follower(sources, found) if follow else None
        self.sources = tuple(sources)  # by index
        self.readers = [Reader(source, Dialect()) for source in sources]
        self.generation = 0  # counts readings from the start: entry ids of an earlier one mean nothing
        self.remarks: list[str] = []  # what a person may want to know about the reading
        self._dating = Dating()
        self.problems: dict[int, str] = {}  # sources that cannot be read on, in words
        self.unfinished: tuple[str, bytes] | None = None  # path and end of the line that is being written
        self._early: Snapshot | None = None  # of the tails, while the rest is read
        self._workers = Workers(self.options.jobs, self.options.dask)
        self._lock = threading.RLock()
        self._start_anew()

    def _start_anew(self) -> None:
        cache = self.options.cache
        self.store = Store(self.options.max_mem, cache.folder if cache is not None else None)
        self.identity = Identity(
            ranks_per_node=self.options.ranks_per_node,
            world_size=self.options.world_size,
            map_file=self.options.map_file,
        )
        self.merger = Merger(self.store, self.identity)
        self.order = OrderCache()
        self.fill = FillCache()
        self._mappers: dict[Dialect, tuple[Mapper, Translation]] = {}
        self._ranks: tuple[tuple[int, int], Ranks] | None = None
        self.version = 0
        for reader in self.readers:
            self.identity.add_source(reader.source.index, reader.source.name, PurePath(reader.source.path))
            reader.at, reader.inside = 0, False

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
                        reader.judged = 0
        known = sum(reader.at for reader in self.readers)
        if self.options.tail_first and self.store.length == 0:
            self._read_tails(stop, progress or _nobody)
        try:
            self._read_rest(stop, progress, final)
        finally:
            self._early = None
        if cache is not None and not stop.is_set():
            read = sum(reader.at for reader in self.readers)
            if read - known > read * WORTH_KEEPING and (why := keep(self, cache)):
                self.remarks.append(why)

    def _read_tails(self, stop: threading.Event, progress: Progress) -> None:
        """Read the ends of a large job and show them until all is read; line numbers there are estimates."""
        files = [reader for reader in self.readers if reader.source.feed is None]
        total = sum(reader.size() for reader in files)
        if total < preview.FROM:
            return
        tails = Job(self.sources, replace(self.options, jobs=1, dask="", cache=None))
        over = time.thread_time() + preview.SECONDS
        for reader in files:
            if stop.is_set() or time.thread_time() > over:
                return
            tail = tails.readers[reader.source.index]
            with contextlib.suppress(SourceError):
                tails._judge(tail, reader.source.size())
                for begin, end in preview.ranges_of(reader.source, len(files)):
                    tails._skip_to(tail, begin)
                    tails._read(tail, end, stop, final=True, told=_nobody)
            reader.dialect, reader.judged = tail.dialect, tail.judged
        if tails.store.length:
            with self._lock:
                self._early = replace(tails.snapshot(), is_complete=False)
                self.generation += 1
            progress(0, total)

    def _skip_to(self, reader: Reader, offset: int) -> None:
        """Go on reading further behind, as if the text between held lines like those before it."""
        lines = self.merger.lines(reader.source.index)
        if reader.at and offset > reader.at:
            self.merger.skip(reader.source.index, lines * (offset - reader.at) // reader.at)
        reader.at = offset

    def _read_rest(self, stop: threading.Event, progress: Progress | None, final: bool) -> None:
        total = sum(reader.size() for reader in self.readers)
        progress = progress or _nobody
        if (self.options.jobs > 1 or self.options.dask) and total >= WORTHWHILE:
            self._read_by_workers(stop, final, progress)
        done = sum(reader.at for reader in self.readers)
        for reader in self.readers:
            source, before = reader.source, reader.at
            others = total - reader.size()

            def told(at: int, done: int = done - before, others: int = others, reader: Reader = reader) -> None:
                whole = reader.expected()
                progress(done + at, others + whole if whole >= 0 else 0)

            to_its_end = source.is_inflated or (final and source.feed is not None)
            try:
                ended = final or reader.is_silent()
                self._read(reader, None if to_its_end else source.size(), stop, ended, told)
            except SourceError as error:
                self.problems[source.index] = str(error)
            done += reader.at - before
            total = others + max(reader.expected(), reader.at)
            if stop.is_set():
                return

    def poll(self, stop: threading.Event | None = None, left: Callable[[int], None] | None = None) -> bool:
        """Read what has been written since; say whether anything changed. Nothing to do without `follow`.

        `left` is told the bytes of a source that are still to be read, a block at a time.
        """
        if self.follower is None:
            return False
        before = (self.generation, self.version)
        now = time.monotonic()
        stop = stop or threading.Event()
        for change in self.follower.poll(now):
            with self._told_of(change.source.index):
                self._take(change, now, stop, left or _nobody)
        holding = [reader for reader in self.readers if reader.holds]
        for reader in holding:
            if now - reader.grown_at >= UNFINISHED_S and not stop.is_set():
                with self._told_of(reader.source.index):
                    self._read(reader, reader.source.size(), stop, final=True, told=_nobody)
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

    def _take(self, change: Change, now: float, stop: threading.Event, left: Callable[[int], None]) -> None:
        """Act on what happened to a source."""
        source = change.source
        if source.index == len(self.readers):
            with self._lock:
                self.readers.append(Reader(source, Dialect()))
                self.sources = (*self.sources, source)
                self.identity.add_source(source.index, source.name, PurePath(source.path))
        reader = self.readers[source.index]
        if change.note:
            self._read(reader, change.offset, stop, final=True, told=_nobody)  # the old text before our line
            with self._lock:
                self.merger.note(source.index, change.note)
                self.version += 1
        reader.grown_at = now
        end = None if source.is_inflated else source.size()
        self._read(reader, end, stop, final=source.is_final, told=lambda at: left(source.size() - at))

    def _read(
        self, reader: Reader, end: int | None, stop: threading.Event, final: bool, told: Callable[[int], None]
    ) -> None:
        """Read lines up to an offset; None: to the end of a pipe or compressed file, however long that takes."""
        size = reader.source.fill(SETTLED, stop, wait=final) if end is None else end
        if reader.judged < SETTLED and size > 2 * reader.judged and self._judge(reader, size):
            self._read_again(stop)
        mapper, translation = self._mapper(reader.dialect)
        context = self._dating.context(reader.source, (one.source for one in self.readers), self.options.utc_offset_s)
        for block in blocks(reader.source, reader.at, end, stop=stop, final=final, continues=reader.inside):
            part = mapper.map(block.data, context)
            self._add(reader.source.index, block.offset, part, translation, block.continues)
            reader.at = block.end
            reader.inside = block.unfinished or not block.data.endswith(b"\n")
            told(reader.at)
        reader.holds = reader.at < size

    def _read_by_workers(self, stop: threading.Event, final: bool, progress: Progress) -> None:
        """Map files that are read for the first time on other processes and merge them here, in order."""
        fresh = [reader for reader in self.readers if reader.source.feed is None and reader.at == 0]
        ranges = []
        for reader in fresh:
            size = reader.size()
            if stop.is_set():
                return
            if reader.judged < SETTLED:
                self._judge(reader, size)
            others = (one.source for one in self.readers)
            context = self._dating.context(reader.source, others, self.options.utc_offset_s)
            ended = final or reader.is_silent()
            ranges.append(Range(reader.source, 0, size, reader.dialect, context, ended))
        total = sum(one.end for one in ranges)
        done = 0
        for packed in self._workers.run(map_task, tasks_of(ranges, self.options.jobs, self.options.formats), stop):
            translations: dict[Dialect, Translation] = {}
            for one in unpack(packed):
                if stop.is_set():
                    return
                if isinstance(one, Failed):
                    self.problems[one.source] = one.words
                    continue
                reader = self.readers[one.source]
                translation = translations.setdefault(reader.dialect, Translation())
                self._add(one.source, one.offset, one.part, translation, one.continues)
                reader.at, reader.inside = one.end, one.inside
                done += one.end - one.offset
                progress(done, total)
        if self._workers.problem:
            self.remarks.append(self._workers.problem)
        self._workers.close(wait=not stop.is_set())

    def _add(self, source: int, offset: int, part: Part, translation: Translation, continues: bool) -> None:
        with self._lock:
            self._expect(len(part.plan), part.size)
            self.merger.add(source, offset, part, translation, continues)
            self.version += 1

    def _expect(self, entries: int, size: int) -> None:
        """Make room in the store for what the bytes still to be read will hold, judged by what was read."""
        if self.store.is_full(entries):
            done = sum(reader.at for reader in self.readers) + size
            known = sum(reader.size() for reader in self.readers)
            density = (self.store.length + entries) / done
            self.store.expect(int(density * known * 1.02) + entries)

    def _mapper(self, dialect: Dialect) -> tuple[Mapper, Translation]:
        found = self._mappers.get(dialect)
        if found is None:
            mapper = Mapper(Parser(dialect, self.options.formats), dialect)
            found = self._mappers[dialect] = (mapper, Translation())
        return found

    def _judge(self, reader: Reader, end: int) -> bool:
        """Find the source's dialect; say whether what was read before was read in another."""
        reader.judged = end
        try:
            lines = sample(reader.source, end)
        except SourceError:  # the file was cut: what is left does not tell more than what was read
            return False
        dialect = detect(lines, reader.source.name, self.options.formats)
        changed = dialect != reader.dialect
        reader.dialect = dialect
        return changed and reader.at > 0

    def _read_again(self, stop: threading.Event) -> None:
        """Read everything anew up to where it was read: a dialect was found that changes what lines mean."""
        upto = [reader.at for reader in self.readers]
        with self._lock:
            self.generation += 1
            self._start_anew()
        for reader, end in zip(self.readers, upto, strict=True):
            self._read(reader, end, stop, final=True, told=_nobody)

    def snapshot(self) -> Snapshot:
        """Return a frozen view of what has been read; of a large job's end as long as it is being read."""
        with self._lock:
            if self._early is not None:
                return self._early
            ranks = self.resolved()
            table = RankTable(ranks.rank, ranks.local_rank, ranks.node, ranks.attempt, ranks.stream, ranks.kind)
            book = self.merger.book
            return Snapshot(
                length=self.store.length,
                version=self.version,
                generation=self.generation,
                sources=self.sources,
                columns={name: column.view() for name, column in self.store.columns.items()},
                blocks=self.store.blocks(),
                plans=book.table(),
                ranks=table,
                templates=book.events.templates(),
                sites=tuple(book.sites),
                nodes=ranks.nodes,
                streams=ranks.streams,
                world_size=ranks.world_size,
                node_ranks=ranks.node_ranks,
                notes=self.store.notes,
                reparse=self._text_at,
                counts_=count_lines(self.merger.alone.view(), self.merger.shared, table),
                order_=self.order,
                fill_=self.fill,
                shapes=book.shapes,
                keys=book.texts,
            )

    def release(self) -> None:
        """Let go of all entries; snapshots taken earlier keep them."""
        with self._lock:
            self.store = self.merger.store = Store(self.options.max_mem)

    def resume(self, ranks: Ranks) -> None:
        """Take up ranks that were resolved in an earlier run; they hold until more is read."""
        self._ranks = ((len(self.merger.speakers), self.identity.version), ranks)

    def resolved(self) -> Ranks:
        """Return who the speakers are, as far as it is known now."""
        key = (len(self.merger.speakers), self.identity.version)
        if self._ranks is None or self._ranks[0] != key:
            self._ranks = (key, self.identity.resolve(self.merger.speakers))
        return self._ranks[1]

    def _text_at(self, source: int, line: bytes) -> int:
        mapper, _ = self._mapper(self.readers[source].dialect)
        return mapper.parser.parse(line).text_at


def _nobody(*at: int) -> None:
    """Take news of progress that nobody waits for."""
