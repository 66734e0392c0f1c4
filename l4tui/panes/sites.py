"""Call sites (or events) × ranks (or nodes): how often each wrote each, far from the usual as glyph and colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment
from textual.strip import Strip

from l4tui.engine.matrix import By, Counting, Matrix
from l4tui.engine.view import Filter
from l4tui.lenses import node_labels, short_site
from l4tui.panes.pane import Pane
from l4tui.widgets.bars import Part
from l4tui.widgets.cells import clean, fit

if TYPE_CHECKING:
    from l4tui.engine.progress import Ranks
    from l4tui.screens.job import JobScreen
    from l4tui.study import Study

MOST_CELLS = 4_000_000  # of a matrix by rank; beyond it nodes are the columns
LABEL_SHARE = 0.35  # of the width for the things' names
LABEL_MAX = 40
USUAL = 7  # cells for the usual count
CHIP_MAX = 32  # characters on a filter's chip
STYLES_OF = {-3: "odd", -2: "busy", -1: "busy", 0: "quiet", 1: "warning", 2: "warning", 3: "error"}
WORDS = {-3: "far less", -2: "less", -1: "a little less", 0: "as usual", 1: "a little more", 2: "more", 3: "far more"}


class Board(NamedTuple):
    """A matrix ready to be drawn, the rows that stand out first."""

    matrix: Matrix
    labels: tuple[str, ...]  # per row
    columns: tuple[str, ...]  # names
    by: By
    nodes: bool
    is_role: NDArray[np.bool_]  # per row: written by those that speak for others, as usual


class Shown(Pane):
    """Shows the matrix with a cursor on a cell."""

    heading = "Call sites"
    lasting = ("board", "line", "column", "top", "left", "by", "nodes")

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.board: Board | None = None
        self.line = self.column = 0  # of the cursor
        self.top = self.left = 0
        self.by = By.SITE
        self.nodes: bool | None = None  # None: nodes where there are very many ranks
        self._counting = Counting()

    def gather(self, study: Study) -> object:
        """Count and set in order."""
        return board_of(study, self._counting, self.by, self.nodes, self.host.config.ascii)

    def show(self, gathered: object) -> None:
        """Take over a matrix, keeping the cursor's thing and column."""
        old = self.board
        self.board = gathered if isinstance(gathered, Board) else None
        if self.board is None:
            return
        m, kept = self.board.matrix, None
        if old is not None and old.by == self.board.by and len(old.matrix.things):
            kept = np.flatnonzero(m.things == old.matrix.things[self.line])
        if kept is not None and len(kept):
            self.line = int(kept[0])
        elif len(m.things):
            self.line, self.column = 0, int(np.argmax(np.abs(m.deviation[0])))
        self._reveal()
        self.refresh()

    # Drawing

    @property
    def _label(self) -> int:
        return min(max((len(label) for label in self.board.labels), default=4) if self.board else 4, LABEL_MAX,
                   int(self.size.width * LABEL_SHARE))  # fmt: skip

    @property
    def _room(self) -> int:
        return max(self.size.width - self._label - USUAL - 3, 1)

    def title(self) -> list[Part]:
        """Say what rows and columns are."""
        by = "call sites" if self.board is None or self.board.by is By.SITE else "events"
        over = "nodes" if self.board is not None and self.board.nodes else "ranks"
        parts = [Part(f"{by.capitalize()} by {over[:-1]}", "name")]
        if self.board is not None:
            m = self.board.matrix
            parts.append(Part(f"{len(m.things):,} {self.signs.times} {len(m.columns):,}", "quiet", 1))
            for step, sign in ((3, 3), (-3, -3)):
                many = int(np.count_nonzero((m.deviation[~self.board.is_role] == step).any(axis=0)))
                if many:
                    words = f"{self.sign(sign)} {many:,} {over if many > 1 else over[:-1]} {WORDS[step]}"
                    parts.append(Part(words, STYLES_OF[step], 2))
        parts.append(Part("Enter shows its lines  x hides  v events  z nodes", "quiet", 90, right=True))
        return parts

    def sign(self, step: int) -> str:
        """Give the glyph of a deviation."""
        return self.signs.deviations[step + 3]

    def row(self, y: int) -> list[Part] | Strip:
        """Draw the ruler, a thing, or the details of the cell under the cursor."""
        if self.board is None:
            return [Part("counting", "quiet")] if y == 0 else []
        m = self.board.matrix
        if not len(m.things):
            return [Part("no line tells its call site: v shows events", "quiet")] if y == 0 else []
        if y == self.rows - 1:
            return self._details()
        if y == 0:
            return self._ruler()
        line = self.top + y - 1
        if line >= len(m.things) or y >= self.rows - 1:
            return []
        return self._drawn(line)

    def _ruler(self) -> Strip:
        assert self.board is not None
        shown = [" "] * self._room
        for x in range(0, self._room, 10):
            if self.left + x < len(self.board.columns):
                name = self.board.columns[self.left + x][:9]
                shown[x : x + len(name)] = list(name)
        lead = f"{'':<{self._label}} {'usual':>{USUAL}}  "
        return Strip([Segment((lead + "".join(shown))[: self.size.width], self.style_of("quiet"))])

    def _drawn(self, line: int) -> Strip:
        assert self.board is not None
        m = self.board.matrix
        is_here = line == self.line
        plain = self.style_of("name") if is_here else self.style_of("plain")
        segments = [
            Segment(fit(self.board.labels[line], self._label, self.signs.ellipsis) + " ", plain),
            Segment(f"{m.usual[line]:>{USUAL},.0f}  ", self.style_of("quiet")),
        ]
        steps = m.deviation[line, self.left : self.left + self._room].tolist()
        for x, step in enumerate(steps):
            style = self.style_of("quiet" if self.board.is_role[line] else STYLES_OF[step])
            if is_here and self.left + x == self.column:
                style = self.style_of("chip") + style
            segments.append(Segment(self.sign(step), style))
        return Strip(segments).simplify()

    def _details(self) -> list[Part]:
        assert self.board is not None
        m, what = self.board.matrix, "node" if self.board.nodes else "rank"
        step = int(m.deviation[self.line, self.column])
        return [
            Part(f" {what} {self.board.columns[self.column]}", "name"),
            Part(WORDS[step], STYLES_OF[step] if step else "ok", 0),
            Part(f"{int(m.counts[self.line, self.column]):,} times, usual {m.usual[self.line]:,.0f}", "plain", 1),
            Part(self.board.labels[self.line], "quiet", 2),
        ]

    # Keys

    def does(self, action: str, argument: str) -> bool:
        """Move, scope the log to a cell, hide or keep a thing, turn rows and columns into others."""
        m = self.board.matrix if self.board is not None else None
        if action == "lens":
            self.by = By.EVENT if self.by is By.SITE else By.SITE
            self._again()
        elif action == "fold":
            self.nodes = not (self.board.nodes if self.board is not None else False)
            self._again()
        elif m is None or not len(m.things):
            return super().does(action, argument)
        elif action in ("up", "down"):
            self._go(self.line + (1 if action == "down" else -1), self.column)
        elif action in ("page_up", "page_down", "half_up", "half_down"):
            self._go(self.line + (self.rows - 3) * (1 if action.endswith("down") else -1), self.column)
        elif action in ("left", "right"):
            self._go(self.line, self.column + (1 if action == "right" else -1))
        elif action in ("line_start", "line_end"):
            self._go(self.line, 0 if action == "line_start" else len(m.columns) - 1)
        elif action in ("first", "last"):
            self._go(0 if action == "first" else len(m.things) - 1, self.column)
        elif action in ("next_divergent", "previous_divergent"):
            self._go_odd(1 if action.startswith("next") else -1)
        elif action in ("hide_event", "only_event"):
            self.host.set_scope(self.host.scope.adding(self._filter(action == "only_event")))
        elif action == "open":
            self._open()
        else:
            return super().does(action, argument)
        return True

    def _go(self, line: int, column: int) -> None:
        assert self.board is not None
        m = self.board.matrix
        self.line = min(max(line, 0), len(m.things) - 1)
        self.column = min(max(column, 0), len(m.columns) - 1)
        self._reveal()
        self.refresh()

    def _reveal(self) -> None:
        if self.board is None:
            return
        self.line = min(self.line, max(len(self.board.matrix.things) - 1, 0))
        self.column = min(self.column, max(len(self.board.columns) - 1, 0))
        room, wide = max(self.rows - 2, 1), self._room
        self.top = _scrolled(self.top, self.line, room, len(self.board.matrix.things))
        self.left = _scrolled(self.left, self.column, wide, len(self.board.columns))

    def on_resize(self) -> None:
        """Keep the cursor on screen."""
        self._reveal()
        self.refresh()  # drawn once already, before the size was told

    def _go_odd(self, step: int) -> None:
        """To the next cell that is far from the usual, row by row."""
        assert self.board is not None
        m = self.board.matrix
        far = np.abs(m.deviation) == 3
        told = far & ~self.board.is_role[:, None]
        flat = np.flatnonzero((told if told.any() else far).ravel())
        here = self.line * len(m.columns) + self.column
        ahead = flat[flat > here] if step > 0 else flat[flat < here]
        if len(flat):
            chosen = int((ahead if len(ahead) else flat)[0 if step > 0 else -1])
            self._go(*divmod(chosen, len(m.columns)))

    def _again(self) -> None:
        self.line = self.column = self.top = self.left = 0
        self.board = None
        self.host.gather()
        self.refresh()

    def _filter(self, keep: bool) -> Filter:
        assert self.board is not None
        thing, label = int(self.board.matrix.things[self.line]), self.board.labels[self.line]
        kind = "site" if self.board.by is By.SITE else "event"
        return Filter(kind, str(thing), keep, label[:CHIP_MAX])

    def _open(self) -> None:
        assert self.board is not None
        column = int(self.board.matrix.columns[self.column])
        ranks = f"node:{self.host.snapshot.nodes[column]}" if self.board.nodes else str(column)
        wanted = self._filter(True)
        kept = self.host.scope.filters
        others = (f for f in kept if f[:2] != wanted[:2] and not (f.kind in ("site", "event") and f.keep))
        self.scope_to(ranks, (*others, wanted))


