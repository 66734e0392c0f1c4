"""Simulated training jobs: logs with a known fault, for the demo, the tests, the screenshots and the benchmarks."""

from __future__ import annotations

from l4tui.demo.faults import Scenario, scenarios
from l4tui.demo.live import live
from l4tui.demo.names import LAYOUTS, STYLES
from l4tui.demo.writing import write, write_suite

__all__ = ["LAYOUTS", "STYLES", "Scenario", "live", "scenarios", "write", "write_suite"]
