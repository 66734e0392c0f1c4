"""What a source has shown to use: accepted prefixes and how its lines are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from l4tui.engine.model import SourceName


@dataclass(frozen=True, slots=True)
class Dialect:
    """The accepted prefixes of one source; hashable, pickles."""

    prefixes: tuple[str, ...] = ()  # weak prefix formats that were accepted, outermost first
    midline: bytes | None = None  # regex of tags that cut a line in the middle; group "tag"
    seen_ids: frozenset[bytes] = frozenset()  # tags that may cut a line: those of line starts
    piece: int = 0  # srun: payload length that marks a cut line (1024), else 0
    rest: tuple[tuple[str, str], ...] = ()  # (format, its narrowed regex), ("refused", format), …


def detect(lines: Sequence[bytes], name: SourceName | None = None) -> Dialect:
    """Decide by counts and label sets which weak prefixes a sample of tidy lines really has."""
    return Dialect()
