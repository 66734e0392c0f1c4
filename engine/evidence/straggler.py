"""Durations before the collective: longest, again and again, on one rank, while its peers wait for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.figures import Figures
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.record import Ints
from l4tui.engine.smallids import present, stable_order

KIND = "straggler"
WORK = re.compile(
    r"data|load|fetch|feed|ingest|decod|augment|fwd|forward|comput|local|busy|host|read|prep|"
    r"batch_(?:gen|cost)|input|collate",
    re.IGNORECASE,
)
NOT_TIME = re.compile(r"loss|norm|lr|rate|mem|rss|tok|sample|acc|ppl|scale|step|iter|epoch|rank|eta|id$", re.IGNORECASE)
MOST_ROWS = 200_000
LEAST_RANKS, LEAST_ITERATIONS = 4, 6
LARGE = 2.0  # times the median of the peers in that iteration
LASTING, LONG, BEFORE = 1.3, 15, 5  # times the median for so many iterations, after so many that were like the peers'
USUAL = 0.35  # quantile over the ranks
NOISE = 0.3  # share of slow iterations among the quick ranks above which the number tells nothing
LIKE = 0.6  # of the run's usual excess that makes an iteration part of it
ACTIONS = ("check clocks, temperature and neighbours of that GPU", "drain the node if it persists")
RUN = 5  # points that a run of slow iterations must reach: one for, two against


def judge(case: Case) -> list[Finding]:
    """Accuse a rank whose own work takes much longer than that of its peers, iteration after iteration."""
    best: dict[int, tuple[float, Finding]] = {}
    figures = Figures(case.journal)
    for rows in _events(case, figures):
        for finding, weight in _of_event(case, rows, figures):
            if finding.rank not in best or weight > best[finding.rank][0]:
                best[finding.rank] = (weight, finding)
    found = [f for _, f in best.values()]
    slow = {f.rank for f in found}
    whole = {r for r in case.ranks if case.node_of(r) in {case.node_of(s) for s in slow}}
    limit = 2 if slow == whole else 3  # a slow node may be half of the job, slow ranks a third
    return found if limit * len(found) <= len(case.ranks) else []


def _events(case: Case, figures: Figures) -> list[Ints]:
    """Rows of events with a duration in them that several ranks write in many iterations."""
    j = case.journal
    rows = np.flatnonzero(case.mask & (j.rank >= 0) & (j.iteration >= 0))
    order = rows[stable_order(j.event[rows])]
    out = []
    for chunk in np.split(order, np.flatnonzero(np.diff(j.event[order])) + 1) if len(order) else []:
        if len(chunk) < LEAST_RANKS * LEAST_ITERATIONS or not _durations(_usual(chunk, figures)[1]):
            continue
        iterations = present(j.iteration[chunk])
        if len(present(j.rank[chunk])) >= LEAST_RANKS and len(iterations) >= LEAST_ITERATIONS:
            if len(chunk) > MOST_ROWS:
                chunk = chunk[np.isin(j.iteration[chunk], iterations[:: len(chunk) // MOST_ROWS + 1])]
            out.append(chunk.astype(np.int64))
    return out


def _usual(rows: Ints, figures: Figures) -> tuple[Ints, tuple[str, ...]]:
    """Return the rows with the usual count of numbers, and the words in front of them."""
    shape, shapes = figures.shapes_of(rows)
    lines, of_shape = Counter[int](), np.bincount(shape)
    for one in shapes:
        lines[len(figures.labels(one))] += int(of_shape[one])
    count = lines.most_common(1)[0][0]
    alike = [one for one in shapes if len(figures.labels(one)) == count]
    return rows if len(alike) == len(shapes) else rows[np.isin(shape, alike)], figures.labels(alike[0])


def _durations(labels: Sequence[str]) -> list[int]:
    """Return which of the numbers tell how long a rank was at its own work."""
    return [at for at, label in enumerate(labels) if WORK.search(label) and not NOT_TIME.search(label)]


def _of_event(case: Case, rows: Ints, figures: Figures) -> list[tuple[Finding, float]]:
    rows, labels = _usual(rows, figures)
    slots = _durations(labels)
    table = figures.columns(rows, slots)
    fits = ~np.isnan(table).any(axis=1)
    rows, table = rows[fits], table[fits]
    return [found for at, slot in enumerate(slots) for found in _of_slot(case, rows, table[:, at], labels[slot])]


@dataclass(frozen=True, slots=True)
class Grid:
    """One number by rank and iteration: its value (NaN where unwritten), its row, and what is usual in an iteration."""

    ranks: list[int]
    iterations: Ints
    value: NDArray[np.float64]
    row: Ints
    usual: NDArray[np.float64]
    slow: NDArray[np.bool_]


def _grid(case: Case, rows: Ints, values: NDArray[np.float64], large: float) -> Grid | None:
    """Lay a number out; the lower third of the ranks tells what is usual, so that half of them may be slow."""
    j = case.journal
    ranks, at_rank = np.unique(j.rank[rows], return_inverse=True)
    iterations, at_iteration = np.unique(j.iteration[rows], return_inverse=True)
    value = np.full((len(ranks), len(iterations)), np.nan)
    value[at_rank, at_iteration] = values
    row = np.full(value.shape, -1, dtype=np.int64)
    row[at_rank, at_iteration] = rows
    written = ~np.isnan(value)
    usable = written.sum(axis=0) >= LEAST_RANKS - 1
    if usable.sum() < LEAST_ITERATIONS:
        return None
    value, row, written = value[:, usable], row[:, usable], written[:, usable]
    usual = np.nanquantile(value, USUAL, axis=0)
    spread = np.nanquantile(np.abs(value - usual), USUAL, axis=0)
    margin = 12 * np.maximum(spread, 0.02 * np.abs(usual))
    slow = written & (value > large * usual) & (value > usual + margin)
    return Grid(ranks.tolist(), iterations[usable].astype(np.int64), value, row, usual, slow)


def _of_slot(case: Case, rows: Ints, values: NDArray[np.float64], label: str) -> list[tuple[Finding, float]]:
    """Compare one number of each rank with what is usual among its peers: much more, or somewhat more for long."""
    for large, enough, before in ((LARGE, RUN, 0), (LASTING, LONG, BEFORE)):
        grid = _grid(case, rows, values, large)
        if grid is None:
            return []
        written = ~np.isnan(grid.value)
        runs = [_run(grid.slow[at][written[at]]) for at in range(len(grid.ranks))]
        slow = np.array([points >= enough and start >= before for start, points in runs])
        quick = ~slow if before else np.array([points < RUN for _, points in runs])
        if slow.any() and grid.slow[quick].sum() <= NOISE * max(1, written[quick].sum()):
            return [_finding(grid, at, *runs[at], label) for at in np.flatnonzero(slow).tolist()]
    return []


def _finding(grid: Grid, at: int, start: int, points: float, label: str) -> tuple[Finding, float]:
    """Word one rank's run; its weight is by how much and for how long the rank is slow."""
    here = np.flatnonzero(~np.isnan(grid.value[at]))
    over = (grid.value[at] - grid.usual)[here]
    extra, usual = float(np.median(over[start:])), float(np.median(grid.usual[here][start:]))
    while start > 0 and over[start - 1] >= LIKE * extra:
        start -= 1
    onset = int(grid.iterations[here[start]])
    rows = [int(r) for r, o in zip(grid.row[at][here][start:], over[start:], strict=True) if o >= LIKE * extra]
    rank = grid.ranks[at]
    sentence = (
        f"{word_ranks([rank])}: {label} takes {extra + usual:.3g} where its peers need {usual:.3g},"
        f" from iteration {onset} on"
    )
    found = Finding(
        KIND, Strength.STRONG, sentence, rank, None, tuple(rows), True, onset, "train", "straggler", ACTIONS
    )
    return found, points * max(extra, 0.0)


def _run(slow: NDArray[np.bool_]) -> tuple[int, float]:
    """Find the run with the most points, one for a slow iteration, two against for another; return start and points."""
    best = (0, 0.0)
    start, points = 0, 0.0
    for at, is_slow in enumerate(slow.tolist()):
        points += 1.0 if is_slow else -2.0
        if points <= 0:
            start, points = at + 1, 0.0
        elif points > best[1]:
            best = (start, points)
    return best
