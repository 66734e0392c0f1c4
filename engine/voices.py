"""Voices: who wrote each line of a block, as its text shows it; found once for each number of each kind of line."""

from __future__ import annotations

import numpy as np

from l4tui.engine.digits import WIDEST
from l4tui.engine.model import UNKNOWN, Parse, Speaker
from l4tui.engine.numbering import distinct
from l4tui.engine.plans import ITER, Plans

FEW = 64  # lines that are told apart one by one: sorting costs more
SMALL = 4096  # identity numbers below it are looked up in a table
_TEXT = {"mpi_job", "task", "rank", "local_rank", "self_rank", "own_device", "pid", "tid", "attempt"}


class Voices:
    """The speakers of one mapper, interned."""

    def __init__(self, table: Plans) -> None:
        self.speakers: list[Speaker] = []
        self._table = table
        self._ids: dict[Speaker, int] = {}
        self._small = np.full((64, SMALL), UNKNOWN, np.int32)  # (identity, number) → speaker
        self._numbered: dict[tuple[int, ...], int] = {}

    def of(
        self, raw: np.ndarray, data: bytes, begin: np.ndarray, plan: np.ndarray, used: np.ndarray
    ) -> np.ndarray:
        """Return the speaker of every line; what a loose line's is remains to be read."""
        identity, number = self._table.identity, self._table.field(raw, begin, plan, used, 0, 0)
        while identity[used].max(initial=0) >= len(self._small):
            self._small = np.vstack([self._small, np.full_like(self._small, UNKNOWN)])
        if self._table.is_simple[used].all() and number.max(initial=0) < SMALL:
            return self._once_numbered(data, begin, plan, identity.take(plan), number)
        simple = self._table.is_simple.take(plan) & (number < SMALL)
        speaker = np.zeros(len(plan), np.int32)
        rows = np.flatnonzero(simple)
        some = plan[rows]
        speaker[rows] = self._once_numbered(data, begin[rows], some, identity.take(some), number[rows])
        rows = np.flatnonzero(~simple & ~self._table.loose.take(plan))
        if len(rows):
            speaker[rows] = self._many_numbered(raw, data, begin[rows], plan[rows])
        return speaker

    def _once_numbered(
        self, data: bytes, begin: np.ndarray, plan: np.ndarray, identity: np.ndarray, number: np.ndarray
    ) -> np.ndarray:
        """Look up speakers with one small number at most."""
        small = self._small.reshape(-1)
        place = identity * np.int64(SMALL) + number
        speaker = small.take(place)
        for i in np.flatnonzero(speaker < 0).tolist():
            if small[place[i]] < 0:
                small[place[i]] = self._read(data, int(begin[i]), int(plan[i]))
            speaker[i] = small[place[i]]
        return speaker

    def _many_numbered(self, raw: np.ndarray, data: bytes, begin: np.ndarray, plan: np.ndarray) -> np.ndarray:
        """Intern speakers with several identity numbers (host:pid:tid …)."""
        used = distinct(plan, len(self._table))
        most = int(self._table.numbers[used].max(initial=0))
        columns = [self._table.identity.take(plan).astype(np.int64)]
        columns += [self._table.field(raw, begin, plan, used, slot, UNKNOWN) for slot in range(min(most, ITER))]
        if len(plan) < FEW:
            rows = zip(*(column.tolist() for column in columns), strict=True)
            return np.array([self._id(numbers, data, begin[i], plan[i]) for i, numbers in enumerate(rows)], np.int32)
        mixed = np.zeros(len(plan), np.uint64)
        for column in columns:
            mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        _, first, back = np.unique(mixed, return_index=True, return_inverse=True)
        ids = np.empty(len(first), np.int32)
        for u, i in enumerate(first.tolist()):
            ids[u] = self._id(tuple(int(column[i]) for column in columns), data, begin[i], plan[i])
        return ids[back]

    def _id(self, numbers: tuple[int, ...], data: bytes, at: int, plan: int) -> int:
        known = self._numbered.get(numbers)
        if known is None:
            known = self._numbered[numbers] = self._read(data, int(at), int(plan))
        return known

    def _read(self, data: bytes, at: int, plan: int) -> int:
        line = data[at : data.index(b"\n", at)]
        info = self._table.infos[plan]
        return self.intern(speaker_of(line, info.parse))

    def intern(self, voice: Speaker) -> int:
        known = self._ids.get(voice)
        if known is None:
            known = self._ids[voice] = len(self.speakers)
            self.speakers.append(voice)
        return known


def speaker_of(line: bytes, parse: Parse) -> Speaker:
    """Return who wrote a line as its text shows it."""
    fields: dict[str, int | str] = {}
    for span in parse.spans:
        token = line[span.start : span.end]
        if span.field in _TEXT:
            if token.isdigit():
                fields.setdefault(span.field, int(token[:WIDEST]))
        elif span.field in ("node", "actor", "stream"):
            fields.setdefault(span.field, token.decode("utf-8", "replace"))
    return Speaker(0, launcher=parse.launcher, habit=parse.habit, **fields)  # type: ignore[arg-type]
