"""What is known of a job beyond its lines: rows, differences between ranks, how far each has come."""

from __future__ import annotations

from functools import cached_property
from threading import Event, Lock
from typing import TYPE_CHECKING, NamedTuple

from l4tui.engine.divergence import Follows, Survey, survey
from l4tui.engine.iterations import Timeline
from l4tui.engine.progress import Progress, Ranks
from l4tui.engine.rows import RowBuilder
from l4tui.engine.rowtable import RowTable

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

FIRST = 1 << 20  # lines gathered before there is anything to see
PART = 1 << 18  # at a time for the screen, which may be asked for something else: 0.1 s
MOST = 1 << 22  # and at a time by who needs them all
PAUSE_S = 0.02  # in which another thread gets the lock: who has just given it back would else be the first to take it


class Study(NamedTuple):
    """Everything belongs to one snapshot."""

    snapshot: Snapshot
    table: RowTable
    survey: Survey
    ranks: Ranks
    timeline: Timeline


class Analyst:
    """Follows the snapshots of one job; safe from any thread, one at a time."""

    def __init__(self) -> None:
        self._builder, self._progress = RowBuilder(), Progress()
        self._gathering, self._counting = Lock(), Lock()
        self._closed = Event()
        self._last: tuple[Snapshot, RowTable] | None = None

    def shown(self, snapshot: Snapshot, stop: Event, before: RowTable | None, *, at_once: bool) -> RowTable:
        """Return rows for the screen, which waits for no one else's gathering once there are any.

        Args:
            stop: set when something else is wanted.
            before: what was returned last; while somebody else gathers, anything newer will do.
            at_once: gather nothing.
        """
        if at_once and (table := self._known(snapshot)) is not None:
            return table
        while not self._gathering.acquire(timeout=PAUSE_S):
            table = self._known(snapshot)
            if table is not None and (table is not before or stop.is_set()):
                return table
        try:
            return self._gathered(snapshot, PART)
        finally:
            self._gathering.release()

    def _known(self, snapshot: Snapshot) -> RowTable | None:
        """Return the newest table if it is of this reading."""
        last = self._last
        return last[1] if last is not None and last[0].generation == snapshot.generation else None

    def _gathered(self, snapshot: Snapshot, most: int) -> RowTable:
        """Add at most so many lines, FIRST to begin with: who asks for something else does not wait for long."""
        if self._last is not None:
            newest, table = self._last
            if newest.generation == snapshot.generation and newest.length > snapshot.length:
                snapshot = newest  # the rows that an older view knows are among its rows
            if newest is snapshot and not lacks(newest, table):
                return table
        table = self._builder.update(snapshot, FIRST if self._known(snapshot) is None else most)
        self._last = snapshot, table
        return table

    def _pair(self, snapshot: Snapshot) -> tuple[Snapshot, RowTable]:
        """Gather rows, and give them with the snapshot they are of: they name lines that an older one lacks."""
        with self._gathering:
            table = self._gathered(snapshot, MOST)
            return (self._last[0] if self._last is not None else snapshot), table

    def close(self) -> None:
        """Let a study that is under way end soon."""
        self._closed.set()

    @property
    def timeline(self) -> Timeline:
        """When iterations began, as far as rows have been gathered."""
        return self._builder.timeline

    @cached_property
    def _follows(self) -> Follows:
        from l4tui.engine.library import load  # 60 ms CPU with its patterns
        from l4tui.engine.library.following import Following

        return Following(load())

    def study(self, snapshot: Snapshot, *, final: bool) -> Study:
        """Compare the ranks of a snapshot, or of a newer one whose rows there are; `final`: no more will be written."""
        snapshot, table = self._pair(snapshot)
        while lacks(snapshot, table) and not self._closed.wait(PAUSE_S):
            snapshot, table = self._pair(snapshot)
        with self._counting:
            snapshot.learn_iterations()
            ranks = self._progress.update(snapshot)
            found = survey(snapshot, table, final=final, follows=self._follows)
            return Study(snapshot, table, found, ranks, self.timeline)


def lacks(snapshot: Snapshot, table: RowTable) -> bool:
    """Say whether lines of a snapshot are in no row yet."""
    return len(table.row) < snapshot.length
