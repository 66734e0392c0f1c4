"""Lanes: the streams that continuation lines and carried values follow."""

from __future__ import annotations

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


def lane_order(lane: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of a block by lane, in file order within each; numpy sorts 16-bit numbers by radix."""
    small = len(lane) > 0 and int(lane.max()) < 2**16
    return np.argsort(lane.astype(np.uint16) if small else lane, kind="stable")
