"""A job made of numpy columns, for screens that need no files: the members of a snapshot over generated lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Event
from types import SimpleNamespace

import numpy as np

from l4tui.engine.model import NO_TIME, Flag, Kind, Level, LineClass, Place
from l4tui.engine.snapshot import LineCounts

SECOND = 1_000_000_000
START = 1_769_860_980 * SECOND  # 2026-01-31 12:03:00 UTC
TEXTS = (
    "step {i} loss: 2.31 grad_norm: 0.87 tokens/s: 41,203",
    "collated batch {i} from shard 0017",
    "checkpoint saved to /ckpt/step_{i}",
    "slow batch: data loader took 812 ms",
    "RuntimeError: CUDA error: device-side assert triggered",
    '{{"step": {i}, "loss": 2.31, "tokens": 8192}}',
    "Traceback (most recent call last):",
)
LEVELS = (Level.INFO, Level.DEBUG, Level.INFO, Level.WARNING, Level.ERROR, Level.NONE, Level.NONE)
SITES = ("train.py:142", "data.py:77", "ckpt.py:31", "data.py:99", "train.py:150")
RANKS = 8
LAUNCHER, UNKNOWN_SPEAKER = RANKS, RANKS + 1


@dataclass
class FakeSource:
    """A source without bytes."""

    path: str = "job.log"
    mtime: int = 0
    mirror_of: str = ""

    def size(self) -> int:
        return 1


@dataclass
class FakeSnapshot:
    """Everything follows from the entry's number; `odd` gives entries a text of their own."""

    length: int
    version: int = 0
    generation: int = 0
    odd: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = np.arange(self.length)
        self.sources = (FakeSource(),)
        self.plan = np.zeros(self.length, np.int32)
        self.plan[n % 11 == 3] = 1
        self.plan[n % 50 == 20] = 2
        self.plan[n % 97 == 40] = 3
        self.plan[n % 400 == 399] = 4
        self.plan[n % 60 == 31] = 5
        self.speaker = (n % RANKS).astype(np.int32)
        self.speaker[:3] = LAUNCHER
        self.speaker[n % 211 == 100] = UNKNOWN_SPEAKER
        self.clock = START + n * (SECOND // 20)
        self.clock[:3] = NO_TIME
        self.flags = np.where(n >= 3, Flag.TIMED, 0).astype(np.uint16)
        self.iteration = np.where(n >= 40, n // 40, -1).astype(np.int32)
        self.stage = np.where(n >= 40, 4, 0).astype(np.int8)
        self.record = n.astype(np.uint32)
        self.is_complete = True
        self.columns = {"iteration": self.iteration}
        self.blocks = SimpleNamespace(first=np.zeros(1, np.int64), source=np.zeros(1, np.int32))
        ids = np.arange(len(TEXTS))
        self.plans = SimpleNamespace(
            event=ids.astype(np.int32),
            level=np.array(LEVELS, np.int8),
            site=np.where(ids < len(SITES), ids, -1).astype(np.int32),
            line_class=np.full(len(TEXTS), LineClass.HEAD, np.int8),
            formats=[("fake",)] * len(TEXTS),
            shape=ids.astype(np.int32),
            marker=np.zeros(len(TEXTS), np.int8),
        )
        self.shapes = tuple(text.encode() for text in TEXTS)
        speakers = np.arange(RANKS + 2)
        known = speakers < RANKS
        self.ranks = SimpleNamespace(
            rank=np.where(known, speakers, -1).astype(np.int32),
            local_rank=np.where(known, speakers % 4, -1).astype(np.int32),
            node=np.where(known, speakers // 4, -1).astype(np.int32),
            attempt=np.zeros(RANKS + 2, np.int32),
            stream=np.full(RANKS + 2, -1, np.int32),
            kind=np.array([Kind.RANK] * RANKS + [Kind.LAUNCHER, Kind.UNKNOWN], np.uint8),
        )
        self.templates = tuple(re.sub(r"\{i\}", "<*>", text) for text in TEXTS)
        self.sites, self.nodes, self.streams = SITES, ("n0", "n1"), ()
        self.world_size = RANKS

        self._counts = self._count()

    def counts(self) -> LineCounts:
        return self._counts

    def _count(self) -> LineCounts:
        per = np.bincount(self.speaker, minlength=RANKS + 2).tolist()
        ranks = {rank: per[rank] for rank in range(RANKS) if per[rank]}
        return LineCounts(self.length, ranks, 0, per[LAUNCHER], per[UNKNOWN_SPEAKER])

    def order(self) -> np.ndarray:
        return np.arange(self.length)

    def source_of(self, entries: np.ndarray) -> np.ndarray:
        return np.zeros(len(entries), np.int32)

    def rank(self, entries: np.ndarray) -> np.ndarray:
        return self.ranks.rank[self.speaker[entries]]

    def event(self, entries: np.ndarray) -> np.ndarray:
        return self.plans.event[self.plan[entries]]

    def text(self, entry: int) -> str:
        if entry in self.odd:
            return self.odd[entry]
        return TEXTS[int(self.plan[entry])].format(i=max(int(self.iteration[entry]), 0))

    def texts(self, entries: Iterable[int], most: int = 0) -> list[str]:
        return [self.text(entry) for entry in entries]

    def raws(self, entries: Iterable[int], most: int = 0) -> list[bytes]:
        return [self.raw(entry) for entry in entries]

    def raw(self, entry: int) -> bytes:
        return f"[rank{int(self.speaker[entry])}]: {self.text(entry)}".encode("utf-8", "surrogateescape")

    def prefix(self, entry: int) -> str:
        return f"[rank{int(self.speaker[entry])}]: "

    def place(self, entry: int) -> Place:
        return Place(0, entry + 1, 0)

    def iteration_of(self, entries: np.ndarray) -> np.ndarray:
        return self.iteration[entries]

    def iteration_at(self, entry: int) -> int:
        return int(self.iteration[entry])

    def learn_iterations(self) -> None:
        pass

    def entry_at(self, source: int, line: int) -> int:
        return line - 1 if 0 < line <= self.length else -1

    def entries_of(self, heads: Iterable[int]) -> np.ndarray:
        return np.array(list(heads), np.int64)


class FakeJob:
    """Grows when told to."""

    def __init__(self, length: int = 1000, odd: dict[int, str] | None = None) -> None:
        self.odd = odd or {}
        self.unfinished: tuple[str, bytes] | None = None
        self.behind = 0
        self.troubles: tuple[str, ...] = ()
        self._state = FakeSnapshot(length, odd=self.odd)
        self._news = Event()
        self._grown = False

    def grow(self, lines: int) -> None:
        old = self._state
        self._state = FakeSnapshot(old.length + lines, old.version + 1, old.generation, self.odd)
        self._grown = True
        self._news.set()

    def snapshot(self) -> FakeSnapshot:
        return self._state

    def read_all(self, stop: Event, progress: Callable[[int, int], None], final: bool) -> None:
        progress(1, 1)

    def wait(self, timeout: float) -> bool:
        told = self._news.wait(timeout)
        self._news.clear()
        return told

    def wake(self) -> None:
        self._news.set()

    def poll(self, stop: Event) -> bool:
        grown, self._grown = self._grown, False
        return grown

    def close(self) -> None:
        pass


def fake_search(snapshot: FakeSnapshot, pattern: str, start: int, stop: Event) -> Iterator[np.ndarray]:
    """Match the raw lines one by one."""
    regex = re.compile(pattern)
    for low in range(start, snapshot.length, 200):
        if stop.is_set():
            return
        part = range(low, min(low + 200, snapshot.length))
        yield np.array([e for e in part if regex.search(snapshot.raw(e).decode("utf-8", "replace"))], np.int64)
