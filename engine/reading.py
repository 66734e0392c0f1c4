"""Reading: from the bytes of sources to a store, here or on other processes, and to snapshots of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath

from l4tui.engine.blocks import blocks
from l4tui.engine.dating import Dating
from l4tui.engine.formats import Dialect, Parser
from l4tui.engine.identity import Identity, Ranks
from l4tui.engine.iterations import FillCache
from l4tui.engine.kindred import Kindred
from l4tui.engine.mapper import Mapper
from l4tui.engine.merger import Merger, Piece
from l4tui.engine.options import Options
from l4tui.engine.order import OrderCache
from l4tui.engine.parallel import Workers
from l4tui.engine.planbook import Translation
from l4tui.engine.ranges import (
    TOGETHER,
    WORTHWHILE,
    Batch,
    Failed,
    Held,
    Mapped,
    Range,
    map_task,
    tasks_of,
    unpack,
)
from l4tui.engine.reader import Reader
from l4tui.engine.sampling import FARTHEST
from l4tui.engine.snapshot import RankTable, Snapshot, count_lines
from l4tui.engine.sources import Source, SourceError
from l4tui.engine.store import Store

BEHIND = 10  # niceness of who reads the rest while the tail is looked at: the first verdict comes before
SETTLED = 1 << 20  # a source that has grown past it has shown its dialect
Progress = Callable[[int, int], None]
Turn = tuple[Reader, int, bool]  # who reads, up to where, and whether the last line may lack its newline


class Reading:
    """Maps text of sources and merges it into one store; one thread reads, any thread takes snapshots."""

    def __init__(self, sources: Sequence[Source], options: Options, kindred: Kindred | None = None) -> None:
        """Take sources whose index is their place, and what another reading has learnt of their dialects."""
        self.options = options
        self.sources = tuple(sources)  # by index
        self.readers = [Reader(source, Dialect()) for source in sources]
        self.generation = 0  # counts readings from the start: entry ids of an earlier one mean nothing
        self.remarks: list[str] = []  # what a person may want to know about the reading
        self.problems: dict[int, str] = {}  # sources that cannot be read on, in words
        self._dating = Dating()
        self._kindred = kindred or Kindred(sources, options.formats)
        self._workers = Workers(options.jobs, options.dask, BEHIND if options.tail_first else 0)
        self._holds = False  # small blocks are held back
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
        self._batch = Batch()
        self._ranks: tuple[tuple[int, int], Ranks] | None = None
        self.version = 0
        for reader in self.readers:
            self.identity.add_source(reader.source.index, reader.source.name, PurePath(reader.source.path))
            reader.at, reader.inside = 0, False

    def _appear(self, source: Source) -> None:
        """Take a source that has come up since."""
        with self._lock:
            self.readers.append(Reader(source, Dialect()))
            self.sources = (*self.sources, source)
            self.identity.add_source(source.index, source.name, PurePath(source.path))

    def _read_early(self, source: Source, begin: int, end: int, stop: threading.Event) -> None:
        """Read lines of a source from further behind than it has been read; raises SourceError."""
        reader = self.readers[source.index]
        if reader.at == 0:
            self._guess(reader, source.size())
        if end > begin:
            self._skip_to(reader, begin)
            self._read(reader, end, stop, final=True, told=nobody)

    def _skip_to(self, reader: Reader, offset: int) -> None:
        """Go on reading further behind, as if the text between held lines like those before it."""
        lines = self.merger.lines(reader.source.index)
        if reader.at and offset > reader.at:
            self.merger.skip(reader.source.index, lines * (offset - reader.at) // reader.at)
        reader.at = offset

    def _read(
        self, reader: Reader, end: int | None, stop: threading.Event, final: bool, told: Callable[[int], None]
    ) -> None:
        """Read lines up to an offset; None: to the end of a pipe or compressed file, however long that takes."""
        size = reader.source.fill(SETTLED, stop, wait=final) if end is None else end
        if reader.is_to_be_judged(size) and self._judge(reader, size):
            self._read_again(stop)
        if end is None and not reader.is_settled and size >= SETTLED:  # its lines are long
            size = reader.source.fill(FARTHEST, stop, wait=final)
            if self._judge(reader, size):
                self._read_again(stop)
        context = self._dating.context(reader.source, self.sources, self.options.utc_offset_s)
        for block in blocks(reader.source, reader.at, end, stop=stop, final=final, continues=reader.inside):
            is_due = self._batch.put(Held(reader.source.index, block, reader.dialect, context))
            if is_due or not self._holds:
                self._add_batch()
            reader.at, reader.inside = block.end, block.inside
            told(reader.at)
        reader.holds = reader.at < size

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        """Hold small blocks back as long as this lasts: those of many sources cost a fraction together."""
        self._holds = True
        try:
            yield
        finally:
            self._holds = False
            self._add_batch()

    def _add_batch(self) -> None:
        """Map and merge what is held, in order."""
        for some in self._batch.take(lambda dialect: self._mapper(dialect)[0]):
            self._add(
                Piece(one.source, one.block.offset, part, self._mapper(one.dialect)[1], one.block.continues)
                for one, part in some
            )

    def _is_worth_workers(self, size: int) -> bool:
        return (self.options.jobs > 1 or bool(self.options.dask)) and size >= WORTHWHILE

    def _read_by_workers(self, turn: Sequence[Turn], stop: threading.Event, progress: Progress) -> None:
        """Map text on other processes and merge it here, in order."""
        total, done = sum(end - reader.at for reader, end, _ in turn), 0
        wanted: Iterable[Range] = (self._range(*one, stop) for one in turn)  # thousands: judged while others are mapped
        if any(reader.at for reader, _, _ in turn):
            wanted = list(wanted)  # what was read before may have to be read anew: before anything is added
        tasks = tasks_of(wanted, total, self.options.jobs, self.options.formats)
        for packed in self._workers.run(map_task, tasks, stop):
            translations: dict[Dialect, Translation] = {}
            for some in _bunches(unpack(packed)):
                if stop.is_set():
                    return
                pieces = []
                for one in some:
                    if isinstance(one, Failed):
                        self.problems[one.source] = one.words
                        continue
                    reader = self.readers[one.source]
                    translation = translations.setdefault(reader.dialect, Translation())
                    pieces.append(Piece(one.source, one.offset, one.part, translation, one.continues))
                    reader.at, reader.inside = one.end, one.inside
                    done += one.end - one.offset
                self._add(pieces)
                progress(done, total)
        if self._workers.problem:
            self.remarks.append(self._workers.problem)

    def _range(self, reader: Reader, end: int, final: bool, stop: threading.Event) -> Range:
        """Describe text for a worker: from where a reader stands to an offset."""
        if reader.is_to_be_judged(end) and self._judge(reader, end):
            self._read_again(stop)
        context = self._dating.context(reader.source, self.sources, self.options.utc_offset_s)
        return Range(reader.source, reader.at, end, reader.dialect, context, final, reader.inside)

    def _add(self, pieces: Iterable[Piece]) -> None:
        pieces = list(pieces)
        with self._lock:
            self._expect(sum(len(one.part.plan) for one in pieces), sum(one.part.size for one in pieces))
            self.merger.add_all(pieces)
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

    def _guess(self, reader: Reader, end: int) -> None:
        """Give a source the dialect of all those that are named like it, without a look; else find it."""
        known = self._kindred.guess(reader.source)
        if known is None:
            self._judge(reader, end)
        else:
            reader.dialect, reader.is_settled = known, True

    def _judge(self, reader: Reader, end: int) -> bool:
        """Find the source's dialect; say whether what was read before was read in another."""
        reader.judged = end
        try:
            dialect, is_final = self._kindred.dialect(reader.source, end)
        except SourceError:  # the file was cut: what is left does not tell more than what was read
            return False
        reader.is_settled = end >= SETTLED and is_final
        changed = dialect != reader.dialect
        reader.dialect = dialect
        # what was read of text that exists no more is kept, as it was read
        return changed and reader.at > 0 and not any(source.has_lost for source in self.sources)

    def _read_again(self, stop: threading.Event) -> None:
        """Read everything anew up to where it was read: a dialect was found that changes what lines mean."""
        upto = [reader.at for reader in self.readers]
        with self._lock:
            self.generation += 1
            self._start_anew()
        for reader, end in zip(self.readers, upto, strict=True):
            self._read(reader, end, stop, final=True, told=nobody)

    def snapshot(self) -> Snapshot:
        """Return a frozen view of what has been read."""
        with self._lock:
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


def _bunches(parts: Iterable[Mapped | Failed]) -> Iterator[list[Mapped | Failed]]:
    """Yield neighbours that hold TOGETHER bytes: what is merged without a pause for readers."""
    held: list[Mapped | Failed] = []
    size = 0
    for one in parts:
        held.append(one)
        size += one.part.size if isinstance(one, Mapped) else 0
        if size >= TOGETHER:
            yield held
            held, size = [], 0
    if held:
        yield held


def nobody(*at: int) -> None:
    """Take news of progress that nobody waits for."""
