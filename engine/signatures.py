"""What makes two texts the same row, and what sets apart the texts of one row."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import Flag, LineClass
from l4tui.engine.rowtable import RowFlag
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.speakersets import roomy

_NUMBER = re.compile(rb"[-+]?\d[\d_,.]*(?:[eE][-+]?\d+)?")
_LETTER = re.compile(r"[^\W\d_]")

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Signatures:
    """What makes texts the same row: the event; for texts without letters the speaker too."""

    def __init__(self) -> None:
        self._of_event = np.full(256, -1, np.int64)
        self._is_apart = np.zeros(256, np.bool_)  # per event
        self._events: list[int] = []
        self._flags: list[int] = []
        self._pairs: dict[tuple[int, int], int] = {}
        self._flag_array = np.zeros(0, np.uint8)

    def __len__(self) -> int:
        return len(self._events)

    def of(self, snap: Snapshot, entries: Ints, plan: Ints, speaker: Ints) -> Ints:
        """Return the signature of leads."""
        event = snap.plans.event[plan].astype(np.int64)
        self._of_event = roomy(self._of_event, len(snap.templates), -1)
        self._is_apart = roomy(self._is_apart, len(snap.templates))
        out = self._of_event[event]
        if (out < 0).any():
            self._learn(snap, plan, event)
            out = self._of_event[event]
        apart = self._is_apart[event] | (snap.flags[entries] & Flag.NOTE != 0)
        for i in np.flatnonzero(apart).tolist():
            pair = (int(event[i]), int(speaker[i]))
            known = self._pairs.get(pair)
            if known is None:
                known = self._pairs[pair] = self._new(pair[0], RowFlag.APART)
            out[i] = known
        self._flag_array = np.array(self._flags, np.uint8) if len(self._flag_array) < len(self) else self._flag_array
        return out

    def _learn(self, snap: Snapshot, plan: Ints, event: Ints) -> None:
        missing = np.flatnonzero(self._of_event[event] < 0)
        events, first = np.unique(event[missing], return_index=True)
        classes = snap.plans.line_class[plan[missing[first]]]
        for e, cls in zip(events.tolist(), classes.tolist(), strict=True):
            folds = cls in (LineClass.PROGRESS, LineClass.BLANK)
            self._of_event[e] = self._new(e, RowFlag.FOLDED if folds else RowFlag(0))
            self._is_apart[e] = not folds and not _LETTER.search(snap.templates[e])

    def _new(self, event: int, flag: RowFlag) -> int:
        self._events.append(event)
        self._flags.append(int(flag))
        return len(self._events) - 1

    def folds(self, signatures: Ints) -> Bits:
        """Say which signatures have one row a block."""
        return self._flag_array[signatures] & RowFlag.FOLDED != 0

    def apart(self, signatures: Ints) -> Bits:
        """Say which signatures belong to one speaker."""
        return self._flag_array[signatures] & RowFlag.APART != 0

    def events(self) -> NDArray[np.int32]:
        """Return the event of each signature."""
        return np.array(self._events, np.int32)


class Wordings:
    """Shapes that differ in numbers only are one wording."""

    def __init__(self) -> None:
        self._of_shape = np.full(256, -1, np.int32)
        self._ids: dict[bytes, int] = {}
        self._known = 0

    def of(self, snap: Snapshot, plan: Ints) -> NDArray[np.int32]:
        """Return the wording of entries with these plans."""
        shapes = snap.shapes
        count = len(shapes)
        self._of_shape = roomy(self._of_shape, count, -1)
        for shape in range(self._known, count):
            self._of_shape[shape] = self._ids.setdefault(_NUMBER.sub(b"0", shapes[shape]), len(self._ids))
        self._known = max(self._known, count)
        return self._of_shape[snap.plans.shape[plan]]
