"""What befell the whole job: the same error on most ranks, a time limit, values that jump everywhere."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.case import Case, first_rows
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.straggler import LABEL, NUMBER
from l4tui.engine.evidence.value import spots
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

WINDOW = 10  # iterations before a jump that tell what is usual
JUMP = 1.5  # times the usual value
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
    for s in case.roles(Role.INITIATING):
        if s.pattern.blames is Blames.WRITER:
            by_pattern[s.pattern.id].append(s)
    labelled = any(s.rank >= 0 for told in by_pattern.values() for s in told)
    out = []
    for told in by_pattern.values():
        ranks = {s.rank for s in told if s.rank >= 0}
        text = told[0].text.strip()[:160]
        if len(case.ranks) > 1 and case.is_most(len(ranks)):
            out.append(_finding("first_exception", f"{len(ranks)} of {len(case.ranks)} ranks raised: {text}", told, case))
        elif not ranks and not labelled and (not case.ranks or len(told) > 1):
            out.append(_finding("first_exception", f"processes that the log does not tell apart raised: {text}", told, case))
    return out


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
        Finding("value", Strength.STRONG, f"values are not finite from iteration {s.iteration} on, on every rank that tells",
                UNKNOWN, None, tuple(sorted(s.bad.values())), True, s.iteration, "train", "numerics",
                ("resume from an earlier checkpoint with a lower learning rate",))
    ]  # fmt: skip


def _spike(case: Case) -> list[Finding]:
    """A loss that jumps and stays high."""
    for rows in _loss_rows(case):
        iterations, values = _losses(case, rows)
        at = _jump(values)
        if at is not None:
            return [
                Finding("value", Strength.STRONG, f"the loss jumps from {np.median(values[max(0, at - WINDOW):at]):.3g} to"
                        f" {values[at]:.3g} in iteration {iterations[at]}, on all ranks alike", UNKNOWN, None,
                        (int(rows[at]),), False, int(iterations[at]), "train", "numerics",
                        ("compare learning rate and data at that iteration",
                         "resume from the checkpoint before it"))
            ]  # fmt: skip
    return []


def _loss_rows(case: Case) -> list[NDArray[np.int64]]:
    """Rows of the events that one rank marks iterations with and that tell a loss."""
    j = case.journal
    rows = np.flatnonzero(case.mask & (j.iteration >= 0))
    out = []
    for event in np.unique(j.event[rows]).tolist():
        if "loss" not in j.templates[event]:
            continue
        mine = rows[j.event[rows] == event]
        if len(mine) > 2 * WINDOW and len(np.unique(j.rank[mine])) == 1:
            out.append(mine.astype(np.int64))
    return out


def _losses(case: Case, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    values = []
    for text in case.journal.read(rows):
        value = np.nan
        for match in NUMBER.finditer(text):
            label = LABEL.search(text[: match.start()])
            if label and label[1].lower().endswith("loss"):
                value = float(match[0])
                break
        values.append(value)
    return case.journal.iteration[rows], np.array(values, dtype=np.float64)


def _jump(values: NDArray[np.float64]) -> int | None:
    for at in range(WINDOW, len(values)):
        before = values[at - WINDOW : at]
        before = before[~np.isnan(before)]
        if len(before) < WINDOW // 2:
            continue
        usual, after = np.median(before), values[at : at + 3]
        spread = np.median(np.abs(np.diff(before)))
        if np.isnan(after).any() or not usual > 0:
            continue
        if (after > JUMP * usual).all() and after[0] - usual > SPREAD * max(spread, 1e-6):
            return at
    return None
