"""Records: which lines belong together, per lane and across blocks.

A lane is in one mode at a time; a line's class decides by the table below whether it joins the open record and which
mode comes next. Most lines are headers, plain text or indented text: for those one running maximum does the work,
and only tracebacks and their like are walked line by line.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.lanes import ByLane, last_marked
from l4tui.engine.lineclass import classify, is_progress
from l4tui.engine.model import UNKNOWN, LineClass

__all__ = ["Mode", "RecordCarry", "assemble", "classify", "is_progress"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BOX_LINES = 1000  # an elastic table has 8 lines for each failed worker of a node
BANNER_LINES = 40  # Open MPI's help texts are shorter


class Mode(IntEnum):
    """What a lane has open."""

    OPEN = 0  # a line that indented text continues
    FAILED = 1  # the same, and a traceback too
    STAMPED = 2  # a time alone: whatever comes
    OPENED = 3  # the first line of a traceback
    BLOCK = 4  # inside it
    RAISED = 5  # after its exception
    TOLD = 6  # after text indented below the exception
    CHAINED = 7  # after a sentence that announces another traceback
    BOX = 8  # inside a table after an exception
    BANNER = 9  # between two rules of dashes


SIMPLE = (Mode.OPEN, Mode.FAILED)
_N = len(LineClass)
_STARTS = np.zeros((len(Mode), _N), bool)
_NEXT = np.zeros((len(Mode), _N), np.int8)


def _fill() -> None:
    c, m = LineClass, Mode
    first = {  # class → mode of the record that it starts
        c.PLAIN: m.OPEN, c.HEAD: m.OPEN, c.FAILED: m.FAILED, c.TRACEBACK: m.OPENED, c.RAISED: m.RAISED,
        c.CHAIN: m.CHAINED, c.STAMP: m.STAMPED, c.RULE: m.OPEN, c.BANNER: m.BANNER, c.ANNOUNCE: m.CHAINED,
    }  # fmt: skip
    for mode in m:
        for cls in c:
            _STARTS[mode, cls] = cls in first
            _NEXT[mode, cls] = first.get(cls, mode)

    def joins(mode: Mode, **nexts: Mode) -> None:
        for name, after in nexts.items():
            _STARTS[mode, c[name]] = False
            _NEXT[mode, c[name]] = after

    joins(m.FAILED, TRACEBACK=m.OPENED, CHAIN=m.CHAINED, ANNOUNCE=m.CHAINED)
    joins(m.STAMPED, PLAIN=m.OPEN, HEAD=m.OPEN, FAILED=m.FAILED, TRACEBACK=m.OPENED, RAISED=m.RAISED)
    joins(m.STAMPED, CHAIN=m.CHAINED, ANNOUNCE=m.CHAINED, RULE=m.OPEN, BANNER=m.BANNER, BODY=m.OPEN, BLANK=m.OPEN)
    for mode in (m.OPENED, m.BLOCK, m.CHAINED):
        joins(mode, PLAIN=m.RAISED, RAISED=m.RAISED, BODY=m.BLOCK, CHAIN=m.CHAINED, RULE=m.BOX, BANNER=mode, STAMP=mode)
    joins(m.CHAINED, TRACEBACK=m.OPENED, ANNOUNCE=m.CHAINED)
    for mode in (m.RAISED, m.TOLD):
        joins(mode, BODY=m.TOLD, CHAIN=m.CHAINED, RULE=m.BOX, STAMP=mode)
    joins(m.TOLD, RAISED=m.RAISED)
    joins(m.BOX, PLAIN=m.BOX, RAISED=m.BOX, CHAIN=m.BOX, STAMP=m.BOX, BANNER=m.BOX, RULE=m.OPEN)
    joins(m.BANNER, PLAIN=m.BANNER, RAISED=m.BANNER, CHAIN=m.BANNER, STAMP=m.BANNER, RULE=m.BANNER, BANNER=m.OPEN)


_fill()
_STARTS_LIST: list[list[bool]] = _STARTS.tolist()
_NEXT_LIST: list[list[int]] = _NEXT.tolist()
# classes after which, or at which, an OPEN lane needs to be walked
_WALKED = np.zeros(_N, bool)
_WALKED[[c for c in LineClass if _NEXT[Mode.OPEN, c] not in SIMPLE]] = True
_ALONE = np.zeros(_N, bool)  # records of one line that nothing continues and that interrupt nothing
_ALONE[[LineClass.PROGRESS, LineClass.ASIDE]] = True
_STARTS_OPEN = _STARTS[Mode.OPEN].copy()
# classes of lines that are records of their own whatever a lane in a simple mode has open, and leave it in such a mode
_SINGLE = _ALONE.copy()
_SINGLE[[c for c in LineClass if _STARTS[SIMPLE, c].all() and np.isin(_NEXT[SIMPLE, c], SIMPLE).all()]] = True


class RecordCarry:
    """What every lane has open at the end of a block; arrays by lane, so it pickles."""

    def __init__(self) -> None:
        self.head = np.full(0, UNKNOWN, np.int64)
        self.mode = np.zeros(0, np.int8)
        self.left = np.zeros(0, np.int16)  # lines that a box may still take

    def grow(self, lanes: int) -> None:
        """Make room for lanes below this number."""
        more = lanes - len(self.head)
        if more > 0:
            more = max(more, len(self.head))
            self.head = np.append(self.head, np.full(more, UNKNOWN, np.int64))
            self.mode = np.append(self.mode, np.zeros(more, np.int8))
            self.left = np.append(self.left, np.zeros(more, np.int16))


def assemble(
    lane: Ints, line_class: Ints, carry: RecordCarry, base: int = 0, by: ByLane | None = None,
    present: Ints | None = None,
) -> Ints:  # fmt: skip
    """Return the entry of the first line of each line's record; any cut into blocks gives the same.

    Args:
        lane, line_class: one row per entry of a block, in file order; lanes are small numbers.
        carry: read and brought up to date.
        base: entry of the block's first row.
        by, present: ByLane(lane) and the classes that occur, where they are known already.
    """
    n = len(lane)
    if not n:
        return np.zeros(0, np.int64)
    carry.grow(int(lane.max()) + 1)
    own = np.arange(base, base + n)
    if _SINGLE[line_class if present is None else present].all() and carry.mode.take(lane).max() <= Mode.FAILED:
        _remember_single(lane, line_class, own, carry)
        return own
    by = by or ByLane(lane)
    order, lanes, firsts, ends, first = by.order, by.lanes, by.firsts, by.ends, by.first
    classes = np.asarray(line_class)[order]
    starts = _STARTS_OPEN[classes]
    modes = _walk(classes, starts, lanes[firsts].tolist(), firsts, ends, carry)
    starts |= _orphans(lanes, classes, starts, first, carry)
    last = last_marked(starts)
    inside = last >= first
    heads = np.where(inside, base + order[np.maximum(last, 0)], carry.head[lanes])
    _remember(lanes, classes, heads, last, inside, ends, modes, carry)
    out = np.empty(n, np.int64)
    out[order] = np.where(_ALONE[classes], base + order, heads)
    return out


def _remember_single(lane: Ints, line_class: Ints, own: Ints, carry: RecordCarry) -> None:
    """Bring the carry up to date where all lines are records of their own; a lane's last assignment stays."""
    alone = _ALONE[line_class]
    if alone.any():
        rows = np.flatnonzero(~alone)
        lane, line_class, own = lane[rows], line_class[rows], own[rows]
    carry.head[lane] = own
    carry.mode[lane] = np.where(line_class == LineClass.FAILED, np.int8(Mode.FAILED), np.int8(Mode.OPEN))


