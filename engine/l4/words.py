"""Sentences about what the statistics found."""

from __future__ import annotations

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.l4.spatial import Anomaly
from l4tui.engine.l4.temporal import Kind, Odd

LONGEST = 80  # characters of a template

_HOW = {
    Kind.EXTRA: "has lines that other iterations lack",
    Kind.MISSING: "lacks lines that other iterations have",
    Kind.REPEATED: "repeats lines far more often than others",
    Kind.SLOW: "took much longer than others",
}


def sentence(case: Case, found: Anomaly) -> str:
    """Say how far a rank or node stands out and by which event most."""
    who = word_ranks([found.unit]) if isinstance(found.unit, int) else f"node {found.unit}"
    text = f"{who} writes other events than its peers (degree {found.degree:.2f})"
    if not found.causes:
        return text
    first = found.causes[0]
    return f"{text}: {first.lines} × “{_short(case, first.event)}” where {first.usual:g} are usual"


def iteration_sentence(case: Case, odd: Odd) -> str:
    """Say how an iteration differs from those before it."""
    text = f"iteration {odd.iteration} {_HOW[odd.kind]} ({odd.score:.1f} deviations)"
    return f"{text}: “{_short(case, odd.events[0])}”" if odd.events else text


def _short(case: Case, event: int) -> str:
    template = case.journal.templates[event]
    return template if len(template) <= LONGEST else template[: LONGEST - 1] + "…"
