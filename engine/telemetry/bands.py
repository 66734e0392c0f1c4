"""Many ranks' samples of one series as a band: middle, lowest, highest, and the ranks that lie outside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_NAMED = 3  # ranks outside
FAR = 8.0  # robust standard deviations from the middle
LEAST_RANKS = 4  # fewer have no middle that one of them can be far from
LEAST_SPREAD = 0.005  # of the middle's height: what varies less is not far from anything
MAD = 1.4826


class Line(NamedTuple):
    """One drawn line; NaN where there is nothing."""

    label: str
    x: Floats
    y: Floats


class Band(NamedTuple):
    """Ranks of one series over columns of a chart."""

    x: Floats
    middle: Floats
    low: Floats
    high: Floats
    ranks: int
    outside: tuple[tuple[int, Line], ...]  # the farthest first


def columns_of(x: Floats, low: float, high: float, most: int) -> tuple[Ints, Floats]:
    """Return the column of each sample and where the columns lie: one a distinct x where these are few enough."""
    distinct = np.unique(x)
    if len(distinct) <= most:
        return np.searchsorted(distinct, x).astype(np.int64), distinct
    width = (high - low) / most or 1.0
    places: Floats = low + (np.arange(most, dtype=np.float64) + 0.5) * width
    return np.clip((x - low) / width, 0, most - 1).astype(np.int64), places


def means(unit: Ints, units: int, column: Ints, columns: int, y: Floats) -> Floats:
    """Return the mean of each unit's finite samples in each column; NaN where there are none."""
    finite = np.isfinite(y)
    cell = unit[finite] * columns + column[finite]
    count = np.bincount(cell, minlength=units * columns)
    total = np.bincount(cell, weights=y[finite], minlength=units * columns)
    return np.where(count, total / np.maximum(count, 1), np.nan).reshape(units, columns)


def smoothed(table: Floats, window: int) -> Floats:
    """Return means over the last `window` columns, gaps left out."""
    if window <= 1:
        return table
    known = ~np.isnan(table)
    total = np.cumsum(np.where(known, table, 0.0), axis=-1)
    count = np.cumsum(known, axis=-1)
    total[..., window:] = total[..., window:] - total[..., :-window]
    count[..., window:] = count[..., window:] - count[..., :-window]
    return np.where(known, total / np.maximum(count, 1), np.nan)


def band_of(rank: Ints, x: Floats, y: Floats, low: float, high: float, most: int, window: int = 1) -> Band:
    """Bring samples to at most `most` columns and compare the ranks in each."""
    ranks, unit = np.unique(rank, return_inverse=True)
    column, at = columns_of(x, low, high, most)
    table = smoothed(means(unit.astype(np.int64), len(ranks), column, len(at), y), window)
    filled = ~np.isnan(table).all(axis=0)
    table, at = table[:, filled], at[filled]
    if not table.size:
        return Band(at, at, at, at, len(ranks), ())
    middle = np.nanmedian(table, axis=0)
    outside = _outside(ranks, table, middle, at) if len(ranks) >= LEAST_RANKS else ()
    return Band(at, middle, np.nanmin(table, axis=0), np.nanmax(table, axis=0), len(ranks), outside)


def _outside(ranks: Ints, table: Floats, middle: Floats, at: Floats) -> tuple[tuple[int, Line], ...]:
    away = np.abs(table - middle)
    height = float(np.nanmedian(np.abs(middle)))
    spread = np.maximum(MAD * np.nanmedian(away, axis=0), max(LEAST_SPREAD * height, 1e-12))
    farthest = np.nanmax(np.where(np.isnan(away), 0.0, away) / spread, axis=1)
    order = np.argsort(-farthest, kind="stable")[:MOST_NAMED]
    return tuple(
        (int(ranks[i]), Line(f"rank {int(ranks[i])}", at, table[i])) for i in order.tolist() if farthest[i] >= FAR
    )
