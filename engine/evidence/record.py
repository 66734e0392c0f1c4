"""The job as columns that diagnosis reads; text stays on disk and is read for the lines that matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN, Level, LineClass
from l4tui.engine.smallids import firsts, present, stable_order

Ints = NDArray[np.int64]
HABIT = 3  # rows that must follow a new beginning
_TRACEBACK = [LineClass.TRACEBACK, LineClass.BODY, LineClass.RAISED, LineClass.BLANK]


class Said(NamedTuple):
    """One line written by hand, for tests and notebooks."""

    text: str
    rank: int = UNKNOWN
    time: int = NO_TIME  # ns
    iteration: int = UNKNOWN
    stage: int = UNKNOWN
    node: str | None = None
    level: Level = Level.NONE
    launcher: bool = False
    attempt: int = 0
    marked: bool = False
    source: str = "job.log"
    local_rank: int = UNKNOWN


@dataclass(frozen=True, slots=False)
class Journal:
    """One row per entry in merge order; ids index the name tables; −1 is unknown throughout.

    `read` returns the messages (prefixes removed) of the given rows.
    """

    time: Ints
    rank: Ints
    local_rank: Ints
    node: Ints
    attempt: Ints
    iteration: Ints
    marked: NDArray[np.bool_]
    stage: Ints
    level: Ints
    event: Ints
    site: Ints
    shape: Ints
    line_class: Ints
    record: Ints
    source: Ints
    line: Ints
    launcher: NDArray[np.bool_]
    nodes: tuple[str, ...]
    sources: tuple[str, ...]
    stages: tuple[str, ...]
    templates: Sequence[str]
    sites: Sequence[str]
    node_ranks: Mapping[str, Sequence[int]]
    world_size: int
    read: Callable[[Ints], list[str]]
    pids: Mapping[int, int] = field(default_factory=dict)  # process → rank, as prefixes show them

    def __len__(self) -> int:
        return len(self.time)

    def text(self, row: int) -> str:
        """Return one row's message."""
        return self.read(np.array([row], dtype=np.int64))[0]

    @cached_property
    def ranks(self) -> Ints:
        """Ranks that wrote something, ascending."""
        return present(self.rank)

    @cached_property
    def by_rank(self) -> Ints:
        """Rows by rank, those of no rank first; a rank's own are ascending."""
        return stable_order(self.rank)

    @cached_property
    def _ranked(self) -> Ints:
        return self.rank[self.by_rank]

    def rows_of(self, rank: int) -> Ints:
        """Return the rows of a rank, ascending."""
        # of another type than the column, they would have all of it converted for each rank
        begin, end = np.searchsorted(self._ranked, np.array([rank, rank + 1], self._ranked.dtype))
        return self.by_rank[begin:end]

    @cached_property
    def calm(self) -> NDArray[np.bool_]:
        """Rows in which a rank says something that is neither worse than INFO nor a part of a traceback."""
        rows = (self.level <= Level.INFO) & (self.rank >= 0)
        return rows & ~np.isin(self.line_class, _TRACEBACK)

    @cached_property
    def samples(self) -> dict[int, str]:
        """The first text of every shape."""
        shapes, first = firsts(self.shape)
        return dict(zip(shapes.tolist(), self.read(first), strict=True))

    @cached_property
    def node_of(self) -> dict[int, str]:
        """Node of each rank, as far as known."""
        known = {int(r): name for name, ranks in self.node_ranks.items() for r in ranks}
        both = (self.rank >= 0) & (self.node >= 0)
        many = max(1, len(self.nodes))
        pairs = np.unique(self.rank[both].astype(np.int64) * many + self.node[both])  # of two columns: 10 times slower
        for rank, node in zip(*np.divmod(pairs, many), strict=True):
            known.setdefault(int(rank), self.nodes[int(node)])
        return known

    @cached_property
    def era(self) -> Ints:
        """Attempt of each row; rows of no rank take that of the rank rows before them in their source."""
        told = np.maximum(self.attempt, 0)
        if not (told > 0).any():
            told = self._begun_again()
        out = np.where(self.rank >= 0, told, 0)
        order = stable_order(self.source)
        for here in np.split(order, np.flatnonzero(np.diff(self.source[order])) + 1) if len(order) else []:
            if (self.rank[here] >= 0).any():
                out[here] = np.where(self.rank[here] >= 0, out[here], np.maximum.accumulate(out[here]))
            else:
                out[here] = np.maximum(self.attempt[here], 0)
        return out

    def _begun_again(self) -> Ints:
        """Count, per rank, how often it goes back to launch or init after training; most ranks must."""
        out = np.zeros(len(self), dtype=np.int64)
        names = [self.stages.index(s) for s in ("launch", "init", "train")]
        order = self.by_rank
        order = order[(self._ranked >= 0) & (self.stage[order] >= 0)]
        if not len(order):
            return out
        began = 0
        for rows in np.split(order, np.flatnonzero(np.diff(self.rank[order])) + 1):
            stage = self.stage[rows]
            early = (stage == names[0]) | (stage == names[1])
            trained = np.maximum.accumulate(np.where(stage == names[2], np.arange(len(rows)), -1))
            last_early = np.maximum.accumulate(np.where(early, np.arange(len(rows)), -1))
            before = np.r_[-1, last_early[:-1]]
            again = early & (trained > before) & (np.arange(len(rows)) + HABIT <= len(rows))
            began += bool(again.any())
            out[rows] = np.cumsum(again)
        if 2 * began <= len(self.ranks):
            return np.zeros(len(self), dtype=np.int64)
        return self._carried(out)

    def _carried(self, known: Ints) -> Ints:
        """Carry a growing count to the rows of a rank that have no stage."""
        out = known.copy()
        for rows in np.split(self.by_rank, np.flatnonzero(np.diff(self._ranked)) + 1):
            out[rows] = np.maximum.accumulate(out[rows])
        return out

    @cached_property
    def clock(self) -> Ints:
        """Time of each row; rows without their own take that of their lane's (source and rank) previous row."""
        lane = self.source.astype(np.int64) << 32 | (self.rank + 1)
        order = np.argsort(lane, kind="stable")
        known = (self.time != NO_TIME)[order]
        first = np.r_[True, lane[order][1:] != lane[order][:-1]] if len(order) else np.empty(0, bool)
        at = np.where(known | first, np.arange(len(order)), 0)
        np.maximum.accumulate(at, out=at)
        out = np.empty(len(order), dtype=np.int64)
        out[order] = self.time[order][at]
        return out

    def peers(self, rank: int) -> list[int]:
        """Return the other ranks that wrote something."""
        return [int(r) for r in self.ranks if r != rank]


