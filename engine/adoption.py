"""Adoption: text without header or tag that goes on a message whose header names its writer.

A header with a pid gives its line a lane of its own, and the rest of a message of several lines repeats nothing. Such
text belongs to the line just before it, unless a traceback is open among the untagged lines.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.lanes import last_marked
from l4tui.engine.model import UNKNOWN, LineClass

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
    lane: Ints, line_class: Ints, kind: Ints, carry: Adoption, present: Ints | None = None
) -> Ints:  # fmt: skip
    """Return the lanes that records follow; any cut into blocks gives the same.

    Args:
        lane, line_class, kind: of the entries of one source, in file order; kind is a LaneKind.
        carry: the source's, brought up to date.
        present: the classes that occur, where they are known already.
    """
    if not len(lane):
        return lane
    loose = kind == LaneKind.SOURCE
    lone = not _GOES_ON[line_class if present is None else present].any()
    if lone or (carry.lane == UNKNOWN and loose.all()):
        opens = np.flatnonzero(loose & ~_SILENT[line_class])
        carry.open = int(line_class[opens[-1]]) if len(opens) else carry.open
        if lone:
            heads = kind[-1] == LaneKind.HEADER and _HEADS[line_class[-1]]
            carry.lane = int(lane[-1]) if heads else UNKNOWN
        return lane
    told = last_marked(loose & ~_SILENT[line_class])
    opened = np.where(told >= 0, line_class[told], carry.open)
    goes_on = loose & _GOES_ON[line_class] & ~_BLOCK[opened]
    donor = last_marked(~goes_on)
    offered = np.where((kind == LaneKind.HEADER) & _HEADS[line_class], lane, UNKNOWN)
    given = np.where(donor >= 0, offered[donor], carry.lane)
    carry.lane = int(given[-1] if goes_on[-1] else offered[-1])
    carry.open = int(opened[-1])
    taken = goes_on & (given != UNKNOWN)
    return np.where(taken, given, lane) if taken.any() else lane
