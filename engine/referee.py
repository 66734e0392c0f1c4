"""Judges snapshots in a process of its own, so that a screen draws on meanwhile.

The process maps the columns of a snapshot (about 31 bytes a line) where they are and reads texts from the sources
itself. It lives as long as its owner: what it has imported (sklearn: 1.3 s of CPU) serves the next judgement.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import NamedTuple

from l4tui.engine.children import begin, spawning
from l4tui.engine.formats import Dialect, Format, Parser
from l4tui.engine.iterations import FillCache
from l4tui.engine.opinion import Opinion
from l4tui.engine.order import OrderCache
from l4tui.engine.sharing import receive_arrays, send_arrays
from l4tui.engine.snapshot import Snapshot

NICENESS = 5  # behind who draws, once the first opinion, which a person waits for, is there


class RefereeError(Exception):
    """A judgement that failed; the message says why."""


class Manner(NamedTuple):
    """How the lines of a job are parsed: what a line whose plan does not hold needs."""

    dialects: Sequence[Dialect]  # by source
    formats: tuple[Format, ...]
    beside: tuple[str, ...] = ()  # files that may hold hardware telemetry
    utc_offset_s: int = 0


class Reparser:
    """Finds where a message begins, by the dialect of its source."""

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._parsers: dict[Dialect, Parser] = {}

    def __call__(self, source: int, line: bytes) -> int:
        """Return the offset of the message."""
        dialect = self._manner.dialects[source]
        if dialect not in self._parsers:
            self._parsers[dialect] = Parser(dialect, self._manner.formats)
        return self._parsers[dialect].parse(line).text_at


class Referee:
    """One process for one job; starts with the first judgement. Judgements are asked for one at a time."""

    def __init__(self, manner: Callable[[], Manner]) -> None:
        self._manner = manner
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._pid = 0
        self._lock = threading.Lock()  # held for moments only
        self._is_closed = False

    def judge(self, snap: Snapshot) -> Opinion | None:
        """Return the opinion on a snapshot, None when closed meanwhile; raise RefereeError when it cannot be judged."""
        pipe = self._start()
        if pipe is None:
            return None
        try:
            _send(pipe, snap, self._manner(), self._pid)
            answer = pipe.recv()
        except (EOFError, OSError) as error:
            self._end()
            if self._is_closed:
                return None
            raise RefereeError("the judging process ended") from error
        if isinstance(answer, str):
            raise RefereeError(answer)
        assert isinstance(answer, Opinion)
        return answer

    def close(self) -> None:
        """End the process at once, whatever it is at."""
        self._is_closed = True
        self._end()

    def _start(self) -> Connection | None:
        with self._lock:
            if self._is_closed:
                return None
            if self._pipe is None:
                context = spawning()
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs,), daemon=True, name="l4tui-referee")
                process.start()
                theirs.close()
                self._pipe, self._process, self._pid = ours, process, process.pid or 0
            return self._pipe

    def _end(self) -> None:
        with self._lock:
            process, self._process, self._pipe = self._process, None, None
        if process is not None:
            process.kill()  # the one who waits for an answer reads the end of the pipe


def _send(pipe: Connection, snap: Snapshot, manner: Manner, pid: int) -> None:
    told = {f.name: getattr(snap, f.name) for f in fields(snap) if f.name not in _LEFT_OUT}
    told["columns"] = send_arrays(pipe, snap.columns, pid)
    told["plans"] = snap.plans._replace(formats=())
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps((told, manner), protocol=5, buffer_callback=buffers.append)
    pipe.send(len(buffers))
    pipe.send_bytes(body)
    for buffer in buffers:
        pipe.send_bytes(buffer.raw())


_LEFT_OUT = {"reparse", "order_", "fill_", "shapes", "keys"}  # made anew there, or not needed


def _receive(pipe: Connection) -> tuple[Snapshot, Manner]:
    mapped = receive_arrays(pipe)
    count = pipe.recv()
    body = pipe.recv_bytes()
    buffers = [pipe.recv_bytes() for _ in range(count)]
    told, manner = pickle.loads(body, buffers=buffers)  # from our own process
    told["columns"] |= mapped
    return Snapshot(**told, reparse=Reparser(manner), order_=OrderCache(), fill_=FillCache()), manner


def _serve(pipe: Connection) -> None:
    """Answer one snapshot after the other until the owner is gone."""
    begin()
    silent = os.open(os.devnull, os.O_RDWR)
    for fd in (1, 2):  # the terminal belongs to the screen
        os.dup2(silent, fd)
    from l4tui.engine.appraisal import appraise
    from l4tui.engine.library import load
    from l4tui.engine.telemetry.outside import Shelf

    shelf = Shelf()
    while True:
        try:
            snap, manner = _receive(pipe)
        except (EOFError, OSError):
            return
        try:
            outside = shelf.outside(snap, manner.beside, manner.utc_offset_s)
            answer: Opinion | str = appraise(snap, load(), outside=outside)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        try:
            pipe.send(answer)
            os.nice(max(NICENESS - os.nice(0), 0))
        except OSError:
            return