def end_of_epoch(journal: Journal, mark: int, last: int, stride: int) -> int:
    """Return the last iteration of an epoch that a rank has left for an evaluation, as its marker "n/all" tells.

    Args:
        mark, last: rows of its last marker and of its last line.
        stride: iterations between two markers.
    """
    evaluation = journal.stages.index("eval") if "eval" in journal.stages else UNKNOWN
    left = mark >= 0 and journal.stage[last] == evaluation != journal.stage[mark]
    if not left or evaluation < 0:
        return UNKNOWN
    at = int(journal.iteration[mark])
    told = re.findall(rf"(?<![\d.]){at} ?/ ?(\d{{1,9}})(?![\d.])", journal.text(mark))
    return min((int(n) for n in told if 0 <= int(n) - at <= stride), default=UNKNOWN)


_DIGITS = re.compile(r"\d+")
_RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b(?::|$)")


def _class_of(text: str) -> LineClass:
    if text.startswith("Traceback (most recent call last)"):
        return LineClass.TRACEBACK
    if _RAISED.match(text):
        return LineClass.RAISED
    if not text:
        return LineClass.BLANK
    return LineClass.BODY if text[:1].isspace() else LineClass.PLAIN


def _ids(values: Iterable[object]) -> tuple[Ints, list[str]]:
    table: dict[str, int] = {}
    out = [UNKNOWN if v is None else table.setdefault(str(v), len(table)) for v in values]
    return np.array(out, dtype=np.int64), list(table)


def journal_of(
    said: Sequence[Said],
    *,
    stages: tuple[str, ...] = ("launch", "init", "data", "model_build", "train", "checkpoint", "eval", "teardown"),
    world_size: int = UNKNOWN,
    node_ranks: Mapping[str, Sequence[int]] | None = None,
) -> Journal:
    """Build a journal from lines in memory."""
    texts = [s.text for s in said]
    shape, _ = _ids(_DIGITS.sub("0", t) for t in texts)
    event, templates = _ids(_DIGITS.sub("<*>", t) for t in texts)
    node, nodes = _ids(s.node for s in said)
    source, sources = _ids(s.source for s in said)
    column = {f: np.array([getattr(s, f) for s in said], dtype=np.int64) for f in Said._fields if f not in _WORDS}
    line = np.zeros(len(texts), dtype=np.int64)
    for one in range(len(sources)):
        line[source == one] = np.arange(1, int((source == one).sum()) + 1)
    return Journal(
        time=column["time"],
        rank=column["rank"],
        local_rank=column["local_rank"],
        attempt=column["attempt"],
        iteration=column["iteration"],
        stage=column["stage"],
        level=column["level"],
        marked=column["marked"].astype(bool),
        launcher=column["launcher"].astype(bool),
        node=node,
        event=event,
        site=np.full(len(texts), UNKNOWN, dtype=np.int64),
        shape=shape,
        line_class=np.array([_class_of(t) for t in texts], dtype=np.int64),
        record=_records(texts, column["rank"], source),
        source=source,
        line=line,
        nodes=tuple(nodes),
        sources=tuple(sources),
        stages=stages,
        templates=templates,
        sites=[],
        node_ranks=node_ranks or {},
        world_size=world_size,
        read=lambda rows: [texts[int(r)] for r in rows],
    )


_WORDS = frozenset({"text", "node", "source"})


def _records(texts: Sequence[str], rank: Ints, source: Ints) -> Ints:
    """Join tracebacks with what raises them, per rank and source."""
    heads: dict[tuple[int, int], int] = {}
    out = np.arange(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        lane, kind = (int(rank[row]), int(source[row])), _class_of(text)
        if kind is LineClass.TRACEBACK:
            heads[lane] = row
        elif lane in heads:
            out[row] = heads[lane]
            if kind is LineClass.RAISED:
                del heads[lane]
    return out
