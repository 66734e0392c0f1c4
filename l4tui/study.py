"""What is known of a job beyond its lines: rows, differences between ranks, how far each has come."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from l4tui.engine.divergence import Follows, Survey, survey
from l4tui.engine.iterations import Timeline
from l4tui.engine.progress import Progress, Ranks
from l4tui.engine.rows import RowBuilder
from l4tui.engine.rowtable import RowTable

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot


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
        self._last: tuple[Snapshot, RowTable] | None = None

    def table(self, snapshot: Snapshot) -> RowTable:
        """Gather the rows of a snapshot; the cost is that of its new lines."""
        with self._gathering:
            if self._last is not None:
                newest, table = self._last
                is_older = newest.generation == snapshot.generation and newest.length > snapshot.length
                if newest is snapshot or is_older:  # the rows that an older view knows are among these
                    return table
            table = self._builder.update(snapshot)
            self._last = snapshot, table
            return table

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
        """Compare the ranks of a snapshot; `final`: nothing more will be written."""
        table = self.table(snapshot)
        with self._counting:
            ranks = self._progress.update(snapshot)
            found = survey(snapshot, table, final=final, follows=self._follows)
            return Study(snapshot, table, found, ranks, self.timeline)
