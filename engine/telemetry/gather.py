"""Read many numbers at once out of the bytes of a block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

WIDEST = 32  # bytes of a number
_CLASSES = (4, 8, 12, 20, WIDEST)  # numbers are read in groups of about the same width
_PLAIN = 12  # bytes up to which numbers are read digit by digit
_PLUS, _COMMA, _MINUS, _POINT = 43, 44, 45, 46
_POWERS = 10.0 ** np.arange(_PLAIN + 1)


def gather(raw: Bytes, start: Ints, width: Ints, widest: int) -> NDArray[np.bytes_]:
    """Cut byte strings out of a block; bytes behind their width are zero."""
    at = start[:, None] + np.arange(widest)
    cut = raw[np.minimum(at, len(raw) - 1)]
    cut[np.arange(widest) >= width[:, None]] = 0
    return np.ascontiguousarray(cut).view(f"S{widest}").ravel()


def numbers(raw: Bytes, start: Ints, width: Ints) -> Floats:
    """Read decimal numbers, thousands separated by commas, nan and inf; NaN where there is none.

    start, width: per number, within the block, width ≤ 32.
    """
    out = np.full(len(start), np.nan)
    low = 0
    for widest in _CLASSES:
        rows = np.flatnonzero((width > low) & (width <= widest))
        low = widest
        if len(rows):
            out[rows] = _read(gather(raw, start[rows], width[rows], widest))
    return out


def _read(texts: NDArray[np.bytes_]) -> Floats:
    matrix = texts.view(np.uint8).reshape(len(texts), -1)
    if matrix.shape[1] <= _PLAIN:
        value, is_plain = _plain(np.ascontiguousarray(matrix.T))
        if is_plain.all():
            return value
        rest = np.flatnonzero(~is_plain)
        value[rest] = _converted(texts[rest])
        return value
    return _converted(texts)


def _plain(columns: Bytes) -> tuple[Floats, NDArray[np.bool_]]:
    """Read digits with a point and a sign: 50 ns each; also say which are nothing more than that.

    Both the digits as one number and the power of ten are exact as floats, so their quotient is the nearest float.
    """
    whole = np.zeros(columns.shape[1], np.int64)
    digits, behind = np.zeros_like(whole, np.int8), np.zeros_like(whole, np.int8)
    point = np.zeros(columns.shape[1], np.bool_)
    fine = np.ones(columns.shape[1], np.bool_)
    for k, column in enumerate(columns):
        digit = column - np.uint8(48)  # what is no digit wraps to ten or more
        is_digit = digit < 10
        whole = np.where(is_digit, whole * 10 + digit, whole)
        digits += is_digit
        behind += is_digit & point
        is_point = column == _POINT
        fine &= is_digit | (is_point & ~point) | (column == 0)
        if k == 0:
            fine |= (column == _MINUS) | (column == _PLUS)
        point |= is_point
    value = whole / _POWERS[behind]
    return np.where(columns[0] == _MINUS, -value, value), fine & (digits > 0)


def _converted(texts: NDArray[np.bytes_]) -> Floats:
    if (texts.view(np.uint8) == _COMMA).any():
        texts = np.char.replace(texts, b",", b"")
    try:
        return texts.astype(np.float64)  # 190 ns each
    except ValueError:  # text that imitates a key: one by one
        return np.array([_one(text) for text in texts.tolist()])


def _one(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
