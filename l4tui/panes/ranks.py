"""The grid of ranks: a cell each, by node, its state as glyph and colour; Enter shows the rank alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich.segment import Segment
from textual.strip import Strip

from l4tui.engine.matrix import State, states
from l4tui.engine.model import NO_TIME, Kind, LineClass
from l4tui.engine.stall import pace_of
from l4tui.lenses import node_labels
from l4tui.panes.pane import Pane
from l4tui.widgets.bars import Part
from l4tui.widgets.cells import clean, fit
from l4tui.widgets.gutter import clock

if TYPE_CHECKING:
    from l4tui.engine.progress import Ranks
    from l4tui.engine.snapshot import Snapshot
    from l4tui.screens.job import JobScreen
    from l4tui.study import Study

SUSPECT, FAILED = "suspect", "failed"
ORDER = (SUSPECT, FAILED, State.SILENT, State.BEHIND, State.AHEAD, State.WITH)
STYLES_OF = {SUSPECT: "error", FAILED: "odd", State.SILENT: "warning", State.BEHIND: "busy", State.AHEAD: "busy"}
LABEL_MAX = 12  # cells of a node's name
GAP = 2  # cells between two nodes
WORDS_LEAST = 24  # cells to which what sets a rank apart is cut before other details go
THIS = re.compile(r"\bthis\b")
TEXT_MAX = 400  # characters of a line that are told
MANY = 0.25  # share of the ranks from which a failure is no news
CHUNK = 64  # cells of a node in one row


class Cell(NamedTuple):
    """One rank."""

    rank: int
    node: str
    state: str
    lines: int
    time: int  # of the last line, ns UTC
    iteration: int
    words: str  # what sets it apart
    machine: str = ""  # the node's whole name


class Group(NamedTuple):
    """Cells of one node that stand in one row."""

    label: str
    first: int  # index of the first cell
    size: int


class Shown(Pane):
    """Shows the grid, a cursor in it, and a line on the rank under it."""

    heading = "Ranks"
    share = 0.4
    lasting = ("cells", "at", "_is_chosen")

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.cells: list[Cell] = []
        self.at = 0  # cell under the cursor
        self.top = 0
        self._lines: list[list[Group]] = []
        self._many_failed = False
        self._is_chosen = False  # the person has moved the cursor
        self._cell = 1  # cells of the terminal for a rank
        self._laid_out = (0, 0, 0)

    def gather(self, study: Study) -> object:
        """Find every rank's state."""
        return cells_of(study, self.host.ruling.ranks, self.host.config.ascii)

    def show(self, gathered: object) -> None:
        """Take over the cells, keeping the cursor's rank."""
        rank = self.cells[self.at].rank if self.cells else -1
        self.cells = gathered if isinstance(gathered, list) else []
        ranks = [cell.rank for cell in self.cells]
        worst = min(range(len(ranks)), key=lambda i: (ORDER.index(self.cells[i].state), i), default=0)
        self.at = ranks.index(rank) if rank in ranks and self._is_chosen else worst
        self._laid_out = (0, 0, 0)
        failed = sum(cell.state == FAILED for cell in self.cells)
        self._many_failed = failed > MANY * len(self.cells)  # then the eye is not drawn to all of them
        self.refresh()

    # Layout

    def wanted_rows(self, width: int) -> int:
        """As many as the grid has, the heading, a blank and the details; few until that is known."""
        digits = len(str(max((cell.rank for cell in self.cells), default=0)))
        return len(flow(self.cells, width - 1, digits + 2)) + 3

    def _lay_out(self) -> None:
        wanted = (self.size.width, self.rows, len(self.cells))
        if wanted == self._laid_out:
            return
        self._laid_out = wanted
        digits = len(str(max((cell.rank for cell in self.cells), default=0)))
        for self._cell in (digits + 2, 1):
            self._lines = flow(self.cells, self.size.width - 1, self._cell)
            if len(self._lines) <= self.rows - 2:
                break
        self._reveal()

    def _reveal(self) -> None:
        line = self._line_of(self.at)
        room = max(self.rows - 2, 1)
        self.top = min(max(self.top, line - room + 1), line)
        self.top = max(min(self.top, len(self._lines) - room), 0)

    def _line_of(self, index: int) -> int:
        for y, groups in enumerate(self._lines):
            if groups and index < groups[-1].first + groups[-1].size:
                return y
        return 0

    # Drawing

    def title(self) -> list[Part]:
        """Count the states."""
        parts = [Part("Ranks", "name"), Part(f"{len(self.cells):,}", "quiet", 1)]
        for i, state in enumerate(ORDER[:-1]):
            many = sum(cell.state == state for cell in self.cells)
            if many:
                parts.append(Part(f"{self.sign(state)} {many:,} {state}", STYLES_OF[state], 2 + i))
        parts.append(Part("Enter shows one alone", "quiet", 90, right=True))
        return parts

    def sign(self, state: str) -> str:
        """Give the glyph of a state."""
        return str(getattr(self.signs, f"rank_{state}"))

    def row(self, y: int) -> list[Part] | Strip:
        """Draw a row of nodes; the last row tells of the rank under the cursor."""
        self._lay_out()
        if y == self.rows - 1:
            return self._details()
        if y == self.rows - 2 or self.top + y >= len(self._lines):
            return []
        plain = self.style_of("plain")
        segments = [Segment(" ", plain)]
        for n, group in enumerate(self._lines[self.top + y]):
            segments.append(Segment(" " * GAP if n else "", plain))
            label = _label_width(self.cells)
            if label:
                segments.append(Segment(fit(group.label, label, self.signs.ellipsis) + " ", self.style_of("quiet")))
            for i in range(group.first, group.first + group.size):
                segments.append(self._drawn(i))
        return Strip(segments)

    def _drawn(self, index: int) -> Segment:
        cell = self.cells[index]
        text = self.sign(cell.state)
        if self._cell > 1:
            text = f"{text}{cell.rank:<{self._cell - 1}}"
        name = STYLES_OF.get(cell.state, "quiet")
        style = self.style_of("quiet" if cell.state == FAILED and self._many_failed else name)
        if index == self.at:
            style = self.style_of("chip") + style
        return Segment(text, style)

    def _details(self) -> list[Part]:
        if not self.cells:
            return [Part("no rank is known in this log", "quiet")]
        cell = self.cells[self.at]
        parts = [Part(f" rank {cell.rank}", "name"), Part(cell.machine, "plain", 3)]
        parts.append(Part(cell.state, STYLES_OF.get(cell.state, "ok"), 0))
        if cell.iteration >= 0:
            parts.append(Part(f"iteration {cell.iteration:,}", "plain", 2))
        if cell.time != NO_TIME:
            parts.append(Part(f"last line {clock(cell.time, 8)}", "quiet", 4))
        parts.append(Part(f"{cell.lines:,} lines", "quiet", 5))
        parts.append(Part(cell.words, "plain", 1, least=WORDS_LEAST))
        return parts

    # Keys

    def does(self, action: str, argument: str) -> bool:
        """Move among the cells; Enter shows the rank alone."""
        if action in ("left", "right"):
            self._go(self.at + (1 if action == "right" else -1))
        elif action in ("up", "down", "page_up", "page_down", "half_up", "half_down"):
            step = 1 if action.startswith(("up", "down")) else max(self.rows - 3, 1)
            self._go_lines(step if action.endswith("down") else -step)
        elif action in ("first", "last"):
            self._go(0 if action == "first" else len(self.cells) - 1)
        elif action in ("next_divergent", "previous_divergent", "next_error", "previous_error"):
            self._go_odd(1 if action.startswith("next") else -1)
        elif action == "open" and self.cells:
            self.scope_to(str(self.cells[self.at].rank))
        else:
            return super().does(action, argument)
        return True

    def _go(self, index: int) -> None:
        self._is_chosen = True
        self.at = min(max(index, 0), max(len(self.cells) - 1, 0))
        self._reveal()
        self.refresh()

    def _go_lines(self, step: int) -> None:
        """Move by rows, staying at the same place within the row as far as it goes."""
        line = self._line_of(self.at)
        wanted = min(max(line + step, 0), len(self._lines) - 1)
        if self._lines and wanted != line:
            ahead = self.at - self._lines[line][0].first
            last = self._lines[wanted][-1]
            self._go(min(self._lines[wanted][0].first + ahead, last.first + last.size - 1))

    def _go_odd(self, step: int) -> None:
        odd = [i for i, cell in enumerate(self.cells) if cell.state != State.WITH]
        ahead = [i for i in odd if (i - self.at) * step > 0]
        if odd:
            self._go((ahead or odd)[0 if step > 0 else -1])


