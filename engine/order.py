"""The merged order of a job: by time across sources, file order within each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from l4tui.engine.model import NO_TIME

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot


class OrderCache:
    """Keeps the merged order of a job; sorts again only what new entries disturb."""

    def __init__(self) -> None:
        self._order = np.empty(0, np.int64)

    def of(self, snap: Snapshot) -> np.ndarray:
        """Return the merged order for a snapshot."""
        order = self._order
        if len(order) == snap.length:
            return order
        if len(order) > snap.length:
            return _merged(snap, np.empty(0, np.int64))
        order = _merged(snap, order)
        if snap.length < 1 << 31:
            order = order.astype(np.int32)  # half of it: 4 bytes an entry
        self._order = order
        return order


def _merged(snap: Snapshot, old: np.ndarray) -> np.ndarray:
    """Extend an order by the entries behind it, or sort anew where they reach back."""
    if len(np.unique(snap.blocks.source)) < 2:
        return np.arange(snap.length)
    times = merge_times(snap)
    new = np.arange(len(old), snap.length)
    new = new[np.argsort(times[new], kind="stable")]
    if len(old) and len(new) and times[new[0]] < times[old[-1]]:
        keep = int(np.searchsorted(times[old], times[new[0]], "right"))
        moved = np.concatenate((old[keep:], new))
        return np.concatenate((old[:keep], moved[np.argsort(times[moved], kind="stable")]))
    return np.concatenate((old, new))


def merge_times(snap: Snapshot) -> np.ndarray:
    """Return the time by which entries are merged: per source never falling, filled back to its first line."""
    times = snap.clock.copy()
    first, source = snap.blocks.first, snap.blocks.source
    ends = np.append(first[1:], snap.length)
    latest: dict[int, int] = {}
    untimed: dict[int, list[tuple[int, int]]] = {}
    for f, e, s in zip(first.tolist(), ends.tolist(), source.tolist(), strict=True):
        part = times[f:e]
        if s in latest:
            np.maximum(part, latest[s], out=part)
        np.maximum.accumulate(part, out=part)
        if len(part) and part[-1] != NO_TIME:
            if s not in latest:
                begin = int(part[part != NO_TIME][0])
                part[part == NO_TIME] = begin
                for a, b in untimed.pop(s, ()):
                    times[a:b] = begin
            latest[s] = int(part[-1])
        elif len(part):
            untimed.setdefault(s, []).append((f, e))
    return times
