"""What is known of a job beyond its lines: rows, differences between ranks, how far each has come."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from l4tui.engine.divergence import Survey, survey
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

    def study(self, snapshot: Snapshot, *, final: bool) -> Study:
        """Compare the ranks of a snapshot; `final`: nothing more will be written."""
        table = self.table(snapshot)
        with self._counting:
            ranks = self._progress.update(snapshot)
            found = survey(snapshot, table, final=final, follows=follows)
            return Study(snapshot, table, found, ranks, self.timeline)


def follows(texts: Sequence[str]) -> list[bool]:
    """Say which texts the failure library knows as following from another rank's failure."""
    from l4tui.engine.library import load  # 60 ms CPU with its patterns
    from l4tui.engine.library.pattern import Role, zero_digits

    patterns = load().patterns
    out = []
    for text in texts:
        zeroed = zero_digits(text)
        known = next((p for p in patterns if p.may_match(zeroed) and p.search(text)), None)
        out.append(known is not None and known.role in (Role.CASCADE, Role.TEARDOWN))
    return out
