"""The scroll mark in a view's last column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from l4tui.widgets.glyphs import Glyphs


def with_track(
    strips: Sequence[Strip], top: int, total: int, signs: Glyphs, styles: Mapping[str, Style]
) -> list[Strip]:
    """Put a scroll mark behind the strips of a screen whose first row is row `top` of `total`."""
    height = len(strips)
    if total <= height:
        ends = [Strip([Segment(" ", styles["plain"])], 1)] * height
    else:
        size = max(height * height // total, 1)
        at = round(top / max(total - height, 1) * (height - size))
        track = Strip([Segment(signs.track, styles["track"])], 1)
        thumb = Strip([Segment(signs.thumb, styles["thumb"])], 1)
        ends = [thumb if at <= y < at + size else track for y in range(height)]
    return [Strip([*strip, *end], strip.cell_length + 1) for strip, end in zip(strips, ends, strict=True)]
