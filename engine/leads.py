"""Where `d` leads: what sets ranks apart, and the lines that the verdict rests on where nothing sets them apart.

Both tell of the same failure from two sides. Ranks are compared without knowing what a line means, so a rank that only
others name (a coordinator, a launcher, a kernel log) has no difference of its own; the verdict knows such lines. First
come the accused (the most telling difference of theirs alone, else the line that accuses them), then all other
differences, then what else the verdict rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Survey
from l4tui.engine.opinion import Opinion, Suspect

EVIDENCE = "evidence"  # a lead's kind, beside those of differences
MOST = 6  # lines of the verdict that are visited


class Lead(NamedTuple):
    """A line worth going to."""

    entry: int
    row: int  # of the row table; −1: not in it yet
    kind: str  # extra missing value order late, or evidence
    words: str
    ranks: tuple[int, ...]  # empty where nobody can be named


def leads(survey: Survey, row: NDArray[np.integer], opinion: Opinion | None) -> list[Lead]:
    """Order the lines worth going to, each row once.

    Args:
        survey: the differences between ranks.
        row: row per entry, as the survey's table has it.
        opinion: the verdict on the same entries, if there is one.
    """
    found = [Lead(d.entry, d.row, d.kind, d.words, d.ranks) for d in survey.stops]
    if opinion is None:
        return found
    accused = set(opinion.accused)
    told = [*_told(opinion, row)]
    mine = next((lead for lead in found if lead.ranks and accused.issuperset(lead.ranks)), None)
    first = [mine] if mine is not None else told[:1]
    out: list[Lead] = []
    for lead in (*first, *found, *told):
        if all(lead.entry != one.entry and (lead.row < 0 or lead.row != one.row) for one in out):
            out.append(lead)
    evidence = [lead for lead in out if lead.kind == EVIDENCE]
    return [lead for lead in out if lead.kind != EVIDENCE or lead in evidence[:MOST]]


def _told(opinion: Opinion, row: NDArray[np.integer]) -> Iterator[Lead]:
    """Yield the lines that the verdict rests on: its own, those of each reason, those that began the failure."""
    if opinion.verdict.scope == "none":
        return

    def lead(entry: int, words: str, ranks: tuple[int, ...]) -> Lead:
        return Lead(entry, int(row[entry]) if entry < len(row) else -1, EVIDENCE, words, ranks)

    suspects = [s for s in (*opinion.ranks, *opinion.nodes) if _is_accused(s, opinion)]
    reasons = [
        (reason, (s.rank,) if s.rank >= 0 else ()) for s in suspects for reason in s.reasons if reason.decibans > 0
    ] + [(reason, ()) for reason in opinion.job]
    reasons.sort(key=lambda told: opinion.entry not in told[0].entries)
    if opinion.entry >= 0 and not (reasons and opinion.entry in reasons[0][0].entries):
        yield lead(opinion.entry, opinion.verdict.summary, opinion.accused)
    for at, (reason, ranks) in enumerate(reasons):
        if reason.entries:
            is_first = at == 0 and opinion.entry in reason.entries
            yield lead(opinion.entry if is_first else reason.entries[0], reason.text, ranks)
    for event in opinion.events:
        if event.role == "initiating" and event.entries:
            yield lead(event.entries[0], event.meaning or event.template, event.ranks)


def _is_accused(suspect: Suspect, opinion: Opinion) -> bool:
    if suspect.rank >= 0:
        return suspect.rank in opinion.accused
    return opinion.verdict.scope == "nodes" and suspect.decibans > 0
