"""Kinds of evidence in order of trust; a new kind is one module and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding

Judge = Callable[[Case], list[Finding]]
Explain = Callable[[Case, list[Finding]], list[Finding]]

MODULES = (
    "l4tui.engine.evidence.explicit_blame",
    "l4tui.engine.evidence.hardware",
    "l4tui.engine.evidence.external",
    "l4tui.engine.evidence.progress_gap",
    "l4tui.engine.evidence.silence",
    "l4tui.engine.evidence.absence",
    "l4tui.engine.evidence.first_exception",
    "l4tui.engine.evidence.peer_vote",
    "l4tui.engine.evidence.value",
    "l4tui.engine.evidence.outlying",
    "l4tui.engine.evidence.straggler",
    "l4tui.engine.evidence.tabled",
    "l4tui.engine.evidence.setting",
    "l4tui.engine.evidence.hint",
    "l4tui.engine.evidence.temporal",
    "l4tui.engine.evidence.errors",
)

AFTERWARDS = (  # what looks at what the others found
    "l4tui.engine.evidence.machine",
    "l4tui.engine.evidence.spatial",
)


def judges() -> Iterator[Judge]:
    """Yield each kind's judge, most trusted first."""
    for name in MODULES:
        judge: Judge = import_module(name).judge
        yield judge


def explainers() -> Iterator[Explain]:
    """Yield what adds to the findings of all judges."""
    for name in AFTERWARDS:
        explain: Explain = import_module(name).explain
        yield explain