def flow(cells: list[Cell], width: int, cell: int) -> list[list[Group]]:
    """Set the nodes in rows, as many side by side as fit; a node of many ranks is cut."""
    label = _label_width(cells)
    most = max(min((width - label - 1) // cell, CHUNK), 1)
    groups: list[Group] = []
    for i, one in enumerate(cells):
        last = groups[-1] if groups else None
        if last is not None and cells[last.first].node == one.node and last.size < most:
            groups[-1] = last._replace(size=last.size + 1)
        else:
            groups.append(Group(one.node if last is None or cells[i - 1].node != one.node else "", i, 1))
    widest = max((group.size for group in groups), default=1) * cell + (label + 1 if label else 0)
    per_row = max((width + GAP) // (widest + GAP), 1)
    return [groups[at : at + per_row] for at in range(0, len(groups), per_row)]


def _label_width(cells: list[Cell]) -> int:
    return min(max((len(cell.node) for cell in cells), default=0), LABEL_MAX)


def cells_of(study: Study, accused: tuple[int, ...], ascii_only: bool) -> list[Cell]:
    """Say for every known rank how it is doing, grouped by node."""
    snapshot, ranks = study.snapshot, study.ranks
    now = int(ranks.time.max(initial=NO_TIME))
    silent = pace_of(study.timeline, ranks, now).silent_ranks if now != NO_TIME else ()
    judged = states(ranks.rank, ranks.iteration, silent)
    failed = failed_ranks(snapshot, ranks)
    words: dict[int, str] = {}
    for stop, text in zip(study.survey.stops[::-1], _texts(study), strict=True):
        words |= dict.fromkeys(stop.ranks, _with_text(stop.words, text))
    if not accused and study.survey.stops:  # nobody is judged yet: who stands apart most
        accused = study.survey.stops[0].ranks
    labels = node_labels(tuple(snapshot.nodes))
    cells = []
    for i, rank in enumerate(ranks.rank.tolist()):
        state: str = judged[i]
        if rank in accused:
            state = SUSPECT
        elif rank in failed:
            state = FAILED
        node = int(ranks.node[i])
        label = clean(labels[node], ascii_only) if node >= 0 else ""
        said = clean(words.get(rank, ""), ascii_only)
        facts = int(ranks.lines[i]), int(ranks.time[i]), int(ranks.iteration[i])
        machine = clean(snapshot.nodes[node], ascii_only) if node >= 0 else ""
        cells.append(Cell(rank, label, state, *facts, said, machine))
    nodes = dict.fromkeys(cell.node for cell in cells)
    order = {node: i for i, node in enumerate(nodes)}
    return sorted(cells, key=lambda cell: (order[cell.node], cell.rank))


def _texts(study: Study) -> list[str]:
    """Read the lines of what sets ranks apart, the most telling last."""
    return study.snapshot.texts([stop.entry for stop in study.survey.stops[::-1]], TEXT_MAX)


def _with_text(words: str, text: str) -> str:
    """Say which line is meant where the log is not there to point at: "rank 9 did not say this" ends in its text."""
    return f"{words}: {text}" if text and THIS.search(words) else words


def failed_ranks(snapshot: Snapshot, ranks: Ranks) -> frozenset[int]:
    """Return the ranks that raised an exception in the last attempt and came to no later iteration after it."""
    raised = np.flatnonzero((snapshot.plans.line_class == LineClass.RAISED)[snapshot.plan])
    who = snapshot.speaker[raised]
    of_rank = snapshot.ranks.kind[who] == Kind.RANK
    of_rank &= snapshot.ranks.attempt[who] == snapshot.ranks.attempt.max(initial=0)
    rank, iteration = snapshot.ranks.rank[who[of_rank]], snapshot.iteration[raised[of_rank]]
    known = np.isin(rank, ranks.rank)
    rank, iteration = rank[known], iteration[known]
    came_to = ranks.iteration[np.searchsorted(ranks.rank, rank)]
    return frozenset(np.unique(rank[came_to <= iteration]).tolist())
