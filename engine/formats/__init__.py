"""Formats: what stands where in a line, and which prefixes a source uses."""

from l4tui.engine.formats.detection import detect
from l4tui.engine.formats.dialect import Dialect
from l4tui.engine.formats.midline import cut, midline_suspects, outer_end
from l4tui.engine.formats.parser import Parser, Reading, prefix_end
from l4tui.engine.formats.registry import Format, FormatError, built_in, check

__all__ = [
    "Dialect",
    "Format",
    "FormatError",
    "Parser",
    "Reading",
    "built_in",
    "check",
    "cut",
    "detect",
    "midline_suspects",
    "outer_end",
    "prefix_end",
]
