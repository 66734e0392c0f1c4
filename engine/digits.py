"""Numbers of many lines at once: what stands at known offsets of a block, without a loop over lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

WIDEST = 18  # digits that surely fit an int64
ZEROS = np.array([48 * (10**n - 1) // 9 for n in range(WIDEST + 1)], np.int64)  # what so many "0" add up to as bytes
_WORD = 8
_FEW = 3  # digits up to which a gather of each is faster than a gather of words …
_MANY = 2000  # … of so many numbers
_SHIFT = np.array([8 * (_WORD - n) for n in range(_WORD + 1)], np.uint64)


def windows(raw: Bytes, at: Ints, size: int) -> Bytes:
    """Return `size` bytes from each offset on, a row each; behind the end there are zeros."""
    room = len(raw) - size
    if room < 0:
        raw, room = np.concatenate((raw, np.zeros(-room, np.uint8))), 0
    # one gather of rows as they stand takes 4 ns each; a column at a time it would be 1.3 ns a byte
    rows = np.ndarray((room + 1,), f"V{size}", raw, strides=(1,))
    if at.max(initial=0) <= room:
        return rows[at].view(np.uint8).reshape(len(at), size)
    late = np.flatnonzero(at > room)
    out = rows[np.minimum(at, room)].view(np.uint8).reshape(len(at), size)
    end = np.concatenate((raw[room:], np.zeros(size, np.uint8)))
    for row, begin in zip(late.tolist(), (at[late] - room).tolist(), strict=True):
        out[row] = end[min(begin, size) :][:size]
    return out


def number(window: Bytes, at: int, width: int) -> Ints:
    """Return the number of `width` digits at column `at` of each row."""
    value: Ints = window[:, at].astype(np.int32 if width <= _WORD else np.int64)
    for column in range(at + 1, at + width):
        value *= 10
        value += window[:, column]
    return value - ZEROS[width]


def numbers(raw: Bytes, at: Ints, width: Ints, surely: int, widest: int) -> Ints:
    """Return the number of `width` digits at each offset, 0 where there are none.

    Args:
        surely, widest: the smallest and the largest width.
    """
    few = 1 if len(at) < _MANY else _FEW if surely < widest else 2 * _FEW
    if few < widest <= _WORD:
        return _words(windows(raw, at, _WORD).view("<u8").reshape(len(at)), width)
    value: Ints = np.zeros(len(at), np.int32 if widest <= _WORD else np.int64)
    for j in range(widest):  # as if "0" were worth 48; taken off below
        digit = raw[j:].take(at, mode="clip")
        if j < surely:
            value *= 10
            value += digit
        else:
            value = np.where(j < width, value * 10 + digit, value)
    return value - (ZEROS[widest] if surely == widest else ZEROS.take(width))


def _words(word: NDArray[np.uint64], width: Ints) -> Ints:
    """Return the numbers of up to eight digits that stand first in words of eight bytes, first byte lowest.

    Pairs of digits, then pairs of pairs are added up in all lanes of a word at once.
    """
    word <<= _SHIFT.take(width)
    for mask, factor, bits in _SUMS:
        word &= mask
        word *= factor
        word >>= bits
    return word.view(np.int64)


_SUMS = tuple(
    (np.uint64(mask), np.uint64(tens << bits | 1), np.uint64(bits))
    for mask, tens, bits in (
        (0x0F0F0F0F0F0F0F0F, 10, 8), (0x00FF00FF00FF00FF, 100, 16), (0x0000FFFF0000FFFF, 10_000, 32),
    )
)  # fmt: skip
