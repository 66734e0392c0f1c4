"""What the log view paints: one finished row of the page on screen."""

from __future__ import annotations

from typing import NamedTuple

from l4tui.engine.model import NO_TIME, Level


class Line(NamedTuple):
    """A row ready to be painted; `text` is clean (see cells.py)."""

    key: int
    text: str
    who: str = ""  # rank, or a set of ranks
    node: str = ""
    sort: str = "rank"  # rank mixed launcher unknown note; rule: a line across, `text` in it
    level: int = Level.NONE
    time: int = NO_TIME  # ns UTC
    site: str = ""
    head: bool = True  # False: continues the record above
    mark: str = ""  # in the level's place: "!" an exception, or a glyph of a lens's own, such as a divergence
    tone: str = ""  # style of the text; empty: by its level
    spans: tuple[tuple[int, int, str], ...] = ()  # parts of the text in a style of their own: (start, stop, style)


class Facts(NamedTuple):
    """What of the log decides how wide the gutter's columns are."""

    who_width: int = 1
    node_width: int = 0
    site_width: int = 0
    has_time: bool = False
    has_level: bool = False
