"""Finite values that leave those of the peers and stay away: a loss, a norm or memory of one rank alone."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.figures import Figures
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.record import Ints

KIND = "value"
LABEL = re.compile(r"loss|norm|mem|rss|alloc|reserved|queue|backlog|overflow", re.IGNORECASE)
NUMERIC = re.compile(r"loss|norm|overflow", re.IGNORECASE)
LEAST_RANKS = 4
MOST_ROWS = 100_000  # of one kind of line: the last iterations count
CALM, AWAY = 5, 5  # values like the peers' first, and values far from them to the end
FAR = 8.0  # robust deviations of the peers
LEAST_SCALE, LEAST_STEP = 0.02, 0.5  # of the usual value: smallest deviation, and how far off a value must be
FEW = 1 / 3


def judge(case: Case) -> list[Finding]:
    """Accuse the few ranks whose value went away from that of all others, for good, before the job ended badly."""
    if case.completed or len(case.ranks) < LEAST_RANKS:
        return []
    j = case.journal
    figures = Figures(j)
    rows = np.flatnonzero(case.mask & (j.rank >= 0) & (j.iteration >= 0))
    order = rows[np.argsort(j.event[rows], kind="stable")]
    best: dict[int, Finding] = {}
    for chunk in np.split(order, np.flatnonzero(np.diff(j.event[order])) + 1) if len(order) else []:
        if len(chunk) >= LEAST_RANKS * (CALM + AWAY):
            for found in _of_event(case, chunk.astype(np.int64), figures):
                best.setdefault(found.rank, found)
    return list(best.values()) if len(best) <= FEW * len(case.ranks) else []


def _of_event(case: Case, rows: Ints, figures: Figures) -> list[Finding]:
    shape, shapes = figures.shapes_of(rows)
    usual = Counter({one: int((shape == one).sum()) for one in shapes}).most_common(1)[0][0]
    labels = figures.labels(usual)
    slots = [at for at, label in enumerate(labels) if LABEL.search(label)]
    if not slots:
        return []
    alike = [one for one in shapes if figures.labels(one) == labels]
    rows = rows[np.isin(shape, alike)]
    if len(rows) > MOST_ROWS:
        rows = np.sort(rows)[-MOST_ROWS:]
    table = figures.columns(rows, slots)
    return [f for at, slot in enumerate(slots) for f in _of_slot(case, rows, table[:, at], labels[slot])]


def _of_slot(case: Case, rows: Ints, values: NDArray[np.float64], label: str) -> list[Finding]:
    j = case.journal
    ranks, at_rank = np.unique(j.rank[rows], return_inverse=True)
    iterations, at_iteration = np.unique(j.iteration[rows], return_inverse=True)
    if len(ranks) < LEAST_RANKS or len(iterations) < CALM + AWAY:
        return []
    value = np.full((len(ranks), len(iterations)), np.nan)
    value[at_rank, at_iteration] = values
    row = np.full(value.shape, -1, dtype=np.int64)
    row[at_rank, at_iteration] = rows
    told = ~np.isnan(value)
    kept = told.sum(axis=0) >= LEAST_RANKS
    value, row, told, iterations = value[:, kept], row[:, kept], told[:, kept], iterations[kept]
    if len(iterations) < CALM + AWAY:
        return []
    middle = np.nanmedian(value, axis=0)
    off = np.abs(value - middle)
    scale = np.maximum(1.4826 * np.nanmedian(off, axis=0), LEAST_SCALE * np.abs(middle))
    far = told & (off > FAR * scale) & (off > LEAST_STEP * np.abs(middle)) & (off > 0)
    out = []
    for at in np.flatnonzero(far[:, -AWAY:].any(axis=1)).tolist():
        here = np.flatnonzero(told[at])
        calm = np.flatnonzero(~far[at, here])
        start = int(calm[-1]) + 1 if len(calm) else 0
        if len(here) - start >= AWAY and start >= CALM:
            away = here[start:]
            out.append(
                _finding(int(ranks[at]), label, value[at, away], middle[away], row[at, away], int(iterations[away[0]]))
            )
    return out


def _finding(
    rank: int, label: str, own: NDArray[np.float64], usual: NDArray[np.float64], rows: Ints, onset: int
) -> Finding:
    words = f"{label} is {np.median(own):.4g} where its peers have {np.median(usual):.4g}, from iteration {onset} on"
    return Finding(
        KIND,
        Strength.STRONG,
        f"{word_ranks([rank])}: {words}",
        rank,
        None,
        tuple(int(r) for r in rows),
        True,
        onset,
        "train",
        "numerics" if NUMERIC.search(label) else "unknown",
        ("compare data, settings and memory of that rank with its peers",),
    )
