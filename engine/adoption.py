"""Adoption: text without header or tag that goes on a message whose header names its writer.

A header with a pid gives its line a lane of its own, and the rest of a message of several lines repeats nothing. Such
text belongs to the line just before it, unless a traceback is open among the untagged lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.lanes import last_marked
from l4tui.engine.model import UNKNOWN, LineClass
from l4tui.engine.segments import Segments

Ints = NDArray[np.int64]


class LaneKind(IntEnum):
    """Where a lane comes from."""

    SOURCE = 0  # nothing on the line tells its writer
    HEADER = 1
    PREFIX = 2


KIND = {"source": LaneKind.SOURCE, "header": LaneKind.HEADER}  # by the first word of a lane; others: PREFIX
_GOES_ON = np.zeros(len(LineClass), bool)
_GOES_ON[[LineClass.BODY, LineClass.BLANK]] = True
_SILENT = _GOES_ON.copy()  # opens and closes nothing
_SILENT[[LineClass.PROGRESS, LineClass.ASIDE, LineClass.STAMP]] = True
_BLOCK = np.zeros(len(LineClass), bool)
_BLOCK[[LineClass.TRACEBACK, LineClass.CHAIN, LineClass.ANNOUNCE]] = True
_HEADS = np.zeros(len(LineClass), bool)
_HEADS[[LineClass.HEAD, LineClass.FAILED]] = True


class Adoption:
    """The end of a source's last block."""

    def __init__(self) -> None:
        self.lane = UNKNOWN  # that the next line may go on
        self.open = int(LineClass.PLAIN)  # class of the last untagged line that opens or closes anything


def adopt(
    lane: Ints, line_class: Ints, kind: Ints, carries: Sequence[Adoption], segments: Segments | None = None,
    present: Ints | None = None,
) -> Ints:  # fmt: skip
    """Return the lanes that records follow; any cut into blocks gives the same.

    Args:
        lane, line_class, kind: of the entries of each source in file order; kind is a LaneKind.
        carries: the sources', brought up to date.
        segments: which rows are a source's; None: there is one.
        present: the classes that occur, where they are known already.
    """
    if not len(lane):
        return lane
    segments = segments or Segments([len(lane)])
    loose = kind == LaneKind.SOURCE
    lone = not _GOES_ON[line_class if present is None else present].any()
    if lone or (loose.all() and all(carry.lane == UNKNOWN for carry in carries)):
        opens = segments.last(np.flatnonzero(loose & ~_SILENT[line_class]))
        for carry, opener, end in zip(carries, opens, segments.ends.tolist(), strict=True):
            carry.open = int(line_class[opener]) if opener >= 0 else carry.open
            if lone:
                heads = kind[end - 1] == LaneKind.HEADER and _HEADS[line_class[end - 1]]
                carry.lane = int(lane[end - 1]) if heads else UNKNOWN
        return lane
    first = segments.first()
    told = last_marked(loose & ~_SILENT[line_class])
    opened = np.where(told >= first, line_class[told], segments.each([carry.open for carry in carries]))
    goes_on = loose & _GOES_ON[line_class] & ~_BLOCK[opened]
    donor = last_marked(~goes_on)
    offered = np.where((kind == LaneKind.HEADER) & _HEADS[line_class], lane, UNKNOWN)
    given = np.where(donor >= first, offered[donor], segments.each([carry.lane for carry in carries]))
    for carry, last in zip(carries, (segments.ends - 1).tolist(), strict=True):
        carry.lane = int(given[last] if goes_on[last] else offered[last])
        carry.open = int(opened[last])
    taken = goes_on & (given != UNKNOWN)
    return np.where(taken, given, lane) if taken.any() else lane
