"""What actions do: a function for each id of the action table, and one for each kind of question the prompt asks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen

Handler = Callable[["JobScreen", str], None]

HANDLERS: dict[str, Handler] = {}  # action id → what it does; the text is a command's argument, mostly empty
ANSWERS: dict[str, Handler] = {}  # kind of question → what is done with the answer
TYPING: dict[str, Handler] = {}  # kind of question → what is done while it is typed

MODULES = (
    *("moving", "seeking", "narrowing", "conditions", "looking", "differing"),
    *("paning", "judging", "charting", "marking", "program"),
)


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register the function for these actions."""
    return _register(HANDLERS, names)


def answers(*kinds: str) -> Callable[[Handler], Handler]:
    """Register the function for answers to these questions."""
    return _register(ANSWERS, kinds)


def typing(*kinds: str) -> Callable[[Handler], Handler]:
    """Register the function for answers as they are typed."""
    return _register(TYPING, kinds)


def _register(table: dict[str, Handler], names: tuple[str, ...]) -> Callable[[Handler], Handler]:
    def register(function: Handler) -> Handler:
        for name in names:
            if table.setdefault(name, function) is not function:
                raise ValueError(f"{name} has two handlers")
        return function

    return register


def load() -> None:
    """Import the modules that register handlers."""
    for name in MODULES:
        importlib.import_module(f"l4tui.handlers.{name}")
