"""Telemetry: series of numbers and texts from log lines, hardware logs and event files."""

from l4tui.engine.telemetry.catalog import SeriesInfo
from l4tui.engine.telemetry.fields import Type
from l4tui.engine.telemetry.index import Points, Summary, TelemetryIndex
from l4tui.engine.telemetry.rules import rules_from_config

__all__ = ["Points", "SeriesInfo", "Summary", "TelemetryIndex", "Type", "rules_from_config"]
