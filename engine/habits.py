"""Habits: lines that by convention of a framework only one certain process of a job writes (formats/writers.toml).

A habit names the writer only where nothing else does, only in a job that is known to have several ranks, and only while
nothing contradicts: no line of the same kind shows another writer, and no two processes write it.
"""

from __future__ import annotations

from functools import cache

from l4tui.engine.claims import Evidence
from l4tui.engine.formats.registry import built_in
from l4tui.engine.layout import Layout
from l4tui.engine.model import UNKNOWN, Speaker
from l4tui.engine.seats import Writer


@cache
def _kinds() -> dict[str, tuple[str, str]]:
    """Return format → (kind, the format that must be seen beside it)."""
    return {fmt.name: (fmt.habit, fmt.beside) for fmt in built_in() if fmt.habit}


class Habits:
    """What habits tell under one layout."""

    def __init__(self, evidence: Evidence, layout: Layout) -> None:
        """Decide which habits hold and which devices count the ranks; `evidence` is not kept."""
        self._first: set[str] = set()
        self._last: set[str] = set()
        self._world = layout.world
        several = layout.world > 1 or evidence.has_ranks
        for habit in tuple(evidence.habits):
            kind, beside = _kinds().get(habit, ("", ""))
            if (beside and not evidence.habits.get(beside)) or not (several or kind == "coordinator"):
                continue
            if kind == "last" and layout.world > 1 and _is_one(evidence.habits[habit], layout.world - 1):
                self._last.add(habit)
            if kind == "chief" and not layout.one_host:
                continue
            if kind in ("first", "chief", "coordinator") and _is_one(evidence.habits[habit], 0):
                self._first.add(habit)
        every = set(range(layout.world))
        alike = layout.one_host and layout.world > 1 and all(a == b for a, b in evidence.device_ranks)
        self._devices = {source for source, seen in evidence.devices.items() if alike and seen == every}
        self.told = (self._first, self._last, self._world, self._devices)  # two that say the same are equal in it

    def rank_of(self, speaker: Speaker, local: int) -> int:
        """Return the rank that a line's kind or its own device tells; UNKNOWN where that is not certain.

        Devices count the ranks in a job on one host whose lines show each of the devices 0 to n-1 for its n ranks: with
        one visible device a process, all would call theirs 0.
        """
        if speaker.habit in self._first and local <= 0:
            return 0
        if speaker.habit in self._last and local != 0:
            return self._world - 1
        return speaker.own_device if speaker.own_device >= 0 and speaker.source in self._devices else UNKNOWN


def _is_one(writers: set[Writer], rank: int) -> bool:
    """Say whether one process with that rank may have written all, in each attempt."""
    if any(writer.rank not in (UNKNOWN, rank) or (rank == 0 and writer.local > 0) for writer in writers):
        return False
    for era in {writer.era for writer in writers}:
        mine = [writer for writer in writers if writer.era == era]
        seated = [writer for writer in mine if writer.local >= 0]
        for seen in (
            {writer.pid for writer in mine} - {UNKNOWN},
            {writer.number for writer in mine} - {UNKNOWN},
            {writer.actor for writer in mine} - {None},
            {writer.node for writer in mine} - {None},
            {writer.source for writer in seated},
        ):
            if len(seen) > 1:
                return False
    return True
