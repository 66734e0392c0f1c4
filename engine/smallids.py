"""Columns of small ids (ranks, speakers, shapes, events): sorted and looked up by counting instead of comparing.

Ids are at least −1, which stands for unknown. Ids too large to be counted by are compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MOST = 1 << 24  # cells of a table that is counted in
_RADIX = np.iinfo(np.uint16).max  # numpy sorts 16-bit numbers by radix: ten times as fast as longer ones


def stable_order(ids: Ints) -> Ints:
    """Return the stable order of ids."""
    if int(ids.max(initial=-1)) < _RADIX:
        ids = (ids + 1).astype(np.uint16)
    return np.argsort(ids, kind="stable")


def present(ids: Ints) -> Ints:
    """Return the known ids that occur, ascending."""
    if int(ids.max(initial=-1)) >= MOST:
        found: Ints = np.unique(ids)
        return found[found >= 0]
    return np.flatnonzero(np.bincount(ids + 1)[1:]) if len(ids) else np.empty(0, np.int64)


def firsts(ids: Ints) -> tuple[Ints, Ints]:
    """Return the known ids that occur, ascending, and the first row of each."""
    top = int(ids.max(initial=-1))
    if top >= MOST:
        found, rows = np.unique(ids, return_index=True)
        return found[found >= 0], rows[found >= 0]
    first = np.full(top + 2, -1, np.int64)
    first[ids[::-1] + 1] = np.arange(len(ids) - 1, -1, -1)  # of equal ids the last one written stays
    known = np.flatnonzero(first[1:] >= 0)
    return known, first[1:][known]


def nth(keys: Ints) -> Ints:
    """Return for each row how many rows before it have the same key."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    out = np.empty(len(keys), np.int64)
    out[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.r_[starts, len(keys)]))
    return out


def partners(one: Ints, other: Ints) -> Ints:
    """Return for each known id of `one` in how many known ids of `other` it is met."""
    ones, others = int(one.max(initial=-1)) + 1, int(other.max(initial=-1)) + 1
    key = one.astype(np.int64) * others + other
    if ones * others <= MOST:
        seen = np.zeros(ones * others, np.bool_)
        seen[key] = True
        met: Ints = np.count_nonzero(seen.reshape(ones, others), axis=1)
        return met
    return np.bincount(np.unique(key) // others, minlength=ones)


def met(one: Ints, other: Ints) -> Ints:
    """Return for each row how many rows have the same two ids."""
    others = int(other.max(initial=-1)) + 2
    key = (one.astype(np.int64) + 1) * others + other + 1
    if int(key.max(initial=0)) < MOST:
        return np.bincount(key)[key] if len(key) else key
    _, at, counts = np.unique(key, return_inverse=True, return_counts=True)
    rows: Ints = counts[at]
    return rows
