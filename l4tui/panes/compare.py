"""Ranks side by side, or one against what most said: aligned, gaps shown, what differs marked, one scroll for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from l4tui.engine.compare import CONSENSUS, MOST_COLUMNS, Comparison
from l4tui.engine.model import Level
from l4tui.engine.rankset import RankSet
from l4tui.panes.pane import Pane
from l4tui.sidebyside import RULE, Beside, Spot, Window, columns_for, fitting, spot_of, window
from l4tui.widgets.bars import Part
from l4tui.widgets.cells import fit, width_of
from l4tui.widgets.cells import window as cut

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen
    from l4tui.study import Study

SIDE = 16  # cells of a step sideways
NO_NUMBER = ("nan", "inf", "infinity")
GAP = 3  # signs that stand for nothing said: a full row of them would outshout the text beside it
MARGIN = 2  # pages that are read on either side


class Page(NamedTuple):
    """What a thread read: the comparison, rows around a place, and the place that is asked for."""

    comparison: Comparison | None
    window: Window
    spot: Spot
    columns: tuple[int, ...]


class Shown(Pane):
    """Shows the columns with a cursor on a row."""

    heading = "Compare"
    is_whole = True

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.columns: tuple[int, ...] = ()
        self.first = 0  # column at the left, where not all fit
        self.at = self.top = self.left = 0  # rows of the window; cells
        self._window = Window((), True, True)
        self._comparison: Comparison | None = None
        self._wanted: tuple[int, ...] = _asked(screen)
        self._entry = screen.cursor_entry
        self._here = screen.cursor_rank
        self._spot: Spot | None = None

    # In a thread

    def gather(self, study: Study) -> object:
        """Line the ranks up, and read what is around the cursor."""
        columns = columns_for(study, self._wanted, self._here)
        if len(columns) < 2:
            return Page(None, Window((), True, True), (0, RULE), ())
        known = self._comparison
        if known is None or known.columns != columns or known.table is not study.table:
            known = Comparison(study.snapshot, study.table, columns)
        spot = self._spot
        if spot is None or spot[0] >= len(known.blocks):
            spot = spot_of(known, self._entry)
        return self._page(known, spot)

    def _page(self, comparison: Comparison, spot: Spot) -> Page:
        many = MARGIN * max(self.rows, 10)
        return Page(comparison, window(comparison, spot, many, many, self.host.config.ascii), spot, comparison.columns)

    def _read(self, spot: Spot, step: int = 0) -> None:
        """Read around a place; `step` ±1: around the next difference from there."""
        comparison = self._comparison
        if comparison is None:
            return

        def work() -> None:
            wanted = spot
            if step:
                block, line = int(comparison.blocks[spot[0]]), spot[1]
                found = comparison.find(block, line, step)
                if found is None:
                    self.host.app.call_from_thread(self.host.say, "no further difference")
                    return
                wanted = comparison.blocks.tolist().index(found[0]), found[1]
            self.host.post_message(self.host.Gathered(self, self._page(comparison, wanted)))

        self.host.in_thread(work, "compare")

    # On the drawing thread

    def show(self, gathered: object) -> None:
        """Take over rows; the asked place stays at its height on screen."""
        if not isinstance(gathered, Page):
            return
        offset = self.at - self.top if self._window.rows else self.rows // 3
        is_near = any(row.spot == gathered.spot for row in self._window.rows[self.top : self.top + self.rows])
        self._comparison, self._window, self.columns = gathered.comparison, gathered.window, gathered.columns
        self.first = min(self.first, max(len(self.columns) - fitting(self.size.width), 0))
        spots = [row.spot for row in self._window.rows]
        self.at = spots.index(gathered.spot) if gathered.spot in spots else 0
        self.top = self.at - (offset if is_near else self.rows // 3)
        self._settle()

    def _settle(self) -> None:
        rows = len(self._window.rows)
        self.at = min(max(self.at, 0), max(rows - 1, 0))
        self.top = min(max(self.top, self.at - self.rows + 1), self.at)
        self.top = max(min(self.top, rows - self.rows), 0)
        self._spot = self._window.rows[self.at].spot if rows else None
        self.refresh()

    def _go(self, at: int) -> None:
        """Move the cursor; read on where the window ends."""
        rows, height = self._window.rows, self.rows
        self.at = at
        lacks_above = self.at < height // 2 and not self._window.is_first
        lacks_below = self.at >= len(rows) - height // 2 and not self._window.is_last
        self._settle()
        if (lacks_above or lacks_below) and self._spot is not None:
            self._read(self._spot)

    def does(self, action: str, argument: str) -> bool:
        """Move, jump between differences, choose other ranks, open a line in the log."""
        pages = {"page_down": self.rows - 1, "page_up": 1 - self.rows, "down": 1, "up": -1}
        pages |= {"half_down": self.rows // 2, "half_up": -(self.rows // 2)}
        if action in pages:
            self.top += pages[action] if abs(pages[action]) > 1 else 0
            self._go(self.at + pages[action])
        elif action in ("next_hit", "previous_hit", "next_divergent", "previous_divergent"):
            if self._spot is not None:
                self._read(self._spot, 1 if action.startswith("next") else -1)
        elif action in ("first", "last"):
            blocks = len(self._comparison.blocks) if self._comparison is not None else 0
            self._read((0, RULE) if action == "first" else (max(blocks - 1, 0), RULE))
        elif action in ("left", "right", "line_start"):
            self.left = max(self.left + {"left": -SIDE, "right": SIDE}.get(action, -self.left), 0)
            self.refresh()
        elif action in ("next_rank", "previous_rank"):
            self._other_rank(1 if action == "next_rank" else -1)
        elif action == "pick_ranks":
            known = ",".join("all" if c == CONSENSUS else str(c) for c in self.columns)
            self.host.prompt.ask("compare", "compare ", "ranks, and all for what most said: all,17   3,4,5", known)
        elif action == "open":
            self._open()
        else:
            return super().does(action, argument)
        return True

    def compare(self, columns: tuple[int, ...]) -> None:
        """Compare others, at the same place."""
        self._entry = self._entry_here() or self._entry
        self._wanted, self._spot = columns, None
        self.host.gather()

    def _other_rank(self, step: int) -> None:
        """Put the next rank into the last column."""
        known = self.host.known_ranks
        if self.columns and known:
            last = self.columns[-1]
            at = (known.index(last) + step) % len(known) if last in known else 0
            self.compare((*self.columns[:-1], known[at]))

    def _entry_here(self) -> int | None:
        """The line under the cursor, of the rank that is compared where it said something."""
        if not self._window.rows or self._window.rows[self.at].spot[1] == RULE:
            return None
        entries = self._window.rows[self.at].entries
        return next((entry for entry in reversed(entries) if entry >= 0), None)

    def _open(self) -> None:
        entry = self._entry_here()
        if entry is not None:
            self.host.close_pane()
            self.host.show_entry(entry)

    # Drawing

    def _widths(self) -> list[int]:
        many = min(len(self.columns), fitting(self.size.width))
        room = self.size.width - 1 - (many - 1)
        return [room // many + (i < room % many) for i in range(many)] if many else []

    def render_line(self, y: int) -> Strip:
        """Draw the columns' heads, or a row of them."""
        if y == 0 and self.columns:
            return self._cells([self._head(i) for i in range(len(self.columns))], " ", None)
        if y == 0:
            return super().render_line(y)
        row = self.top + y - 1
        if row >= len(self._window.rows):
            words = "nothing to compare: two ranks are needed" if y == 1 and self.host.study else ""
            text = fit(words if not self.columns else "", self.size.width)
            return Strip([Segment(text, self.style_of("quiet"))])
        return self._drawn(self._window.rows[row], row == self.at)

    def _head(self, column: int) -> list[Segment]:
        rank = self.columns[column]
        words = "what most said" if rank == CONSENSUS else f"rank {rank}"
        return [Segment(words, self.style_of("name" if rank != CONSENSUS else "quiet"))]

    def _drawn(self, row: Beside, is_here: bool) -> Strip:
        under = self.style_of("cursor") if is_here else self.style_of("plain")
        sign = self.signs.cursor if is_here else self.signs.differs if row.differs else " "
        if row.spot[1] == RULE:
            lead = f"{sign}{self.signs.rule * 2} "
            fill = self.signs.rule * max(self.size.width - width_of(lead) - width_of(row.words) - 1, 0)
            quiet = under + self.tint("quiet")
            return Strip([Segment(f"{lead}{row.words} {fill}", quiet)]).crop(0, self.size.width)
        cells = [self._text(row, i, under) for i in range(len(self.columns))]
        return self._cells(cells, sign, under, "busy" if is_here else "odd")

    def _text(self, row: Beside, column: int, under: Style) -> list[Segment]:
        text = row.texts[column]
        if text is None:
            return [Segment(self.signs.gap * GAP, under + self.tint("quiet"))]
        level = row.levels[column]
        name = "error" if level >= Level.ERROR else "warning" if level == Level.WARNING else "plain"
        plain = under + self.tint(name) if name != "plain" else under
        start, stop, _ = cut(text, self.left, self.size.width)
        segments, at = [], start
        for span in row.spans[column]:
            low, high = max(span.start, at), min(span.end, stop)
            if low < high:
                is_odd = (
                    span.field == "value"
                    or (span.field == "words" and len(self.columns) > 2)
                    or text[low:high].lstrip("+-").lower() in NO_NUMBER
                )
                style = under + self.tint("odd" if is_odd or row.differs else "busy")
                style += Style(underline=is_odd and not row.differs)  # a whole row that differs has a sign already
                segments += [Segment(text[at:low], plain), Segment(text[low:high], style)]
                at = high
        return [*segments, Segment(text[at:stop], plain)]

    def _cells(self, cells: list[list[Segment]], sign: str, under: Style | None, mark: str = "plain") -> Strip:
        base = under or self.style_of("plain")
        out = [Segment(sign, base + self.tint(mark) if mark != "plain" else base)]
        for i, width in enumerate(self._widths()):
            if i:
                out.append(Segment(self.signs.bound, base + self.tint("quiet")))
            strip = Strip(cells[self.first + i])
            out += strip.crop(0, width).extend_cell_length(width, base)
        return Strip(out).simplify()

    def on_resize(self) -> None:
        """Read anew where other columns fit now."""
        self.host.gather()

    @property
    def place(self) -> str:
        """What the keys do here."""
        dot = f" {self.signs.dot} "
        return dot.join(("n N differences", "[ ] rank", "r ranks", "Enter opens"))

    def title(self) -> list[Part]:
        """Before anything is read."""
        return [Part("Compare", "name"), Part("lining up", "quiet")]