def _orphans(lanes: Ints, classes: Ints, starts: Bools, first: Ints, carry: RecordCarry) -> Bools:
    """Return the first lines of lanes that nothing was open in: they start records whatever they are."""
    last = last_marked(starts)
    lost = np.flatnonzero((last < first) & (carry.head[lanes] == UNKNOWN) & ~_ALONE[classes])
    out = np.zeros(len(starts), bool)
    if len(lost):
        _, at = np.unique(lanes[lost], return_index=True)
        out[lost[at]] = True
    return out


def _walk(
    classes: Ints, starts: Bools, lanes: list[int], firsts: Ints, ends: Ints, carry: RecordCarry
) -> dict[int, tuple[int, int]]:
    """Settle `starts` of traceback-like blocks; return lane → (mode, lines left) of blocks still open at the end."""
    out: dict[int, tuple[int, int]] = {}
    points = np.flatnonzero(_WALKED[classes])
    carried = carry.mode[lanes] > Mode.FAILED
    bounds = np.searchsorted(points, np.stack([firsts, ends]))
    for k in np.flatnonzero(carried | (bounds[1] > bounds[0])).tolist():
        lane, begin, end = lanes[k], int(firsts[k]), int(ends[k])
        own = points[bounds[0][k] : bounds[1][k]].tolist()
        reached = begin
        mode, left = int(carry.mode[lane]), int(carry.left[lane])
        if carried[k]:
            reached, mode, left = _run(classes, starts, begin, end, mode, left)
        for point in own:
            if point < reached:
                continue
            before = _mode_before(classes, starts, point, begin, int(carry.mode[lane]))
            reached, mode, left = _run(classes, starts, point, end, before, 0)
        if mode not in SIMPLE and reached == end:
            out[lane] = (mode, left)
    return out


def _mode_before(classes: Ints, starts: Bools, point: int, begin: int, carried: int) -> int:
    """Return OPEN or FAILED: what the lane has open just before a walk begins."""
    at = point - 1
    while at >= begin and not starts[at]:
        at -= 1
    if at < begin:
        return carried if carried in SIMPLE else Mode.OPEN
    return Mode.FAILED if classes[at] == LineClass.FAILED else Mode.OPEN


def _run(classes: Ints, starts: Bools, at: int, end: int, mode: int, left: int) -> tuple[int, int, int]:
    """Walk from a row until the lane is in a simple mode again; return (next row, mode, lines a box may still take)."""
    while at < end:
        cls = int(classes[at])
        if cls not in (LineClass.PROGRESS, LineClass.ASIDE):
            starts[at] = _STARTS_LIST[mode][cls]
            after = _NEXT_LIST[mode][cls]
            if after >= Mode.BOX:
                left = left - 1 if after == mode and not starts[at] else (BOX_LINES, BANNER_LINES)[after - Mode.BOX]
                after = after if left > 0 else Mode.OPEN
            mode = after
        at += 1
        if mode in SIMPLE:
            break
    return at, mode, left


def _remember(
    lanes: Ints, classes: Ints, heads: Ints, last: Ints, inside: Bools, ends: Ints,
    modes: dict[int, tuple[int, int]], carry: RecordCarry,
) -> None:  # fmt: skip
    """Bring the carry up to date with the last line of every lane."""
    at = ends - 1
    who = lanes[at]
    failed = np.where(classes[np.maximum(last[at], 0)] == LineClass.FAILED, Mode.FAILED, Mode.OPEN)
    was = np.where(carry.mode[who] == Mode.FAILED, Mode.FAILED, Mode.OPEN)
    carry.mode[who] = np.where(inside[at], failed, was)
    carry.head[who] = heads[at]
    for lane, (mode, left) in modes.items():
        carry.mode[lane], carry.left[lane] = mode, left
