"""Who waited when the job stopped: ranks that reported a time-out or a lost peer, and where in the code."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.deaths import aborted_by_peers
from l4tui.engine.library.pattern import Blames, Role

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+),? in (?P<name>\S+)')
_LIBRARY = re.compile(r"site-packages|/lib/python|<frozen|dist-packages")


def victims(case: Case) -> dict[int, int]:
    """Return the first row at which each rank reported that it waited in vain or lost a peer."""
    out: dict[int, int] = {}
    for s in case.roles(Role.CASCADE, Role.INITIATING):
        waits = s.role is Role.CASCADE or s.pattern.blames is Blames.PROGRESS
        if waits and not s.pattern.secondhand and s.rank >= 0 and not s.copied:
            out.setdefault(s.rank, s.row)
    for rank, row in aborted_by_peers(case).items():
        out.setdefault(rank, row)
    return out


def timed_out(case: Case) -> dict[int, int]:
    """Return the first row at which each rank reported that a collective did not end in time or in shape."""
    out: dict[int, int] = {}
    for s in case.roles(Role.CASCADE, Role.INITIATING):
        if s.pattern.blames is Blames.PROGRESS and s.rank >= 0 and not s.copied:
            out.setdefault(s.rank, s.row)
    return out


def call_sites(case: Case, raised: Mapping[int, int]) -> dict[int, tuple[str, int]]:
    """Return for each rank the last line of the program's own code in the traceback above what it raised, and the row.

    Args:
        raised: rank → row of what it raised.
    """
    j = case.journal
    out: dict[int, tuple[str, int]] = {}
    frames: dict[int, list[int]] = defaultdict(list)
    rows = np.flatnonzero(case.mask & np.isin(j.rank, list(raised)) & _are_frames(case))
    for row in rows.tolist():
        if j.source[row] == j.source[raised[int(j.rank[row])]]:  # another of its files may tell of something else
            frames[int(j.rank[row])].append(row)
    for rank, mine in frames.items():
        last = int(j.record[mine[-1]])
        block = [r for r in mine if int(j.record[r]) == last]
        site = _own_frame(j.read(np.array(block, dtype=np.int64)))
        if site:
            out[rank] = (site, block[0])
    return out


def _are_frames(case: Case) -> NDArray[np.bool_]:
    """Tell for each row whether it is a frame of a traceback; a shape's first line stands for all of it."""
    j = case.journal
    frames = [shape for shape, text in j.samples.items() if text.lstrip().startswith('File "')]
    return np.isin(j.shape, frames)


def _own_frame(texts: list[str]) -> str:
    best = ""
    for text in texts:
        match = _FRAME.match(text)
        if match and not _LIBRARY.search(match["file"]):
            best = f"{match['file'].rsplit('/', 1)[-1]}:{match['line']} in {match['name']}"
    return best
