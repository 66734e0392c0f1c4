"""Ranks side by side as rows: aligned lines of neighbouring iterations, read and marked for as much as is on screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from l4tui.collapsed import block_words
from l4tui.engine.compare import CONSENSUS, Comparison, marks
from l4tui.engine.model import Level, LineClass, Span
from l4tui.widgets.cells import clean, unframed

if TYPE_CHECKING:
    from l4tui.study import Study

LEAST = 30  # cells of a column
MOST = 6
RULE = -1  # line number of a block's rule

Spot = tuple[int, int]  # place of a block in the comparison's order, line in it (RULE: its rule)


class Beside(NamedTuple):
    """One row: a rule with words, or a text per column."""

    spot: Spot
    words: str = ""  # of a rule
    texts: tuple[str | None, ...] = ()  # None: a gap
    spans: tuple[tuple[Span, ...], ...] = ()
    entries: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()
    differs: bool = False


class Window(NamedTuple):
    """Neighbouring rows, and whether there is more before and after them."""

    rows: tuple[Beside, ...]
    is_first: bool
    is_last: bool


def columns_for(study: Study, wanted: Sequence[int], here: int | None) -> tuple[int, ...]:
    """Choose what is compared: the ranks that are wanted, else the most telling one, against what most said."""
    known = set(study.ranks.rank.tolist())
    told = [rank for rank in wanted if rank in known or rank == CONSENSUS]
    if len(told) >= 2:
        return tuple(told[:8])
    odd = [rank for stop in study.survey.stops for rank in stop.ranks[:1]]
    one = next((rank for rank in (*told, *odd, *([here] if here is not None else [])) if rank in known), None)
    if one is None:
        one = min(known, default=None)
    if one is None or len(known) < 2:
        return ()
    if len(known) == 2:
        return tuple(sorted(known))
    return (CONSENSUS, one)


def fitting(width: int) -> int:
    """Say how many columns fit: two at 80 cells, six at 200."""
    return max(2, min(width // LEAST, MOST))


def spot_of(comparison: Comparison, entry: int | None) -> Spot:
    """Find where a line stands in a comparison, else where its iteration does, else the end."""
    blocks = comparison.blocks
    if not len(blocks):
        return 0, RULE
    rows = comparison.table.row
    if entry is None or not 0 <= entry < len(rows) or rows[entry] < 0:
        return len(blocks) - 1, RULE
    block = int(comparison.table.block[rows[entry]])
    order = comparison.table.block_place
    at = int(np.searchsorted(order[blocks], order[block]))
    if at >= len(blocks) or int(blocks[at]) != block:
        return min(at, len(blocks) - 1), RULE
    side = comparison.side(block)
    same = np.flatnonzero((side.entries == entry).any(axis=1))
    if not len(same):
        events = comparison.snap.event(np.maximum(side.entries, 0))
        alike = (events == comparison.snap.event(np.array([entry]))[0]) & (side.entries >= 0)
        same = np.flatnonzero(alike.any(axis=1))
    return at, int(same[0]) if len(same) else RULE


def window(comparison: Comparison, spot: Spot, before: int, after: int, ascii_only: bool) -> Window:
    """Read the rows around a place."""
    spots, is_last = _walk(comparison, spot, after)
    back, is_first = _walk_back(comparison, spot, before)
    return Window(_written(comparison, back + spots, ascii_only), is_first, is_last)


def _walk(comparison: Comparison, spot: Spot, many: int) -> tuple[list[Spot], bool]:
    out: list[Spot] = []
    (at, line), blocks = spot, comparison.blocks.tolist()
    while at < len(blocks):
        size = len(comparison.side(blocks[at]).entries)
        while line < size:
            if len(out) >= many:
                return out, False
            out.append((at, line))
            line += 1
        at, line = at + 1, RULE
    return out, True


def _walk_back(comparison: Comparison, spot: Spot, many: int) -> tuple[list[Spot], bool]:
    out: list[Spot] = []
    (at, line), blocks = spot, comparison.blocks.tolist()
    line -= 1
    while at >= 0 and at < len(blocks):
        while line >= RULE:
            if len(out) >= many:
                return out[::-1], False
            out.append((at, line))
            line -= 1
        at -= 1
        if at >= 0:
            line = len(comparison.side(blocks[at]).entries) - 1
    return out[::-1], True


def _written(comparison: Comparison, spots: list[Spot], ascii_only: bool) -> tuple[Beside, ...]:
    blocks, snap = comparison.blocks.tolist(), comparison.snap
    lines = [comparison.side(blocks[at]).entries[line] for at, line in spots if line != RULE]
    flat = np.concatenate(lines) if lines else np.zeros(0, np.int64)
    told = flat[flat >= 0]
    texts = dict(zip(told.tolist(), snap.texts(told.tolist()), strict=True))
    plans = snap.plan[told]
    raised = (snap.plans.line_class[plans] == LineClass.RAISED) * int(Level.ERROR)
    levels = dict(zip(told.tolist(), np.maximum(snap.plans.level[plans], raised).tolist(), strict=True))
    out = []
    for at, line in spots:
        if line == RULE:
            out.append(Beside((at, RULE), block_words(comparison.table, blocks[at])))
            continue
        side = comparison.side(blocks[at])
        entries = side.entries[line].tolist()
        shown = [clean(unframed(texts[e]), ascii_only) if e >= 0 else None for e in entries]
        found = iter(marks([text for text in shown if text is not None]))
        spans = tuple(next(found) if text is not None else () for text in shown)
        of_level = tuple(levels.get(e, 0) for e in entries)
        out.append(Beside((at, line), "", tuple(shown), spans, tuple(entries), of_level, bool(side.differs[line])))
    return tuple(out)
