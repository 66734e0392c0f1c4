"""The collapsed lens: what several ranks said alike is one row, with the ranks and the range of what they said."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event
from typing import TYPE_CHECKING

import numpy as np

from l4tui.engine.divergence import Divergence, Mark, Survey
from l4tui.engine.leads import EVIDENCE
from l4tui.engine.nodeset import nodeset
from l4tui.engine.outline import LINE, RULE, Outline, changed_rows, continues
from l4tui.engine.rowtable import RowFlag, RowTable
from l4tui.engine.rowvalues import Odd, RowText, row_texts
from l4tui.engine.stages import NAMES
from l4tui.engine.view import Ids, Rows, Scope, Viewer
from l4tui.lenses import SHOWN, EntryLens, site_words, told_of
from l4tui.study import lacks
from l4tui.widgets.cells import clean, unframed
from l4tui.widgets.glyphs import Glyphs, glyphs
from l4tui.widgets.line import Facts, Line

if TYPE_CHECKING:
    from l4tui.engine.leads import Lead
    from l4tui.engine.snapshot import Snapshot
    from l4tui.study import Analyst, Study

SET_WIDTH = 14  # cells of a rank set
SET_WIDTH_FEW = 11  # and where there are few ranks
FEW = 16
ALL_BUT = 3  # ranks that are missing from "all but 17"
LATEST = 3  # rules that are written anew as the log grows
HEAVY = 4000  # records in rows from which a page is shown before the ranges are known
VALUE_MAX = 24  # characters of an odd value
AGREEING = 0.8  # rows per line from which nobody agrees


class CollapsedLens:
    """Rows of the row table, as the outline shows them."""

    def __init__(self, viewer: Viewer, analyst: Analyst, ascii_only: bool) -> None:
        self._viewer, self._analyst, self._ascii = viewer, analyst, ascii_only
        self._entries = EntryLens(viewer, ascii_only)
        self._signs: Glyphs = glyphs(ascii_only)
        self._study: Study | None = None
        self._asked: Scope | None = None
        self._shown: RowTable | None = None
        self._by_row: dict[int, Divergence] = {}
        self._evidence: set[int] = set()  # rows that the verdict rests on

    def rows(self, snapshot: Snapshot, scope: Scope, stop: Event) -> Outline:
        """Gather rows and select what the scope shows."""
        asked, self._asked = scope != self._asked, scope  # a person waits for the same rows, shown otherwise
        table = self._shown = self._analyst.shown(snapshot, stop, self._shown, at_once=asked)
        bits = self._viewer.bits(snapshot, scope, stop) if scope.narrowed else None
        return Outline(table, bits, scope.folds)

    def lacks(self, snapshot: Snapshot, rows: Rows) -> bool:
        """Rows of a large job are gathered bit by bit."""
        return lacks(snapshot, _outline(rows).table)

    def changed(self, old: Rows, new: Rows) -> Ids | None:
        """Say which rows read differently now; None: all of them."""
        before, after = _outline(old), _outline(new)
        turned: Ids = before.blocks[before.folds.closes(before.blocks) != after.folds.closes(before.blocks)] + RULE
        if before.table is after.table:
            return turned
        if not continues(before.table, after.table):
            self._study, self._by_row = None, {}
            return None
        latest = before.blocks[-LATEST:] + RULE  # how long they lasted may be known now
        return np.concatenate((changed_rows(before.table, after.table), turned, latest))

    def facts(self, snapshot: Snapshot, facts: Facts) -> Facts:
        """Rank sets need room; every row has a place for what sets it apart."""
        heard = len(snapshot.counts().per_rank)
        width = SET_WIDTH_FEW if heard <= FEW else SET_WIDTH
        return facts._replace(who_width=width, node_width=0, has_level=True)

    def take(self, study: Study, rows: Rows) -> Ids:
        """Take over a comparison of the ranks; return the rows that look differently now."""
        if isinstance(rows, Outline):
            earlier, later = sorted((study.table, rows.table), key=lambda table: table.length)
            if not continues(earlier, later):
                return np.zeros(0, np.int64)
        old = self._study.survey.marks if self._study is not None else np.zeros(0, np.uint8)
        new = study.survey.marks
        self._study, self._by_row = study, told_by_row(study.survey)
        size = max(len(old), len(new))
        return np.flatnonzero(np.pad(old, (0, size - len(old))) != np.pad(new, (0, size - len(new))))

    def mark(self, leads: Iterable[Lead]) -> Ids:
        """Mark what the verdict rests on; differences are marked by the survey."""
        leads = list(leads)
        lines = self._entries.mark(leads) + LINE
        old, self._evidence = self._evidence, {lead.row for lead in leads if lead.kind == EVIDENCE}
        return np.concatenate((np.array(sorted(old ^ self._evidence), np.int64), lines))

    def divergence(self, rows: Rows, key: int) -> Divergence | None:
        """Give what sets the row of a key apart."""
        return self._by_row.get(_outline(rows).row_of(key)) if isinstance(rows, Outline) else None

    # Text

    def is_heavy(self, rows: Rows, keys: Ids) -> bool:
        """Say whether the values of these rows take a while to compare."""
        of_rows = keys[keys < LINE]
        return int(_outline(rows).table.count[of_rows].sum()) > HEAVY

    def lines(self, snapshot: Snapshot, rows: Rows, keys: Ids, *, quick: bool = False) -> list[Line]:
        """Write rows, rules and unfolded lines; `quick`: without comparing values."""
        outline = _outline(rows)
        of_rows = keys[keys < LINE]
        of_lines = keys[(keys >= LINE) & (keys < RULE)] - LINE
        out = self._rows(snapshot, outline.table, of_rows, quick)
        out += [
            line._replace(key=line.key + LINE, text="  " + line.text, tone="quiet" if not line.mark else "")
            for line in self._entries.lines(snapshot, rows, of_lines)
        ]
        return out + self._rules(outline, keys[keys >= RULE] - RULE)

    def _rows(self, snapshot: Snapshot, table: RowTable, rows: Ids, quick: bool) -> list[Line]:
        if not len(rows):
            return []
        first = table.first[rows]
        if quick:
            texts = [RowText(text, (), (), 0) for text in snapshot.texts(first.tolist(), SHOWN)]
        else:
            texts = row_texts(snapshot, table, rows)
        columns = zip(
            rows.tolist(),
            texts,
            rank_words(snapshot, table, rows),
            told_of(snapshot, first),
            table.count[rows].tolist(),
            table.flags[rows].tolist(),
            strict=True,
        )
        lines = []
        for key, read, who, told, count, flags in columns:
            mark, tone = self._look(key, told.is_raised)
            times = count if flags & (RowFlag.FOLDED | RowFlag.FLOODED) else 0
            text, spans = self._written(read, times, first=mark == self._signs.is_value)
            lines.append(
                Line(
                    key=key,
                    text=text,
                    who=who,
                    sort=told.sort if not who or told.sort == "note" else "rank",
                    level=told.level,
                    time=told.time,
                    site=site_words(snapshot, told.site, self._ascii),
                    mark=mark,
                    tone=tone,
                    spans=spans,
                )
            )
        return lines

    def _written(self, told: RowText, times: int, *, first: bool) -> tuple[str, tuple[tuple[int, int, str], ...]]:
        """Return a row's text with ranges and odd values marked, these in front where they matter most.

        Spans are (start, stop, style).
        """
        text = unframed(told.text)
        body = clean(text, self._ascii)
        spans = [(s.start, s.end, "range") for s in told.spans] if len(body) == len(text) else []
        if times > 1:
            added = f"  x{times:,}"
            spans.append((len(body), len(body) + len(added), "quiet"))
            body += added
        if told.odd and first:
            lead = ", ".join(self._odd(odd) for odd in told.odd) + "  "
            spans = [(0, len(lead), "odd"), *((a + len(lead), b + len(lead), name) for a, b, name in spans)]
            body = lead + body
        elif told.odd:
            added = f"  {self._signs.odd_value} " + ", ".join(self._odd(odd) for odd in told.odd)
            spans.append((len(body), len(body) + len(added), "odd"))
            body += added
        return body, tuple(spans)

    def _odd(self, odd: Odd) -> str:
        value = clean(odd.text, self._ascii)
        short = value if len(value) <= VALUE_MAX else value[: VALUE_MAX - 1] + self._signs.ellipsis
        return f"{odd.rank if odd.rank >= 0 else self._signs.unknown}: {short}"

    def _look(self, row: int, raised: bool) -> tuple[str, str]:
        """Return a row's mark and the style of its text."""
        marks = self._study.survey.marks if self._study is not None else ()
        mark = int(marks[row]) if row < len(marks) else 0
        found = self._by_row.get(row)
        if found is not None and mark >= Mark.DIVERGENT:
            is_pending = mark == Mark.PENDING
            return self._signs.pending if is_pending else self._signs.of(found.kind), "pending" if is_pending else ""
        if row in self._evidence:
            return self._signs.is_evidence, ""
        if mark == Mark.MINORITY and not raised:
            return "", "dim"
        return "!" if raised else "", ""

    def _rules(self, outline: Outline, blocks: Ids) -> list[Line]:
        table = outline.table
        closed = outline.folds.closes(blocks)
        begins, numbers = self._analyst.timeline.begins()
        place = {block: i for i, block in enumerate(outline.blocks.tolist())} if len(blocks) > 8 else None
        lines = []
        for block, folded in zip(blocks.tolist(), closed.tolist(), strict=True):
            words = block_words(table, block)
            attempt = int(table.blocks.attempt[block])
            words += f" {self._signs.dot} attempt {attempt}" if attempt > 0 else ""
            lasted = _lasted(begins, numbers, int(table.blocks.iteration[block]))
            words += f" {self._signs.dot} {lasted}" if lasted else ""
            if folded:
                at = place[block] if place is not None else int(np.flatnonzero(outline.blocks == block)[0])
                words += f" {self._signs.dot} {int(outline.sizes[at]):,} rows"
            odd = self._stops_in(table, block) if folded else ""
            lines.append(Line(RULE + block, words, sort="rule", mark=odd, head=not folded))
        return lines

    def _stops_in(self, table: RowTable, block: int) -> str:
        stops = [(row, d.kind) for row, d in self._by_row.items() if d.is_stop]
        stops += [(row, EVIDENCE) for row in self._evidence]
        kinds = [kind for row, kind in stops if 0 <= row < table.length and table.block[row] == block]
        return self._signs.of(kinds[0]) if kinds else ""


