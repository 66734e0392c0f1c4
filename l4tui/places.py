"""Places in a log as people type them: an iteration (``i1200``) or a moment (``12:03``, ``-5m``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from l4tui.engine.model import NO_TIME
from l4tui.engine.moments import parse_moment

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

ENDS = 100_000  # entries at either end in which the log's first and last time are looked for
_ITERATION = re.compile(r"(?:i|it|iter|iteration|step)\s*(\d{1,9})", re.ASCII | re.IGNORECASE)


class Place(NamedTuple):
    """A time (ns UTC) or an iteration."""

    value: int
    is_iteration: bool
    words: str


def read_place(text: str, snapshot: Snapshot) -> Place:
    """Read a place; raises ValueError with words where the text is none or the log has no times."""
    text = text.strip()
    if match := _ITERATION.fullmatch(text):
        return Place(int(match[1]), True, f"iteration {int(match[1]):,}")
    first, last = time_ends(snapshot)
    try:
        return Place(parse_moment(text, first, last), False, text)
    except ValueError as error:
        raise ValueError(f"{error} (or i1200 for an iteration)") from None


def time_ends(snapshot: Snapshot) -> tuple[int, int]:
    """Give the first and last time of a log, ns UTC; raise ValueError where it has none."""
    head, tail = snapshot.clock[:ENDS], snapshot.clock[-ENDS:]
    head, tail = head[head != NO_TIME], tail[tail != NO_TIME]
    if not len(head) or not len(tail):
        raise ValueError("no line of this log has a time")
    return int(head.min()), int(tail.max())
