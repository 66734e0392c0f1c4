"""One-line displays made of parts that give way by rank of importance when the terminal is narrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from l4tui.widgets.cells import fit, width_of

GAP = "  "


class Part(NamedTuple):
    """A piece of a bar; of those that do not all fit the lowest `give` comes first, together. 0 never goes.

    A part with `least` is cut down to so many cells before anything goes that matters more.
    """

    text: str
    style: str = "plain"
    give: int = 0
    glue: bool = False  # stands against the part before it, without a gap
    right: bool = False  # from the first such part on: flush right
    tap: str = ""  # what a click on it is reported as
    least: int = 0  # cells it can be cut to; 0: it is shown whole or goes


def bar(parts: Sequence[Part], width: int, style_of: Callable[[str], Style], ellipsis: str = "…") -> Strip:
    """Lay parts out in `width` cells."""
    there = [part for part in parts if part.text]
    chosen = {min((part.give for part in there), default=0)}  # the most important is cut, not dropped
    cut = True  # for what comes once something had to go nothing is cut
    for give in sorted({part.give for part in there} - chosen):
        trial = [part for part in there if part.give in chosen or part.give == give]
        if _length(trial) - (sum(map(_slack, trial)) if cut else 0) <= width:
            chosen.add(give)
        else:
            cut = False
    kept = [part for part in there if part.give in chosen]
    for i in sorted(range(len(kept)), key=lambda i: -kept[i].give):
        if over := min(max(_length(kept) - width, 0), _slack(kept[i])):
            text = fit(kept[i].text, width_of(kept[i].text) - over, ellipsis)
            kept[i] = kept[i]._replace(text=text)
    used, segments, at_right = 0, [], False
    total = _length(kept)
    for i, part in enumerate(kept):
        if part.right and not at_right:
            at_right = True
            fill = max(width - total, 0)
            segments.append(Segment(" " * fill, style_of("plain")))
            used += fill
        gap = "" if i == 0 or part.glue else GAP
        text = fit(part.text, max(min(width_of(part.text), width - used - len(gap)), 0), ellipsis)
        if not text:
            break
        style = style_of(part.style)
        if part.tap:
            style += Style(meta={"tap": part.tap})
        segments += [Segment(gap, style_of("plain")), Segment(text, style)]
        used += len(gap) + width_of(text)
    segments.append(Segment(" " * max(width - used, 0), style_of("plain")))
    return Strip(segments, max(width, used))


def _slack(part: Part) -> int:
    return max(width_of(part.text) - part.least, 0) if part.least else 0


def _length(parts: Sequence[Part]) -> int:
    return sum(width_of(part.text) for part in parts) + sum(
        len(GAP) for i, part in enumerate(parts) if i and not part.glue
    )
