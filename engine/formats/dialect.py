"""What a source has shown to use: accepted prefixes and how its lines are cut."""

from __future__ import annotations

from dataclasses import dataclass

REFUSED = "refused"  # key in `rest`: a sure format that is only imitated in this source


@dataclass(frozen=True, slots=True)
class Dialect:
    """The accepted prefixes of one source; hashable, pickles."""

    prefixes: tuple[str, ...] = ()  # weak prefix formats that were accepted, outermost first
    midline: bytes | None = None  # regex of tags that cut a line; each alternative has one group: the id
    seen_ids: frozenset[bytes] = frozenset()  # ids whose tags may cut a line
    piece: int = 0  # srun: payload length that marks a cut line (1024), else 0
    rest: tuple[tuple[str, str], ...] = ()  # (format, its narrowed regex), (REFUSED, format)
