"""Spatial comparison: ranks and nodes that write other events than their peers, and which events those are.

Counts are compared as 2·sqrt(n + 3/8): where counts scatter by chance (Poisson) that has a spread of 1 at any height,
and it grows slowly, so that a flood does not drown the rest. Events with the same counts for all units (the lines of
one traceback, of one banner) share a column.

- From `LEAST_FOREST` units on the degree is the Isolation Forest's anomaly score (Liu, Ting, Zhou 2008; 0.5 is
  average). It sees the `COLUMNS` in which somebody stands out most (`OUTSTANDING`) or few differ from the rest (`FEW`),
  each as often as its square of z is high: a forest that draws its splits from thousands of columns of chance never
  meets the ten that matter. Without any column all degrees are 0.
- With fewer, trees of a handful of leaves tell nothing: the degree is e / (e + K), e being by how much the sum over
  events of the squared robust z (median, MAD with a floor of 1: Poisson) exceeds the median of the units.
- With fewer than `LEAST_UNITS` there is no majority, and every degree is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from l4tui.engine.evidence.record import Ints
from l4tui.engine.l4.counts import Counts, Floats, Unit

LEAST_UNITS = 3
LEAST_FOREST = 16
TREES = 100  # the published default
SAMPLES = 4096  # per tree; not the published 256, for an event of one unit alone splits only trees that drew that unit
MOST = 8  # units that are flagged, as in the paper
THRESHOLD = 0.5  # of a forest's score: 0.5 is average
LEAST = 0.03  # of the degree by excess: one line too many or too few gives 0.07, with others that vary less
SIGMA = 4.0  # a forest's score must also stand this far above its peers' (median, MAD)
MAD = 1.4826  # makes a median absolute deviation a standard deviation
HIGHEST_Z = 8.0
OUTSTANDING = 4.0  # z, times the root of the number of events that a column stands for
FEW = 0.125  # share of the units that differ from the median
COLUMNS = 32
COPIES = 64  # of one column
K = 16.0  # excess that gives half a degree: one event at z = 4, or some thirteen single lines
CAUSES = 12  # events named per unit
LEAST_SHARE = 0.02  # of the anomaly that a named event must carry

Shares = Callable[[int], Floats]  # of a unit's anomaly, by column


class Cause(NamedTuple):
    """One event of a flagged unit: its share of the anomaly, its lines and what is usual among the peers."""

    event: int
    share: float
    lines: int
    usual: float


class Anomaly(NamedTuple):
    """A flagged unit with what made it anomalous, heaviest first."""

    unit: Unit
    degree: float
    z: float  # how far its degree stands above the peers' (median, MAD)
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class Spatial:
    """Degrees 0..1 of all units, and the flagged ones, most anomalous first."""

    degrees: dict[Unit, float]
    flagged: tuple[Anomaly, ...]

    def places(self) -> dict[Unit, tuple[int, float]]:
        """Return each unit's place (1 is the most anomalous) and degree."""
        ordered = sorted(self.degrees, key=lambda unit: -self.degrees[unit])  # stable: equals stay in unit order
        return {unit: (at, self.degrees[unit]) for at, unit in enumerate(ordered, 1)}


def compare(counts: Counts, *, random_state: int = 0) -> Spatial:
    """Return how anomalous each unit is among its peers."""
    units = counts.units
    if len(units) < LEAST_UNITS or not len(counts.events):
        return Spatial(dict.fromkeys(units, 0.0), ())
    distinct, column = np.unique(counts.table, axis=1, return_inverse=True)
    values = 2.0 * np.sqrt(distinct + 0.375)
    z = robust_z(values)  # 0.4 s for 1,024 × 5,000
    is_few = len(units) < LEAST_FOREST
    events = np.bincount(column.ravel())
    degrees, shares = _by_excess(z, events) if is_few else _by_forest(values, z, events, random_state)
    heights = (degrees - np.median(degrees)) / max(_spread(degrees), 1e-3)
    above = degrees > LEAST if is_few else (degrees > THRESHOLD) & (heights > SIGMA)
    over = [u for u in np.argsort(-degrees, kind="stable").tolist() if above[u]]
    flagged = [
        Anomaly(units[u], float(degrees[u]), float(heights[u]), _causes(counts, column.ravel(), u, shares(u)))
        for u in over[:MOST]
    ]
    return Spatial(dict(zip(units, degrees.tolist(), strict=True)), tuple(flagged))


def robust_z(values: Floats) -> Floats:
    """Return signed distances from the column's median in robust standard deviations of at least 1."""
    away = values - np.median(values, axis=0)
    return away / np.maximum(MAD * np.median(np.abs(away), axis=0), 1.0)


def _spread(values: Floats) -> float:
    return float(MAD * np.median(np.abs(values - np.median(values))))


def _by_excess(z: Floats, events: Ints) -> tuple[Floats, Shares]:
    squares = np.minimum(z * z, HIGHEST_Z**2) * events
    total = squares.sum(axis=1)
    excess = np.maximum(total - np.median(total), 0.0)
    return excess / (excess + K), lambda unit: squares[unit] / max(float(total[unit]), 1e-9)


def _by_forest(values: Floats, z: Floats, events: Ints, random_state: int) -> tuple[Floats, Shares]:
    from sklearn.ensemble import IsolationForest  # 1.3 s of CPU

    differ = z != 0
    height = np.abs(z).max(axis=0) * np.sqrt(events)
    order = np.argsort(-height, kind="stable")
    order = order[(height[order] >= OUTSTANDING) | (differ.mean(axis=0)[order] <= FEW)]
    kept = order[:COLUMNS]
    if not len(kept):
        return np.zeros(len(z)), lambda unit: np.zeros(z.shape[1])
    kept = np.repeat(kept, np.clip(height[kept] ** 2 / OUTSTANDING, 1, COPIES).astype(np.int64))
    table = np.ascontiguousarray(values[:, kept], dtype=np.float32)
    samples = min(SAMPLES, len(table))
    forest = IsolationForest(n_estimators=TREES, max_samples=samples, random_state=random_state).fit(table)

    def shares(unit: int) -> Floats:
        """Credit each split on the unit's paths with the bits by which it set the unit apart."""
        credit = np.zeros(z.shape[1])
        for tree in (estimator.tree_ for estimator in forest.estimators_):
            path = np.sort(tree.decision_path(table[unit : unit + 1]).indices)  # numbered from the root down
            bits = np.log2(tree.n_node_samples[path[:-1]] / tree.n_node_samples[path[1:]])
            np.add.at(credit, kept[tree.feature[path[:-1]]], bits)
        credit *= differ[unit]  # a split that an event at its median passed tells of others
        return credit / max(float(credit.sum()), 1e-9)

    return -np.asarray(forest.score_samples(table), dtype=np.float64), shares


def _causes(counts: Counts, column: Ints, unit: int, shares: Floats) -> tuple[Cause, ...]:
    """Name the events of the columns that carry the anomaly; all events of one column."""
    heavy = np.argsort(-shares, kind="stable")[:CAUSES]
    out = []
    for c in heavy[shares[heavy] >= LEAST_SHARE].tolist():
        for at in np.flatnonzero(column == c).tolist():
            usual = float(np.median(counts.table[:, at]))
            if counts.table[unit, at] != usual:
                out.append(Cause(int(counts.events[at]), float(shares[c]), int(counts.table[unit, at]), usual))
    return tuple(out)
