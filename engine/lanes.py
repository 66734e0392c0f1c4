"""Lanes: the streams that continuation lines and carried values follow."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import UNKNOWN, Speaker

Lane = tuple[int | str | None, ...]


def lane_of(speaker: Speaker) -> Lane:
    """Return the lane of a speaker: its launcher's prefix, else what its header says of the writer, else its source.

    A launcher's own lines have a lane of their own only behind a label. Elsewhere they interrupt nothing anyway
    (LineClass.ASIDE), and its tables stand between rules that nothing tells from a program's. The epoch parts a process
    from the one that took its place. What a program says of itself in the middle of its text (self_rank) parts lanes
    only where no launcher's prefix does, for a traceback's other lines do not repeat it. A strand is one process's text
    among others' (strands.py).
    """
    if speaker.launcher and speaker.task != UNKNOWN:
        return ("launcher", speaker.source, speaker.epoch, speaker.task, speaker.node)
    who = (speaker.mpi_job, speaker.task, speaker.local_rank, speaker.actor and speaker.pid)
    if speaker.task != UNKNOWN or speaker.local_rank != UNKNOWN or speaker.actor is not None:
        return ("prefix", speaker.source, speaker.epoch, *who, speaker.node, speaker.stream)
    if speaker.strand != UNKNOWN:
        return ("strand", speaker.source, speaker.epoch, speaker.strand)
    if speaker.rank != UNKNOWN:
        return ("rank", speaker.source, speaker.epoch, speaker.rank, speaker.stream)
    if speaker.pid != UNKNOWN or speaker.self_rank != UNKNOWN or speaker.tid != UNKNOWN:
        process = (speaker.self_rank, speaker.node, speaker.pid, speaker.tid)
        return ("header", speaker.source, speaker.epoch, *process, speaker.stream)
    return ("source", speaker.source, speaker.epoch, speaker.node, speaker.stream)


class ByLane:
    """The rows of a block sorted by lane, in file order within each; nothing is sorted before it is asked for."""

    def __init__(self, lane: NDArray[np.int64]) -> None:
        self.lane = lane

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Rows by lane; numpy sorts 16-bit numbers by radix."""
        small = len(self.lane) > 0 and int(self.lane.max()) < 2**16
        return np.argsort(self.lane.astype(np.uint16) if small else self.lane, kind="stable")

    @cached_property
    def lanes(self) -> NDArray[np.int64]:
        """The lane of each sorted row."""
        return self.lane.take(self.order)

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """Sorted rows at which a lane begins."""
        return np.flatnonzero(np.diff(self.lanes, prepend=-1))

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Behind the last sorted row of each lane."""
        return np.append(self.firsts[1:], len(self.lane))

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """For each sorted row the one at which its lane begins."""
        return np.repeat(self.firsts, self.ends - self.firsts)


def last_marked(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each row the last marked one up to and with it, -1 before the first."""
    rows = np.append(-1, np.flatnonzero(marked))
    return rows.take(np.cumsum(marked))  # half the cost of a running maximum
