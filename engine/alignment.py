"""Sequence alignment: the same events of two sequences side by side, gaps where one said nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST_BAND = 256  # cells beside the diagonal that are looked at
MOST = 8192  # events of a sequence that are aligned; what follows is set below each other

Ints = NDArray[np.int64]

_DIAGONAL, _UP, _LEFT = 0, 1, 2
_MATCH, _GAP = 2, -1


def align(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Align two sequences of ids; return positions in each, −1 where there is a gap, of equal length.

    Needleman and Wunsch with gaps of equal cost and no substitutions, in a band around the diagonal; equal beginnings
    and ends cost nothing. Source: J. Mol. Biol. 48 (1970) 443.
    """
    head = _alike(a, b)
    tail = _alike(a[head:][::-1], b[head:][::-1])
    mid_a, mid_b = a[head : len(a) - tail], b[head : len(b) - tail]
    left, right = _middle(mid_a[:MOST], mid_b[:MOST])
    rest_a, rest_b = max(len(mid_a) - MOST, 0), max(len(mid_b) - MOST, 0)
    out_a = [np.arange(head), _moved(left, head), head + MOST + np.arange(rest_a), np.full(rest_b, -1)]
    out_b = [np.arange(head), _moved(right, head), np.full(rest_a, -1), head + MOST + np.arange(rest_b)]
    out_a.append(np.arange(len(a) - tail, len(a)))
    out_b.append(np.arange(len(b) - tail, len(b)))
    return np.concatenate(out_a), np.concatenate(out_b)


def _alike(a: Ints, b: Ints) -> int:
    n = min(len(a), len(b))
    differs = np.flatnonzero(a[:n] != b[:n])
    return int(differs[0]) if len(differs) else n


def _moved(positions: Ints, by: int) -> Ints:
    return np.where(positions >= 0, positions + by, -1)


def _middle(a: Ints, b: Ints) -> tuple[Ints, Ints]:
    if not len(a) or not len(b):
        return (
            np.concatenate((np.arange(len(a)), np.full(len(b), -1))),
            np.concatenate((np.full(len(a), -1), np.arange(len(b)))),
        )
    return _trace(*_scores(a, b), len(a), len(b))


def _scores(a: Ints, b: Ints) -> tuple[NDArray[np.uint8], Ints]:
    """Return the direction of every cell in the band (rows of a × cells) and the column each row's band begins at."""
    n, m = len(a), len(b)
    band = min(max(LEAST_BAND, 2 * abs(n - m)), m)
    width = min(m, 2 * band) + 1
    starts = np.clip(np.arange(n + 1) * m // n - band, 0, max(m + 1 - width, 0))
    ways = np.empty((n + 1, width), np.uint8)
    ways[0] = _LEFT
    low = -(1 << 40)
    last = np.where(np.arange(width) + starts[0] <= m, _GAP * (np.arange(width) + starts[0]), low)
    slope = _GAP * np.arange(width)
    for i in range(1, n + 1):
        shift = int(starts[i] - starts[i - 1])
        above = np.full(width + 1, low, np.int64)  # one cell to the left, for the diagonal
        part = last[max(shift - 1, 0) :]
        above[1 - min(shift, 1) : 1 - min(shift, 1) + len(part)] = part
        columns = starts[i] + np.arange(width)
        same = np.zeros(width, np.bool_)
        inside = columns >= 1
        same[inside] = b[columns[inside] - 1] == a[i - 1]
        diagonal = np.where(same, above[:-1] + _MATCH, low)
        up = above[1:] + _GAP
        best = np.maximum(diagonal, up)
        row = np.maximum.accumulate(best - slope) + slope  # gaps from the left, all at once
        ways[i] = np.where(row > best, _LEFT, np.where(diagonal >= up, _DIAGONAL, _UP))
        last = row
    return ways, starts


def _trace(ways: NDArray[np.uint8], starts: Ints, n: int, m: int) -> tuple[Ints, Ints]:
    i, j = n, m
    left, right = [], []
    while i > 0 or j > 0:
        way = ways[i, j - starts[i]] if i > 0 else _LEFT
        if j == 0:
            way = _UP
        i, j = i - (way != _LEFT), j - (way != _UP)
        left.append(i if way != _LEFT else -1)
        right.append(j if way != _UP else -1)
    return np.array(left[::-1], np.int64), np.array(right[::-1], np.int64)
