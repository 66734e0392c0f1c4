"""Ranges of sources, mapped by any process: the task that workers are given and what they hand back."""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from threading import Event
from typing import NamedTuple

import numpy as np

from l4tui.engine.blocks import Block, blocks, cuts
from l4tui.engine.clock import ClockContext
from l4tui.engine.formats import Dialect, Format, Parser
from l4tui.engine.mapper import Mapper, Part
from l4tui.engine.model import UNKNOWN
from l4tui.engine.sources import Source, SourceError

WORTHWHILE = 64 << 20  # bytes from which a pool's start pays
TASK = 48 << 20  # bytes a task has: its mapper begins with nothing, so small ones read too many lines anew
SMALLEST_TASK = 8 << 20
SMALL = 64 << 10  # bytes of a block that is mapped together with those of other sources …
TOGETHER = 1 << 20  # … which hold as many
MOST_KEPT = 16  # mappers that wait for a worker's next task


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes of a source from one cut to another: the start of a line, or a place inside of one in pieces."""

    source: Source
    begin: int
    end: int
    dialect: Dialect
    context: ClockContext
    final: bool  # the last line may lack its newline
    continues: bool = False  # begins inside a line


@dataclass(frozen=True, slots=True)
class Task:
    """Ranges that one process maps one after the other; consecutive ones in the order of the merge."""

    ranges: tuple[Range, ...]
    formats: tuple[Format, ...]
    reading: str = ""  # names what all tasks of a reading share
    number: int = 0  # counts them in the order of the merge

    @property
    def size(self) -> int:
        return sum(one.end - one.begin for one in self.ranges)


class Held(NamedTuple):
    """A block that waits to be mapped."""

    source: int
    block: Block
    dialect: Dialect
    context: ClockContext


class Batch:
    """Blocks that wait for each other: small ones of many sources cost a fraction when they are mapped together."""

    def __init__(self) -> None:
        self._held: list[Held] = []
        self._size = 0  # bytes

    def put(self, one: Held) -> bool:
        """Take a block; say whether those that are held should be mapped now."""
        self._held.append(one)
        self._size += len(one.block.data)
        return len(one.block.data) > SMALL or self._size >= TOGETHER

    def take(self, mapper_of: Callable[[Dialect], Mapper]) -> Iterator[list[tuple[Held, Part]]]:
        """Map and yield what is held, in order, the neighbours of one dialect together."""
        held, self._held, self._size = self._held, [], 0
        for dialect, some in groupby(held, key=lambda one: one.dialect):
            mine = list(some)
            parts = mapper_of(dialect).map_all([one.block.data for one in mine], [one.context for one in mine])
            yield list(zip(mine, parts, strict=True))


class Mapped(NamedTuple):
    """One block of a range, mapped; `part`'s ids belong to the task's mapper of that dialect."""

    source: int
    offset: int
    end: int
    continues: bool
    inside: bool  # the block ended inside a line
    part: Part


class Failed(NamedTuple):
    """A source that could not be read on."""

    source: int
    words: str


def tasks_of(ranges: Iterable[Range], total: int, jobs: int, formats: tuple[Format, ...]) -> Iterator[Task]:
    """Cut ranges of so many bytes in all into tasks of about equal size, none larger than TASK by much."""
    size = min(max(total // (jobs * 4), SMALLEST_TASK), TASK)
    reading = uuid.uuid4().hex
    for number, some in enumerate(_bundles((piece for one in ranges for piece in _pieces(one, size)), size)):
        yield Task(some, formats, reading, number)


def _bundles(pieces: Iterable[Range], size: int) -> Iterator[tuple[Range, ...]]:
    """Yield neighbours that hold `size` bytes together."""
    held: list[Range] = []
    room = size
    for piece in pieces:
        held.append(piece)
        room -= piece.end - piece.begin
        if room <= 0:
            yield tuple(held)
            held, room = [], size
    if held:
        yield tuple(held)


def _pieces(one: Range, size: int) -> Iterator[Range]:
    length = one.end - one.begin
    if length <= size * 3 // 2:
        yield one
        return
    try:
        first, *others = cuts(one.source, one.begin, one.end, -(-length // size))
    except SourceError:  # cut or gone meanwhile: whoever reads it steps over what is lost, or tells
        yield one
        return
    for begin, end in pairwise((first._replace(inside=one.continues), *others)):
        yield replace(one, begin=begin.offset, end=end.offset, continues=begin.inside)


def map_task(task: Task) -> bytes:
    """Map a task and return it packed; `unpack` gives its blocks."""
    return pickle.dumps(list(mapped(task)), protocol=5)


class _Kept(threading.local):
    """Mappers of a worker's thread: what a key tells need not be found out for each task anew.

    Only tasks that come earlier in the same reading may have shown a key: some of a plan is of its first line.
    """

    def __init__(self) -> None:
        self._mappers: dict[Dialect, Mapper] = {}
        self._after = ("", 0)  # reading and number of the last task

    def take(self, task: Task, dialect: Dialect) -> Mapper:
        """Take a mapper out of what is kept, or a new one; its ids start anew."""
        reading, number = self._after
        if reading != task.reading or number >= task.number:
            self._mappers.clear()
        known = self._mappers.pop(dialect, None)
        if known is None or known.is_crowded:
            return Mapper(Parser(dialect, task.formats), dialect)
        known.number_anew()
        return known

    def give_back(self, task: Task, mappers: Mapping[Dialect, Mapper]) -> None:
        """Keep mappers for the next task."""
        if len(self._mappers) + len(mappers) > MOST_KEPT:
            self._mappers.clear()
        self._mappers.update(mappers)
        self._after = (task.reading, task.number)


_KEPT = _Kept()  # one per process and thread, as workers are


def mapped(task: Task, stop: Event | None = None) -> Iterator[Mapped | Failed]:
    """Yield the blocks of a task; a source that cannot be read ends with a `Failed`."""
    mappers: dict[Dialect, Mapper] = {}
    batch = Batch()
    for one in task.ranges:
        try:
            for block in blocks(one.source, one.begin, one.end, stop=stop, final=one.final, continues=one.continues):
                if batch.put(Held(one.source.index, block, one.dialect, one.context)):
                    yield from _mapped(task, batch, mappers)
        except SourceError as error:
            yield from _mapped(task, batch, mappers)
            yield Failed(one.source.index, str(error))
    yield from _mapped(task, batch, mappers)
    _KEPT.give_back(task, mappers)


def _mapped(task: Task, batch: Batch, mappers: dict[Dialect, Mapper]) -> Iterator[Mapped]:
    def mapper_of(dialect: Dialect) -> Mapper:
        if dialect not in mappers:
            mappers[dialect] = _KEPT.take(task, dialect)
        return mappers[dialect]

    for some in batch.take(mapper_of):
        for (source, block, _, _), part in some:
            yield Mapped(source, block.offset, block.end, block.continues, block.inside, _slim(part))


def _slim(part: Part) -> Part:
    """Return the part with columns as small as the store keeps them: a third less to hand over."""
    mark = part.mark
    narrow = np.minimum(mark, 2**31 - 2).astype(np.int32) if len(mark) and mark.max() > UNKNOWN else _NOTHING
    dateless = part.dateless if part.dateless.any() else _NEVER
    return part._replace(begin=part.begin.astype(np.uint32), mark=narrow, dateless=dateless)


_NOTHING = np.empty(0, np.int32)
_NEVER = np.empty(0, np.bool_)


def unpack(packed: bytes) -> Sequence[Mapped | Failed]:
    """Return what `map_task` packed; only ever fed with what our own workers hand back."""
    out = []
    for one in pickle.loads(packed):
        if isinstance(one, Mapped):
            n = len(one.part.plan)
            part = one.part
            mark = part.mark if len(part.mark) else np.full(n, UNKNOWN, np.int32)
            dateless = part.dateless if len(part.dateless) else np.zeros(n, np.bool_)
            one = one._replace(part=part._replace(mark=mark, dateless=dateless))
        out.append(one)
    return out
