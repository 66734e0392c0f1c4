"""Sets of numbers as cluster tools write them: ``[0-6,8-15]``."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def ranges_of(numbers: Iterable[int] | NDArray[np.integer]) -> list[tuple[int, int]]:
    """Return the runs of a set of numbers as (first, last), ascending."""
    values = np.unique(np.asarray(list(numbers) if not isinstance(numbers, np.ndarray) else numbers, np.int64))
    if not len(values):
        return []
    cuts = np.flatnonzero(np.diff(values) != 1)
    firsts = values[np.concatenate(([0], cuts + 1))].tolist()
    lasts = values[np.concatenate((cuts, [len(values) - 1]))].tolist()
    return list(zip(firsts, lasts, strict=True))


def nodeset(numbers: Iterable[int] | NDArray[np.integer], most: int = 0) -> str:
    """Write a set of ranks as ``[0-6,8-15]``; one number stands alone, nothing is ``[]``.

    Args:
        most: runs to show before the rest is counted (``[0,2,4,+97]``); 0: all.
    """
    runs = ranges_of(numbers)
    if len(runs) == 1 and runs[0][0] == runs[0][1]:
        return str(runs[0][0])
    shown = runs[:most] if most and len(runs) > most else runs
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in shown]
    left = sum(b - a + 1 for a, b in runs[len(shown) :])
    return f"[{','.join([*parts, f'+{left}'] if left else parts)}]"
