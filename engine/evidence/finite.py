"""Where values are not finite, number by number: on which ranks, while the same number is finite on which others."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.model import Level

_BAD = r'(?<![\w.])[-+]?(?:nan|inf(?:inity)?)(?![\w.])'
_VALUE = re.compile(
    rf'(?P<bad>"{_BAD}"|{_BAD})|(?<![A-Za-z_])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?', re.IGNORECASE
)

_WORDS = re.compile(r"\b(?:nan|inf|infinite|not finite|non-?finite)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spot:
    """One number of one kind of line in one iteration: on whom it is not finite and on whom it is."""

    iteration: int
    row: int
    bad: dict[int, int]  # rank → row
    good: frozenset[int]


def spots(case: Case) -> list[Spot]:
    """Return every iteration and number with a value that is not finite, first ones first.

    A reduced number may be bad on all ranks in the line in which a local one is bad on one of them.
    """
    kinds: dict[str, dict[int, frozenset[int]]] = defaultdict(dict)
    for shape, text in case.journal.samples.items():
        slots = frozenset(at for at, m in enumerate(_VALUE.finditer(text)) if m["bad"])
        kinds[_VALUE.sub("#", text)][shape] = slots
    out = []
    for shapes in kinds.values():
        for slot in sorted(frozenset().union(*shapes.values())):
            bad = [shape for shape, slots in shapes.items() if slot in slots]
            if len(bad) < len(shapes):
                out += _spots_of(case, bad, [shape for shape in shapes if shape not in bad])
    return sorted(out, key=lambda s: (s.iteration, s.row, -len(s.good)))


def _spots_of(case: Case, bad_shapes: list[int], good_shapes: list[int]) -> list[Spot]:
    j = case.journal
    here = case.mask & (j.rank >= 0)
    bad_rows = np.flatnonzero(here & np.isin(j.shape, bad_shapes))
    good_rows = np.flatnonzero(here & np.isin(j.shape, good_shapes))
    bad: dict[int, dict[int, int]] = defaultdict(dict)
    for row in bad_rows.tolist():
        bad[int(j.iteration[row])].setdefault(int(j.rank[row]), row)
    good: dict[int, set[int]] = defaultdict(set)
    for row in good_rows[np.isin(j.iteration[good_rows], list(bad))].tolist():
        good[int(j.iteration[row])].add(int(j.rank[row]))
    return [Spot(i, min(ranks.values()), ranks, frozenset(good[i] - set(ranks))) for i, ranks in bad.items() if i >= 0]


def words_about(case: Case, accused: int) -> list[int]:
    """Return the rows in which a rank warns, in words that no other rank uses, of values that are not finite."""
    j = case.journal
    loud = case.mask & (j.level >= Level.WARNING) & (j.level < Level.ERROR) & (j.event >= 0)
    others = np.unique(j.event[loud & (j.rank >= 0) & (j.rank != accused)])
    rows = np.flatnonzero(loud & (j.rank == accused) & ~np.isin(j.event, others))
    telling = [e for e in np.unique(j.event[rows]).tolist() if _WORDS.search(j.text(int(rows[j.event[rows] == e][0])))]
    return rows[np.isin(j.event[rows], telling)].tolist()
