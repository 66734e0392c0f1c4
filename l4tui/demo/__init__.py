"""Simulated training jobs: logs with a known fault, for the demo, the tests, the screenshots and the benchmarks.

Names load on first use: the command line imports this package for its lists of names and must not load numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from l4tui.demo.names import LAYOUTS, STYLES

if TYPE_CHECKING:
    from l4tui.demo.faults import Scenario, scenarios
    from l4tui.demo.pacing import live
    from l4tui.demo.writing import write, write_suite

__all__ = ["LAYOUTS", "STYLES", "Scenario", "live", "scenarios", "write", "write_suite"]

_HOMES = {"Scenario": "faults", "scenarios": "faults", "live": "pacing", "write": "writing", "write_suite": "writing"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
