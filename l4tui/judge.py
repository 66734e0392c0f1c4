"""The verdict on a job that has come to rest, for the screen's second line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from l4tui.engine.model import UNKNOWN

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

MOST = 5_000_000  # entries judged beside a screen that must stay quick


class Ruling(NamedTuple):
    """What is said of a job, and the entry that shows it."""

    version: int  # of the snapshot that was judged
    outcome: str  # completed failed hung running unknown; empty: not judged
    sentence: str = ""
    entry: int = UNKNOWN
    ranks: tuple[int, ...] = ()  # that are accused


def judge(snapshot: Snapshot) -> Ruling:
    """Diagnose a snapshot; called from a thread, takes about half a second of CPU and reads files."""
    if not 0 < snapshot.length <= MOST:
        return Ruling(snapshot.version, "")
    from l4tui.engine.diagnosis import diagnose  # 300 ms CPU with the failure library, and only after the first screen
    from l4tui.engine.evidence.from_snapshot import journal_from
    from l4tui.engine.library import load

    found = diagnose(journal_from(snapshot), load())
    lead = found.blame.lead
    return Ruling(
        version=snapshot.version,
        outcome=str(found.outcome),
        sentence=found.verdict.summary if lead is not None else "",
        ranks=found.blame.accused,
        entry=lead.rows[0] if lead is not None and lead.rows else UNKNOWN,
    )
