"""The verdict on a job, for the screen's second line and its panes; made in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from l4tui.engine.model import UNKNOWN

if TYPE_CHECKING:
    from l4tui.engine.job import Job
    from l4tui.engine.opinion import Opinion
    from l4tui.engine.referee import Referee
    from l4tui.engine.snapshot import Snapshot


class Ruling(NamedTuple):
    """What is said of a job, and the entry that shows it."""

    version: int  # of the snapshot that was judged
    outcome: str  # completed failed hung running unknown; empty: not judged
    sentence: str = ""
    entry: int = UNKNOWN
    ranks: tuple[int, ...] = ()  # that are accused
    opinion: Opinion | None = None
    is_final: bool = True  # all there is had been read, and nothing more came


class Judge:
    """Judges the snapshots of one job, whoever of its threads asks; `close` ends it at once."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._referee: Referee | None = None
        self._is_closed = False

    def __call__(self, snapshot: Snapshot) -> Ruling:
        """Diagnose a snapshot; waits for the process, and takes none of the interpreter's time meanwhile."""
        from l4tui.engine.referee import Manner, Referee  # the parsers: only after the first screen

        if self._is_closed or not snapshot.length:
            return Ruling(snapshot.version, "")
        if self._referee is None:
            job = self._job
            told = job.options
            self._referee = Referee(
                lambda: Manner([r.dialect for r in job.readers], told.formats, told.beside, told.utc_offset_s)
            )
        opinion = self._referee.judge(snapshot)
        return ruling_of(opinion) if opinion is not None else Ruling(snapshot.version, "")

    def close(self) -> None:
        """End the process."""
        self._is_closed = True
        if self._referee is not None:
            self._referee.close()


def ruling_of(opinion: Opinion) -> Ruling:
    """Put an opinion into the words of the header: that nobody is accused is told where something went wrong."""
    accuses = opinion.verdict.scope != "none"
    return Ruling(
        version=opinion.version,
        outcome=opinion.outcome,
        sentence=opinion.verdict.summary if accuses or opinion.outcome in ("failed", "hung") else "",
        entry=opinion.entry,
        ranks=opinion.accused,
        opinion=opinion,
    )
