"""A batch of leads sorted into what may be one row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BATCH = 1 << 16  # leads gathered at a time
_POSITION_BITS = 17

Ints = NDArray[np.int64]


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values, ascending, and the place of each; small ranges need no sort."""
    low, high = int(values.min()), int(values.max())
    if high - low > 8 * len(values) + 4096:
        unique, place = np.unique(values, return_inverse=True)
        return unique, place
    seen = np.zeros(high - low + 1, np.bool_)
    seen[values - low] = True
    unique = np.flatnonzero(seen)
    at = np.cumsum(seen) - 1
    return unique + low, at[values - low]


class Groups:
    """A batch sorted by block, signature and speaker; pairs are (block, signature), groups have a speaker too."""

    def __init__(self, block: Ints, signature: Ints, speaker: Ints, signatures: int, speakers: int) -> None:
        blocks, place = distinct(block)
        n = len(block)
        composite = (place * signatures + signature) * speakers + speaker
        if len(blocks) * signatures * speakers < 1 << (63 - _POSITION_BITS):  # sort is five times faster than argsort
            both = np.sort(composite << _POSITION_BITS | np.arange(n))
            self.order = both & ((1 << _POSITION_BITS) - 1)
            composite = both >> _POSITION_BITS
        else:
            self.order = np.argsort(composite, kind="stable")
            composite = composite[self.order]
        opens = np.diff(composite, prepend=-1) != 0
        starts = np.flatnonzero(opens)
        self.group = np.cumsum(opens) - 1
        self.nth = np.arange(n) - starts[self.group]
        pair = composite // speakers
        pair_opens = np.diff(pair, prepend=-1) != 0
        self.pair_starts = np.flatnonzero(pair_opens)
        self.pair = np.cumsum(pair_opens) - 1
        self.group_pair = self.pair[starts]
        self.group_speaker = composite[starts] % speakers
        pair = pair[self.pair_starts]
        self.block = blocks[pair // signatures]  # per pair
        self.signature = pair % signatures
