"""Glance: which lines of a block have a key that was met before, told from their bytes without an object per line.

A hash over whole words says which known key a line might have, and all bytes of the two are compared: a line is known
for sure or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.digits import Bytes, Ints, windows
from l4tui.engine.model import UNKNOWN

Words = NDArray[np.uint64]

WIDTHS = (128, 192, 512)  # bytes of the longest lines that are compared together; words of words
FEW = 64  # lines that are not worth it
MOST = 4096  # keys of a width that are known at a time
_SLOTS = 1 << 14
_PROBES = 4  # slots that a key may be in
_SHIFT = np.uint64(64 - 14)
_SEED = 20_240_229


class Glance:
    """The keys of one mapper as its lines are compared with them."""

    def __init__(self) -> None:
        self._known = [_Known(width) for width in WIDTHS]

    def plans(self, zeroed: Bytes, begin: Ints, length: Ints) -> Ints:
        """Return the plan of each line, UNKNOWN where its key is none of those that were learnt.

        Args:
            zeroed: a block whose digits are 0; no line holds a byte 0.
        """
        plan = np.full(len(begin), UNKNOWN, np.int64)
        shortest = 0
        for known in self._known:
            rows = np.flatnonzero((length >= shortest) & (length < known.width))
            shortest = known.width
            if len(rows) == len(plan):
                return known.plans(zeroed, begin, length)
            if len(rows) > FEW:
                plan[rows] = known.plans(zeroed, begin.take(rows), length.take(rows))
        return plan

    def learn(self, plans: Mapping[bytes, int]) -> None:
        """Know the plans of these keys from now on."""
        shortest = 0
        for known in self._known:
            known.learn({key: plan for key, plan in plans.items() if shortest <= len(key) < known.width})
            shortest = known.width


class _Known:
    """Keys shorter than a width: a hash table that is asked for many lines at once."""

    def __init__(self, width: int) -> None:
        self.width = width
        words = width // 8
        odd = np.random.default_rng(_SEED).integers(0, 1 << 63, words, np.uint64) * np.uint64(2) + np.uint64(1)
        self._factors: Words = odd
        self._masks = np.tri(width, width, -1, np.uint8).view(np.uint64) * np.uint64(255)  # row n: the first n bytes
        self._forget()

    def _forget(self) -> None:
        self._slots = np.zeros(_SLOTS + _PROBES, np.int32)  # row of a key; 0: none
        self._keys = np.zeros((64, self.width // 8), np.uint64)
        self._plans = np.full(64, UNKNOWN, np.int64)
        self._count = 1

    def plans(self, zeroed: Bytes, begin: Ints, length: Ints) -> Ints:
        """Return the plan of each of these lines, UNKNOWN for a key not known."""
        words = windows(zeroed, begin, self.width).view(np.uint64)
        words &= self._masks.take(length, axis=0)
        slot = self._slot(words)
        row = self._slots.take(slot)
        plan = self._plans.take(row)
        wrong = np.flatnonzero(self._differs(words, row))
        for probe in range(1, _PROBES):
            wrong = wrong[row[wrong] > 0]  # else the key would be here
            if not len(wrong):
                break
            row[wrong] = self._slots.take(slot[wrong] + probe)
            plan[wrong] = self._plans.take(row[wrong])
            wrong = wrong[self._differs(words[wrong], row[wrong])]
        plan[wrong] = UNKNOWN
        return plan

    def _slot(self, words: Words) -> Ints:
        mixed: Words = np.einsum("ij,j->i", words, self._factors)
        mixed >>= _SHIFT
        return mixed.view(np.int64)

    def _differs(self, words: Words, row: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Say which lines are not those keys."""
        other = (words != self._keys.take(row, axis=0)).view(np.uint64)
        differs: Words = other[:, 0].copy()
        for column in range(1, other.shape[1]):
            differs |= other[:, column]
        return differs.astype(np.bool_)

    def learn(self, plans: Mapping[bytes, int]) -> None:
        """Take keys up; one that finds no slot stays unknown."""
        if not plans or len(plans) > MOST // 2:
            return
        if self._count + len(plans) > MOST:
            self._forget()  # what is still met is learnt again
        while self._count + len(plans) > len(self._keys):
            self._keys = np.vstack((self._keys, np.zeros_like(self._keys)))
            self._plans = np.append(self._plans, np.full_like(self._plans, UNKNOWN))
        text = b"".join(key.ljust(self.width, b"\0") for key in plans)
        words = np.frombuffer(text, np.uint64).reshape(len(plans), -1)
        for key, plan, slot in zip(words, plans.values(), self._slot(words).tolist(), strict=True):
            free = np.flatnonzero(self._slots[slot : slot + _PROBES] == 0)
            if len(free):
                self._slots[slot + free[0]] = self._count
                self._keys[self._count], self._plans[self._count] = key, plan
                self._count += 1
