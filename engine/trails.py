"""Trails: untagged lines that end a message of torch's C++ log, given to the rank that its first line names.

c10 writes a message at one go, and only its first line carries ``[rankN]:``. What follows it there is of fixed form:
advice, "Exception raised from", numbered frames. A line is taken over only when the line before it, in the same stream,
is of the same message; text torn by another writer stays unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from l4tui.engine.model import UNKNOWN, Speaker

_ADVICE = (
    b"CUDA kernel errors might be asynchronously", b"For debugging consider passing ", b"Compile with `",
    b"HIP kernel errors might be", b"Device-side assertion tracking was not enabled",
)  # fmt: skip
_HEADS = frozenset(("c10", "c10-mid"))


class Trail(IntEnum):
    """What a line is to a message of several lines."""

    NONE = 0
    HEAD = 1  # its first line, which names the rank
    ADVICE = 2
    RAISED = 3  # "Exception raised from …": frames follow
    FRAME = 4
    BLANK = 5  # between advice and "Exception raised", and behind the last frame


_AFTER = {
    Trail.ADVICE: (Trail.HEAD, Trail.ADVICE),
    Trail.RAISED: (Trail.HEAD, Trail.ADVICE, Trail.BLANK),
    Trail.FRAME: (Trail.RAISED, Trail.FRAME),
    Trail.BLANK: (Trail.ADVICE, Trail.FRAME),
}


def trail_of(text: bytes, formats: Sequence[str]) -> Trail:
    """Return what a plan's message (or its shape) is; found once per plan."""
    if text.startswith(b"frame #"):
        return Trail.FRAME
    if text.startswith(b"Exception raised from "):
        return Trail.RAISED
    if text.startswith(_ADVICE):
        return Trail.ADVICE
    if not text.strip():
        return Trail.BLANK
    return Trail.HEAD if not _HEADS.isdisjoint(formats) or text.lstrip().startswith(b"what():") else Trail.NONE


class Open:
    """The end of a source's last block: what its last line was, and whose."""

    def __init__(self) -> None:
        self.kind = Trail.NONE
        self.heir: Speaker | None = None

    def follow(
        self, trail: np.ndarray, speaker: np.ndarray, lane: np.ndarray, speakers: Sequence[Speaker]
    ) -> list[tuple[int, Speaker]]:
        """Return the entries of a block that continue a message, each with its writer.

        Args:
            trail: int8 of Trail per entry; speaker and lane: their ids.
        """
        found: dict[int, Speaker] = {}
        before: np.ndarray | None = None
        least = Trail.HEAD if ((trail > Trail.HEAD) & (trail < Trail.BLANK)).any() or self.heir else Trail.BLANK
        for i in np.flatnonzero(trail > least).tolist():
            who = speakers[int(speaker[i])]
            if not _is_bare(who):
                continue
            last = i - 1
            if who.local_rank != UNKNOWN:
                before = _before(lane) if before is None else before
                last = int(before[i])
            kind, owner = (Trail(int(trail[last])), found.get(last)) if last >= 0 else (Trail.NONE, None)
            if last >= 0 and kind is Trail.HEAD:
                owner = speakers[int(speaker[last])]
            elif i == 0 and who.local_rank == UNKNOWN:
                kind, owner = self.kind, self.heir
            if owner is not None and kind in _AFTER[Trail(int(trail[i]))] and (owner.rank >= 0 or owner.self_rank >= 0):
                found[i] = who._replace(rank=owner.rank, self_rank=owner.self_rank)
        if len(trail):
            end = len(trail) - 1
            self.kind = Trail(int(trail[end]))
            self.heir = speakers[int(speaker[end])] if self.kind is Trail.HEAD else found.get(end)
        return sorted(found.items())


def _is_bare(who: Speaker) -> bool:
    told = (who.task, who.rank, who.self_rank, who.pid, who.tid)
    return not who.launcher and who.actor is None and all(number == UNKNOWN for number in told)


def _before(lane: np.ndarray) -> np.ndarray:
    """Return the entry before each in its lane; -1 for the first."""
    order = np.argsort(lane, kind="stable")
    out = np.full(len(lane), -1, np.int64)
    same = lane[order[1:]] == lane[order[:-1]]
    out[order[1:][same]] = order[:-1][same]
    return out
