"""Carrying: what lines without a time or iteration of their own have of those before them, across blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from l4tui.engine.adoption import Adoption
from l4tui.engine.headings import NO_HEADING
from l4tui.engine.lanes import ByLane, last_marked
from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.restarts import Restarts
from l4tui.engine.segments import Segments
from l4tui.engine.store import Growing


@dataclass
class SourceCarry:
    """What a source's next block continues from."""

    lines: int = 0
    restarts: Restarts = field(default_factory=Restarts)
    clock: int = NO_TIME
    after: int = UNKNOWN  # iteration that lines without a marker of their own fall into
    pieces: dict[int, int] = field(default_factory=dict)  # task → speaker whose cut line goes on
    last: int = UNKNOWN  # speaker of its last entry
    adoption: Adoption = field(default_factory=Adoption)
    heading: str = NO_HEADING  # that its next line stands under


def carry_clock(carries: Sequence[SourceCarry], time: np.ndarray, segments: Segments) -> np.ndarray:
    """Return each line's own time or the last one before it in its source."""
    timed = time != NO_TIME
    clock = time
    if not timed.all():
        last = last_marked(timed)
        clock = np.where(last >= segments.first(), time.take(last), segments.each([carry.clock for carry in carries]))
    for carry, end in zip(carries, segments.ends.tolist(), strict=True):
        carry.clock = int(clock[end - 1])
    return clock


def carry_iterations(
    carries: Sequence[SourceCarry], kept: Growing, mark: np.ndarray, closes: np.ndarray | None, by: ByLane,
    segments: Segments,
) -> np.ndarray:  # fmt: skip
    """Return the iteration of every line: of its lane's markers, else of its source's.

    Args:
        carries, kept: what the sources and the lanes have come to, brought up to date.
        mark: iteration in the line, -1 where it has none; closes: whether it ends with the line; None: none does.
        by: the lines by lane.
        segments: whose lines are where.
    """
    iteration = mark.astype(np.int32)
    marked = mark >= 0
    rows, silent = np.flatnonzero(marked), np.flatnonzero(~marked)
    after = iteration if closes is None else iteration + closes
    if len(silent):
        own = kept.view().take(by.lane.take(silent))
        if len(rows):
            own = _forward(after, marked, silent, own, by)
        lost = np.flatnonzero(own == UNKNOWN)
        if len(lost):
            own[lost] = _of_source(carries, after, rows, silent.take(lost), segments)
        iteration[silent] = own
    for carry, row in zip(carries, segments.last(rows), strict=True):
        carry.after = int(after[row]) if row >= 0 else carry.after
    if len(rows):
        new = kept.view().copy()
        new[by.lane.take(rows)] = after.take(rows)  # the last assignment of a lane stays
        kept.replace(new)
    return iteration


def _of_source(
    carries: Sequence[SourceCarry], after: np.ndarray, rows: np.ndarray, lost: np.ndarray, segments: Segments
) -> np.ndarray:
    """Return what the last of these rows in the same source leaves to lost ones, or what the source carries."""
    last = np.append(UNKNOWN, rows).take(np.searchsorted(rows, lost))
    carried = segments.each([carry.after for carry in carries], lost)
    return np.where(last >= segments.first(lost), after.take(last), carried)


def _forward(
    after: np.ndarray, marked: np.ndarray, silent: np.ndarray, carried: np.ndarray, by: ByLane
) -> np.ndarray:
    """Return what the last marked row of the same lane leaves to each silent one, or what was carried."""
    last = last_marked(marked.take(by.order))
    before = np.where(last >= by.first, by.order.take(last), UNKNOWN)
    whose = np.empty(len(marked), np.int64)
    whose[by.order] = before
    whose = whose.take(silent)
    return np.where(whose >= 0, after.take(whose), carried)
