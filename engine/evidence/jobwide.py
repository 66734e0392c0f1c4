"""What befell the whole job: the same error on most ranks, a time limit, values that jump everywhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.case import Case, excerpt, first_rows
from l4tui.engine.evidence.deaths import deaths
from l4tui.engine.evidence.figures import Figures
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.finite import spots
from l4tui.engine.evidence.followers import followers
from l4tui.engine.evidence.hint import named_first
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting
from l4tui.engine.smallids import present

WINDOW = 10  # iterations before a jump that tell what is usual
JUMP = 1.5  # times the usual value
MOST_ROWS = 100_000  # lines of one kind that are read for their loss
SPREAD = 30.0  # times the usual step from one iteration to the next


def judge(case: Case) -> list[Finding]:
    """Return findings without a target: they accuse nobody."""
    return [*_stopped(case), *_nowhere(case), *_common_error(case), *_not_finite(case), *_spike(case)]


def _stopped(case: Case) -> list[Finding]:
    told = [s for s in case.roles(Role.INITIATING) if s.pattern.blames is Blames.JOB]
    if case.completed or not told:
        return []
    p = told[0].pattern
    return [_finding("explicit_blame", p.meaning, told, case)]


def _nowhere(case: Case) -> list[Finding]:
    """A fault of a node that the log does not name."""
    told = [s for s in case.roles(Role.INITIATING) if s.pattern.blames is Blames.NODE and not s.pattern.hardware]
    told = [s for s in told if case.node_at(s.row) is None]
    return [_finding("first_exception", told[0].pattern.meaning, told, case)] if told and not case.completed else []


def _finding(kind: str, sentence: str, told: list[Sighting], case: Case) -> Finding:
    p = told[0].pattern
    iteration = int(case.journal.iteration[told[0].row])
    return Finding(
        kind, Strength.STRONG, sentence, UNKNOWN, None, first_rows(told), True, iteration, p.stage, p.cause, p.actions
    )


def _common_error(case: Case) -> list[Finding]:
    """The same error on more than half of the ranks, or on ranks that the log does not tell apart."""
    if case.completed:
        return []
    by_pattern: dict[str, list[Sighting]] = defaultdict(list)
    after = followers(case)
    for s in case.roles(Role.INITIATING):
        if s.pattern.blames is Blames.WRITER and s.rank not in after:
            by_pattern[s.pattern.id].append(s)
    labelled = any(s.rank >= 0 for told in by_pattern.values() for s in told)
    named = set(named_first(case)) | {d.rank for d in deaths(case) if d.is_root and d.rank >= 0}
    out = []
    for told in by_pattern.values():
        ranks = {s.rank for s in told if s.rank >= 0}
        text = excerpt(told[0].text)
        if len(case.ranks) > 1 and case.is_most(len(ranks)):
            out.append(
                _finding("first_exception", f"{len(ranks)} of {len(case.ranks)} ranks raised: {text}", told, case)
            )
        elif _in_one_place(case, told):
            continue  # the node's own error
        elif not ranks and not labelled and (not case.ranks or len(told) > 1) and _speakers(case, told) > len(named):
            out.append(
                _finding("first_exception", f"processes that the log does not tell apart raised: {text}", told, case)
            )
    return out


def _in_one_place(case: Case, told: list[Sighting]) -> bool:
    """Tell whether all these lines were written on one of several nodes."""
    places = {case.node_at(s.row) for s in told}
    return len(places) == 1 and None not in places and len(set(case.journal.nodes) | set(case.journal.node_ranks)) > 1


def _speakers(case: Case, told: list[Sighting]) -> int:
    """Guess how many processes wrote these lines: one says the same thing once."""
    return max(Counter(int(case.journal.event[s.row]) for s in told).values())


def _not_finite(case: Case) -> list[Finding]:
    """Values that are not finite on all ranks at once."""
    found = spots(case)
    if not found:
        return []
    first = [s for s in found if s.iteration == found[0].iteration]
    if any(len(s.good) > len(s.bad) for s in first):
        return []
    s = first[0]
    return [
        Finding(
            "value",
            Strength.STRONG,
            f"values are not finite from iteration {s.iteration} on, on every rank that tells",
            UNKNOWN,
            None,
            tuple(sorted(s.bad.values())),
            True,
            s.iteration,
            "train",
            "numerics",
            ("resume from an earlier checkpoint with a lower learning rate",),
        )
    ]


def _spike(case: Case) -> list[Finding]:
    """A loss that jumps and stays high, on all ranks alike."""
    found = []
    for rows in _loss_rows(case):
        iterations, values, first = _losses(case, rows)
        at = _jump(values)
        if at is not None:
            found.append(
                (int(iterations[at]), float(np.median(values[max(0, at - WINDOW) : at])), values[at], first[at])
            )
    if not found:
        return []
    iteration, before, after, row = min(found, key=lambda f: (f[0], f[3]))
    return [
        Finding(
            "value",
            Strength.STRONG,
            f"the loss jumps from {before:.3g} to {after:.3g} in iteration {iteration}, on all ranks alike",
            UNKNOWN,
            None,
            (int(row),),
            False,
            iteration,
            "train",
            "numerics",
            ("compare learning rate and data at that iteration", "resume from the checkpoint before it"),
        )
    ]


def _loss_rows(case: Case) -> list[NDArray[np.int64]]:
    """Rows of each kind of line that tells a loss in enough iterations."""
    j = case.journal
    rows = np.flatnonzero(case.mask & (j.iteration >= 0))
    out = []
    for event in present(j.event[rows]).tolist():
        if "loss" not in j.templates[event].lower():
            continue
        mine = rows[j.event[rows] == event]
        iterations = np.unique(j.iteration[mine])
        if len(iterations) > WINDOW + 3:
            if len(mine) > MOST_ROWS:
                keep = np.unique(j.rank[mine])[: max(1, MOST_ROWS // len(iterations))]
                mine = mine[np.isin(j.rank[mine], keep)]
            out.append(mine.astype(np.int64))
    return out


def _losses(case: Case, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Median of the loss over the ranks, and first row, per iteration."""
    values = _values(case, rows)
    known = ~np.isnan(values)
    rows, values = rows[known], values[known]
    iterations, first, at = np.unique(case.journal.iteration[rows], return_index=True, return_inverse=True)
    ordered = values[np.lexsort((values, at))]
    lines = np.bincount(at, minlength=len(iterations))
    begin = np.cumsum(lines) - lines
    middle = (ordered[begin + (lines - 1) // 2] + ordered[begin + lines // 2]) / 2
    return iterations, middle, rows[first]


def _values(case: Case, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Read the loss of each row, NaN where it tells none."""
    figures = Figures(case.journal)
    shape, shapes = figures.shapes_of(rows)
    values = np.full(len(rows), np.nan)
    for one in shapes:
        slot = _loss_slot(figures.labels(one))
        if slot is not None:
            mine = np.flatnonzero(shape == one)
            values[mine] = figures.columns(rows[mine], [slot])[:, 0]
    return values


def _loss_slot(labels: Sequence[str]) -> int | None:
    return next((at for at, label in enumerate(labels) if label.lower().endswith("loss")), None)


def _jump(values: NDArray[np.float64]) -> int | None:
    """Return where values begin to be far above the `WINDOW` before them, as three in a row are."""
    if len(values) <= WINDOW:
        return None
    before = np.lib.stride_tricks.sliding_window_view(values, WINDOW)[:-1]
    usual = np.median(before, axis=1)
    spread = np.median(np.abs(np.diff(before, axis=1)), axis=1)
    ahead = np.append(values[WINDOW:], [np.inf, np.inf])
    lowest = np.minimum(np.minimum(ahead[:-2], ahead[1:-1]), ahead[2:])
    jumps = (usual > 0) & (lowest > JUMP * usual) & (ahead[:-2] - usual > SPREAD * np.maximum(spread, 1e-6))
    return int(np.argmax(jumps)) + WINDOW if jumps.any() else None
