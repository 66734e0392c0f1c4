"""Kinds of evidence in order of trust; a new kind is one module and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding

Judge = Callable[[Case], list[Finding]]

MODULES = (
    "l4tui.engine.evidence.explicit_blame",
    "l4tui.engine.evidence.hardware",
    "l4tui.engine.evidence.external",
    "l4tui.engine.evidence.progress_gap",
    "l4tui.engine.evidence.silence",
    "l4tui.engine.evidence.first_exception",
    "l4tui.engine.evidence.peer_vote",
    "l4tui.engine.evidence.value",
    "l4tui.engine.evidence.straggler",
    "l4tui.engine.l4.evidence",
    "l4tui.engine.evidence.errors",
)


def judges() -> Iterator[Judge]:
    """Yield each kind's judge, most trusted first."""
    for name in MODULES:
        if name.startswith("l4tui.engine.l4") and not _exists(name):
            continue
        judge: Judge = import_module(name).judge
        yield judge


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
