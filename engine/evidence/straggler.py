"""Durations before the collective: longest, again and again, on one rank, while its peers wait for it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.record import Ints

KIND = "straggler"
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=\s?(?:ms|us|s|sec|x|%)?(?![\w.]))")
LABEL = re.compile(r"([A-Za-z_][\w/\-]*)\W*$")
WORK = re.compile(
    r"data|load|fetch|fwd|forward|comput|local|busy|host|read|prep|batch_(?:gen|cost)|input|collate", re.IGNORECASE
)
NOT_TIME = re.compile(r"loss|norm|lr|rate|mem|rss|tok|sample|acc|ppl|scale|step|iter|epoch|rank|eta|id$", re.IGNORECASE)
MOST_ROWS = 200_000
LEAST_RANKS, LEAST_ITERATIONS = 4, 6
LARGE = 2.0  # times the median of the peers in that iteration
USUAL = 0.35  # quantile over the ranks
NOISE = 0.3  # share of slow iterations among the quick ranks above which the number tells nothing
LIKE = 0.6  # of the run's usual excess that makes an iteration part of it
ACTIONS = ("check clocks, temperature and neighbours of that GPU", "drain the node if it persists")
RUN = 5  # points that a run of slow iterations must reach: one for, two against


def judge(case: Case) -> list[Finding]:
    """Accuse a rank whose own work takes much longer than that of its peers, iteration after iteration."""
    best: dict[int, tuple[float, Finding]] = {}
    for rows in _events(case):
        for finding, weight in _of_event(case, rows):
            if finding.rank not in best or weight > best[finding.rank][0]:
                best[finding.rank] = (weight, finding)
    found = [f for _, f in best.values()]
    slow = {f.rank for f in found}
    whole = {r for r in case.ranks if case.node_of(r) in {case.node_of(s) for s in slow}}
    limit = 2 if slow == whole else 3  # a slow node may be half of the job, slow ranks a third
    return found if limit * len(found) <= len(case.ranks) else []


def _events(case: Case) -> list[Ints]:
    """Rows of events that several ranks write in many iterations."""
    j = case.journal
    rows = np.flatnonzero(case.mask & (j.rank >= 0) & (j.iteration >= 0))
    order = rows[np.argsort(j.event[rows], kind="stable")]
    out = []
    for chunk in np.split(order, np.flatnonzero(np.diff(j.event[order])) + 1) if len(order) else []:
        if len(chunk) < LEAST_RANKS * LEAST_ITERATIONS:
            continue
        iterations = np.unique(j.iteration[chunk])
        if len(np.unique(j.rank[chunk])) >= LEAST_RANKS and len(iterations) >= LEAST_ITERATIONS:
            if len(chunk) > MOST_ROWS:
                chunk = chunk[np.isin(j.iteration[chunk], iterations[:: len(chunk) // MOST_ROWS + 1])]
            out.append(chunk.astype(np.int64))
    return out


def _numbers(texts: list[str]) -> tuple[NDArray[np.float64], list[str], NDArray[np.bool_]]:
    """Numbers of each text as a row, the labels in front of them, and which texts have the usual count."""
    found = [NUMBER.findall(t) for t in texts]
    usual = Counter(map(len, found)).most_common(1)[0][0]
    if usual == 0:
        return np.empty((0, 0)), [], np.zeros(len(texts), dtype=np.bool_)
    fits = np.array([len(f) == usual for f in found])
    table = np.array([[float(v) for v in f] for f, ok in zip(found, fits, strict=True) if ok], dtype=np.float64)
    sample = next(t for t, ok in zip(texts, fits, strict=True) if ok)
    labels = []
    for match in NUMBER.finditer(sample):
        label = LABEL.search(sample[: match.start()])
        labels.append(label[1] if label else "")
    return table.reshape(-1, usual), labels, fits


def _of_event(case: Case, rows: Ints) -> list[tuple[Finding, float]]:
    j = case.journal
    table, labels, fits = _numbers(j.read(rows))
    rows = rows[fits]
    out = []
    for slot, label in enumerate(labels):
        if NOT_TIME.search(label) or not WORK.search(label):
            continue
        out += _of_slot(case, rows, table[:, slot], label)
    return out


@dataclass(frozen=True, slots=True)
class Grid:
    """One number by rank and iteration: its value (NaN where unwritten), its row, and what is usual in an iteration."""

    ranks: list[int]
    iterations: Ints
    value: NDArray[np.float64]
    row: Ints
    usual: NDArray[np.float64]
    slow: NDArray[np.bool_]


def _grid(case: Case, rows: Ints, values: NDArray[np.float64]) -> Grid | None:
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
    slow = written & (value > LARGE * usual) & (value > usual + margin)
    return Grid(ranks.tolist(), iterations[usable].astype(np.int64), value, row, usual, slow)


def _of_slot(case: Case, rows: Ints, values: NDArray[np.float64], label: str) -> list[tuple[Finding, float]]:
    """Compare one number of each rank with what is usual among its peers in the same iteration."""
    grid = _grid(case, rows, values)
    if grid is None:
        return []
    written = ~np.isnan(grid.value)
    runs = [_run(grid.slow[at][written[at]]) for at in range(len(grid.ranks))]
    quick = np.array([points < RUN for _, points in runs])
    if quick.all() or grid.slow[quick].sum() > NOISE * max(1, written[quick].sum()):
        return []
    return [_finding(grid, at, start, points, label) for at, (start, points) in enumerate(runs) if points >= RUN]


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
