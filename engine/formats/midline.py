"""Tags in the middle of a physical line: from there on it is another rank's text."""

from __future__ import annotations

from l4tui.engine.formats.dialect import Dialect


def cut(line: bytes, dialect: Dialect) -> list[int]:
    """Return the offsets where further segments of a line begin; 0 is not among them."""
    return []


def midline_suspects(block: bytes, dialect: Dialect) -> int:
    """Return how many tags of a block may stand in mid-line; 0 says that none does."""
    return 0