def _scrolled(first: int, at: int, room: int, length: int) -> int:
    """Scroll as little as shows a place, and leave no room empty that things could fill."""
    return max(min(first, at, length - room), at - room + 1, 0)


def board_of(study: Study, counting: Counting, by: By, nodes: bool | None, ascii_only: bool) -> Board:
    """Count by call site or event and by rank or node; what differs most comes first."""
    snapshot = study.snapshot
    counting.update(snapshot)
    if nodes is None:
        ranks, things = len(snapshot.counts().per_rank), len(snapshot.sites if by is By.SITE else snapshot.templates)
        nodes = ranks * things > MOST_CELLS and len(snapshot.nodes) > 1
    m = counting.matrix(snapshot, by, nodes)
    few = np.count_nonzero(m.deviation, axis=1)
    heavy = np.abs(m.deviation).max(axis=1, initial=0)
    is_told = (few > 0) & (3 * few <= max(len(m.columns), 3))  # what many do otherwise is no deviation of somebody
    roles = np.zeros(len(m.things), np.bool_) if nodes else role_rows(m, study.ranks)
    order = np.lexsort((-m.counts.sum(axis=1), few, -heavy * (is_told & ~roles)))
    m = Matrix(m.things[order], m.columns, m.counts[order], m.usual[order], m.deviation[order])
    names = snapshot.sites if by is By.SITE else snapshot.templates
    labels = tuple(clean(short_site(names[i]) if by is By.SITE else names[i], ascii_only) for i in m.things.tolist())
    if nodes:
        short = node_labels(tuple(snapshot.nodes))
        columns = tuple(clean(short[i], ascii_only) for i in m.columns.tolist())
    else:
        columns = tuple(str(rank) for rank in m.columns.tolist())
    return Board(m, labels, columns, by, nodes, roles[order])


def role_rows(m: Matrix, ranks: Ranks) -> NDArray[np.bool_]:
    """Say which things are written by the first or last rank, of the job or of each node, as is usual."""
    first_of_node = ranks.rank[np.unique(ranks.node, return_index=True)[1]]
    last_of_node = ranks.rank[::-1][np.unique(ranks.node[::-1], return_index=True)[1]]
    ends = ranks.rank[[0, -1]] if len(ranks.rank) else ranks.rank
    sets = {frozenset(some.tolist()) for some in (first_of_node, last_of_node, ends, ends[:1], ends[1:])}
    told = [frozenset(m.columns[row > 0].tolist()) for row in m.deviation]
    return np.array([who in sets for who in told], np.bool_)
