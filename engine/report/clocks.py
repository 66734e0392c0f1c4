"""Nodes whose clocks differ: their lines stand elsewhere in the merged order than they were written."""

from __future__ import annotations

import numpy as np

from l4tui.engine.clock import clock_offsets
from l4tui.engine.model import NO_TIME, UNKNOWN, Marker
from l4tui.engine.snapshot import Snapshot

WORTH_TELLING = 10**9  # ns
LEAST_LINES = 8  # an offset of fewer may be chance
MOST_LINES = 200_000  # the last ones: 0.1 s of sorting


def clock_tables(snap: Snapshot) -> list[dict[str, object]]:
    """Return nodes whose lines of the same iterations stand more than a second before or after those of the others.

    A steady difference is the clock's: ranks that wait for each other cannot lag by it in every iteration.
    """
    told = np.zeros(len(snap.plans.event), np.bool_)
    told[: len(snap.plans.marker)] = snap.plans.marker != Marker.NONE
    entries = np.flatnonzero(told[snap.plan])[-MOST_LINES:]
    node = snap.ranks.node[snap.speaker[entries]]
    entries, node = entries[node >= 0], node[node >= 0].astype(np.int64)
    if not len(entries) or (node == node[0]).all():
        return []
    events, iterations = snap.event(entries).astype(np.int64), snap.iteration[entries].astype(np.int64)
    if (snap.time[entries] == NO_TIME).all() or (iterations == UNKNOWN).all():
        return []
    found = clock_offsets(snap.time[entries], node, events, iterations)
    rows = zip(found.lanes.tolist(), found.offset_ns.tolist(), found.lines.tolist(), strict=True)
    return [
        {"node": snap.nodes[lane], "ahead_s": round(ns / 1e9, 3), "lines": lines}
        for lane, ns, lines in rows
        if abs(ns) > WORTH_TELLING and lines >= LEAST_LINES
    ]