def _asked(screen: JobScreen) -> tuple[int, ...]:
    """Ranks that the person has chosen already; else the one that the cursor's row sets apart, else who is accused."""
    if not screen.scope.ranks:
        apart = screen.divergence
        return (apart.ranks if apart is not None and apart.ranks else screen.ruling.ranks)[:1]
    snapshot = screen.snapshot
    chosen = RankSet.parse(screen.scope.ranks).select(snapshot.ranks, snapshot.nodes)
    ranks = sorted({int(rank) for rank in snapshot.ranks.rank[chosen] if rank >= 0})
    return tuple(ranks) if len(ranks) <= 8 else ()


def read_columns(text: str) -> tuple[int, ...]:
    """Read columns as people type them: ranks, ranges, and `all` for what most said; raise ValueError with words."""
    columns: list[int] = []
    for item in text.replace(",", " ").split():
        if item.lower() in ("all", "most", "*"):
            columns.append(CONSENSUS)
            continue
        for away, low, high in RankSet.parse(item).ranges:
            if away or high - low >= MOST_COLUMNS:
                raise ValueError(f"{item!r}: up to {MOST_COLUMNS} ranks are compared")
            columns += range(low, high + 1)
    columns = list(dict.fromkeys(columns))
    if len(columns) == 1 and columns[0] != CONSENSUS:
        columns.insert(0, CONSENSUS)
    if not 2 <= len(columns) <= MOST_COLUMNS:
        raise ValueError(f"2 to {MOST_COLUMNS} columns are compared: all,17 or 3,4,5")
    return tuple(columns)
