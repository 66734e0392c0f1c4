"""Formats: what stands where in a line, and which prefixes a source uses."""

from l4tui.engine.formats.detection import detect
from l4tui.engine.formats.dialect import Dialect
from l4tui.engine.formats.explain import Part, Row, explain
from l4tui.engine.formats.midline import cut, may_cut, midline_suspects, outer_end
from l4tui.engine.formats.own import Own, formats_from_config, formats_from_plugins
from l4tui.engine.formats.parser import Parser, Reading, prefix_end
from l4tui.engine.formats.registry import Format, FormatError, built_in, check

__all__ = [
    "Dialect",
    "Format",
    "FormatError",
    "Own",
    "Parser",
    "Part",
    "Reading",
    "Row",
    "built_in",
    "check",
    "cut",
    "detect",
    "explain",
    "formats_from_config",
    "formats_from_plugins",
    "may_cut",
    "midline_suspects",
    "outer_end",
    "prefix_end",
]
