"""Restarts: where one set of processes ends in a source and the next begins.

Most launchers tell the attempt's number. Where none is told, a restart shows once the agent has said that it ended a
process: another process takes a rank, or a stream's iteration falls back. Until then the text may be of those that die.
A job launched again into the same log (a loop around srun, a requeued batch job) begins anew without an agent that
counts: after a launcher's last word on processes that have run, the first line that launchers and processes say once,
at their start, belongs to the next attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from l4tui.engine.facts import About, Fact, attempt_told, read, turns
from l4tui.engine.model import UNKNOWN, Speaker

_ENDS = (b"closing signal", b"failed (exitcode", b"exitcode ")
_NOBODY = Speaker(UNKNOWN)
_NO_MARKS = np.empty(0, np.int64)


@dataclass
class Restarts:
    """One source's attempts."""

    epoch: int = 0
    pids: dict[int, int] = field(default_factory=dict)  # rank, or local rank below 0 → process
    ended: set[int] = field(default_factory=set)  # processes that the agent ended or lost in this attempt
    has_run: bool = False  # something began in this attempt, or counted iterations
    is_over: bool = False  # and a launcher has said its last word on it
    marks: dict[Speaker, int] = field(default_factory=dict)  # the last iteration of each, once `settle` was called
    _voices: Sequence[Speaker] = ()  # the same by place in this list, of what has not been asked for yet
    _last: np.ndarray = field(default_factory=lambda: _NO_MARKS)
    _first: int = 0  # the voice that it begins with

    def cuts(
        self, taught: Sequence[tuple[int, bytes]], mark: np.ndarray, voice: np.ndarray, speakers: Sequence[Speaker]
    ) -> list[tuple[int, int]]:
        """Return (entry, epoch) from which on a block's lines belong to another attempt; entry 0 comes first.

        Args:
            taught: telling lines of the block.
            mark: iteration in each line, -1 for none; voice: who wrote it, in `speakers`.
        """
        out = [(0, self.epoch)]
        rows = np.flatnonzero(mark >= 0)
        marks = _Marks(rows, mark.take(rows), voice.take(rows), speakers)
        for entry, text in taught:
            self._follow(marks, entry, out)
            told = attempt_told(text)
            if told > self.epoch or (told == UNKNOWN and self._is_new(text)):
                self._begin(max(told, self.epoch + 1), entry, out)
                self._is_new(text)
        self._follow(marks, len(mark), out)
        return out

    def _begin(self, epoch: int, entry: int, out: list[tuple[int, int]]) -> None:
        self.epoch = epoch
        self.pids.clear()
        self.ended.clear()
        self.has_run = self.is_over = False
        self.marks.clear()
        self._last = _NO_MARKS
        out.append((entry, epoch))

    def _is_new(self, text: bytes) -> bool:
        """Take up what a line tells of processes; say whether one took an ended one's place or the job began anew."""
        ends = any(word in text for word in _ENDS)
        if not ends and b"pid" not in text.lower() and not turns(text):
            return False
        self.settle()
        new = False
        for fact in read(text, _NOBODY):
            new = new or (fact.begins and self.is_over)
            self.has_run = self.has_run or fact.begins
            self.is_over = self.is_over or (fact.closes and (self.has_run or bool(self.marks)))
            if fact.ends and fact.pid >= 0:
                self.ended.add(fact.pid)
            elif fact.about is About.WRITER and fact.pid >= 0 and _place(fact) is not None:
                before = self.pids.setdefault(_place(fact) or 0, fact.pid)
                new = new or (before != fact.pid and (before in self.ended or self.is_over))
        return new

    def _follow(self, marks: _Marks, end: int, out: list[tuple[int, int]]) -> None:
        """Follow the iterations of entries before `end`."""
        upto = int(np.searchsorted(marks.rows, end)) if len(marks.rows) else 0
        while marks.at < upto:
            if not self.ended and not self.is_over:
                self._keep(marks, upto)
                return
            self.settle()
            who, number = marks.speakers[int(marks.voices[marks.at])], int(marks.numbers[marks.at])
            if number < self.marks.get(who, UNKNOWN):
                self._begin(self.epoch + 1, int(marks.rows[marks.at]), out)
            else:
                self.marks[who] = number
                marks.at += 1

    def _keep(self, marks: _Marks, upto: int) -> None:
        """Keep the last iteration of each writer up to a row."""
        if self._voices is not marks.speakers:
            self.settle()
            self._voices = marks.speakers
        voices = marks.voices[marks.at : upto]
        self._make_room(int(voices.min()), int(voices.max()) + 1)
        self._last[voices - self._first] = marks.numbers[marks.at : upto]  # the last assignment stays
        marks.at = upto

    def _make_room(self, first: int, end: int) -> None:
        """Hold the voices from `first` up to `end`, too: of thousands of sources each has few of its own."""
        if not len(self._last):
            self._first = first
        begin, behind = min(first, self._first), max(end, self._first + len(self._last))
        if behind - begin > len(self._last):
            last = np.full(behind - begin, UNKNOWN, np.int64)
            last[self._first - begin :][: len(self._last)] = self._last
            self._first, self._last = begin, last

    def settle(self) -> None:
        """Enter what is kept by voice under the speakers' names: a list of voices belongs to one mapper."""
        kept = np.flatnonzero(self._last >= 0).tolist()
        for voice in kept:
            self.marks[self._voices[self._first + voice]] = int(self._last[voice])
        self._last = _NO_MARKS


@dataclass
class _Marks:
    """Lines of a block that carry an iteration."""

    rows: np.ndarray
    numbers: np.ndarray
    voices: np.ndarray
    speakers: Sequence[Speaker]
    at: int = 0  # those before have been followed


def _place(fact: Fact) -> int | None:
    """Return the rank, or the local rank as a negative number."""
    return fact.rank if fact.rank >= 0 else -1 - fact.local_rank if fact.local_rank >= 0 else None