def block_words(table: RowTable, block: int) -> str:
    iteration, stage = int(table.blocks.iteration[block]), int(table.blocks.stage[block])
    if iteration >= 0:
        return f"iteration {iteration:,}"
    return NAMES[stage].replace("_", " ") if stage >= 0 else "before the first stage"


def _lasted(begins: Ids, numbers: Ids, iteration: int) -> str:
    from l4tui.widgets.header import short

    at = np.flatnonzero(numbers == iteration)
    if not len(at) or at[-1] + 1 >= len(begins) or iteration < 0:
        return ""
    lasted = float(begins[at[-1] + 1] - begins[at[-1]]) / 1e9
    return short(lasted) if lasted > 0 else ""  # 0: less than its log's times tell


def _outline(rows: Rows) -> Outline:
    if not isinstance(rows, Outline):
        raise TypeError("these rows are lines")
    return rows


def told_by_row(survey: Survey) -> dict[int, Divergence]:
    """Return the most telling difference of each row."""
    told: dict[int, Divergence] = {}
    for found in survey.found:
        known = told.get(found.row)
        if known is None or (found.is_stop, found.score) > (known.is_stop, known.score):
            told[found.row] = found
    return told


def rank_words(snapshot: Snapshot, table: RowTable, rows: Ids) -> list[str]:
    """Return the ranks of rows as words: all, all but 17, or a nodeset that fits the column."""
    everyone = np.array(sorted(snapshot.counts().per_rank), np.int64)
    width = SET_WIDTH_FEW if len(everyone) <= FEW else SET_WIDTH
    sets, place = np.unique(table.sets.of_row[rows], return_inverse=True)
    texts = []
    for bits in table.sets.unpacked(sets):
        ranks = snapshot.ranks.rank[np.flatnonzero(bits)]
        texts.append(set_words(np.unique(ranks[ranks >= 0]).astype(np.int64), everyone, width))
    return [texts[i] for i in place.tolist()]


def set_words(ranks: Ids, everyone: Ids, width: int) -> str:
    """Write a set of ranks in at most `width` cells."""
    if not len(ranks):
        return ""
    missing = np.setdiff1d(everyone, ranks)
    if len(everyone) > 1 and not len(missing):
        return "all"
    if len(missing) <= min(ALL_BUT, len(everyone) // 3):
        words = f"all but {','.join(map(str, missing.tolist()))}"
        if len(words) <= width:
            return words
    for most in (0, 4, 3, 2, 1):
        words = nodeset(ranks, most)
        if len(words) <= width:
            return words
    return f"{len(ranks):,} ranks"


def agrees(rows: Rows, lines: int) -> bool:
    """Say whether several ranks say the same, so that rows are fewer than lines."""
    return isinstance(rows, Outline) and lines > 0 and len(rows.rows) < AGREEING * lines
