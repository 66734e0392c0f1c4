"""Telemetry: a list of series with their runs, and a chart whose cursor is tied to the log's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.message import Message
from textual.strip import Strip

from l4tui.gauges import Axis, Gauge, Gauges, telling
from l4tui.panes.charting import ChartPane
from l4tui.panes.plotting import Drawing, Request, make, number
from l4tui.widgets.bars import Part, bar
from l4tui.widgets.cells import clean, fit
from l4tui.widgets.glyphs import sparkline

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot
    from l4tui.screens.job import JobScreen
    from l4tui.study import Study

BESIDE = 88  # cells of width from which list and chart stand side by side
LIST_WIDTH = 34
SPARK = 10  # cells of a run in the list
WINDOWS = (1, 5, 20, 100)  # columns that smoothing goes over
HINTS = ("/ search", "h l cursor", "+ - zoom", "m pin", "v ranks", "[ ] rank", "% log", "~ smooth")
MOST_PINNED = 6
ZOOM = 2.0


class Listed(NamedTuple):
    """What reading brings."""

    gauges: list[Gauge]
    snapshot: Snapshot
    axis: Axis
    is_done: bool


class Shown(ChartPane):
    """Shows series and a chart of those that are pinned and the one under the cursor."""

    heading = "Telemetry"
    share = 0.5
    lasting = ("at", "is_chosen", "pinned", "wanted", "zoom", "is_log", "window", "each", "rank")

    @dataclass
    class Drawn(Message):
        """A chart has been drawn."""

        drawing: Drawing
        turn: int

    @dataclass
    class Read(Message):
        """Some more has been read."""

        listed: Listed

    def __init__(self, screen: JobScreen) -> None:
        super().__init__(screen)
        self.gauges: Gauges = screen.gauges()
        self.listed: Listed | None = None
        self.at = self.top = 0
        self.is_chosen = False  # a person has said which series; until then it is the one that tells most
        self.pinned: list[str] = []
        self.wanted = ""  # part of the names that are listed
        self.zoom: tuple[float, float] | None = None
        self.is_log = False
        self.window = 0  # index into WINDOWS
        self.each = False  # a line for every rank instead of the band
        self.rank: int | None = None  # shown alone
        self.sparks: dict[str, str] = {}
        self._turn = 0
        self._stop = Event()

    # Reading

    def gather(self, study: Study) -> object:
        """Read what is new, telling of it in between; called from a thread."""
        snapshot = study.snapshot
        axis = self.gauges.axis(snapshot, study.timeline)
        while not self._stop.is_set() and self.gauges.read(snapshot):
            self.post_message(self.Read(Listed(self.gauges.names(), snapshot, axis, False)))
        return Listed(self.gauges.names(), snapshot, axis, True)

    def show(self, gathered: object) -> None:
        """Take over a list of series, keeping the cursor's one; draw anew."""
        if not isinstance(gathered, Listed):
            return
        name = self.current.name if self.current is not None else ""
        first = self.listed is None
        self.listed = gathered
        names = [gauge.name for gauge in self.shown]
        if not self.is_chosen and names:
            self.at = telling(names, self.host.ruling.sentence)
        elif name in names:
            self.at = names.index(name)
        if first:
            self._look_at_log()
        self.draw()

    @on(Read)
    def _read(self, event: Read) -> None:
        self.show(event.listed)

    def on_unmount(self) -> None:
        """Read no further."""
        self._stop.set()

    @property
    def shown(self) -> list[Gauge]:
        """The series that are listed."""
        if self.listed is None:
            return []
        wanted = self.wanted.lower()
        return [g for g in self.listed.gauges if wanted in g.name.lower()]

    @property
    def current(self) -> Gauge | None:
        """The series under the cursor."""
        shown = self.shown
        return shown[min(self.at, len(shown) - 1)] if shown else None

    # Layout

    @property
    def is_beside(self) -> bool:
        """Whether list and chart stand side by side."""
        return self.size.width >= BESIDE

    @property
    def list_rows(self) -> int:
        """Rows of the list."""
        most = self.rows - 1 if self.is_beside else min(max(self.rows // 3, 3), 7, max(len(self.shown), 1))
        return max(most, 1)

    @property
    def chart_size(self) -> tuple[int, int]:
        """Cells and rows of the chart."""
        if self.is_beside:
            return self.size.width - LIST_WIDTH - 1, self.rows - 2
        return self.size.width, self.rows - 2 - self.list_rows

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.draw()

    # The chart

    def draw(self) -> None:
        """Have the chart drawn, and the runs of the listed series."""
        self._reveal()
        self.refresh()
        listed = self.listed
        if listed is None or self.size.width < 1:
            return
        self._turn += 1
        width, height = self.chart_size
        current = self.current
        names = [*self.pinned, *([current.name] if current and current.name not in self.pinned else [])]
        gauges = {g.name: g for g in listed.gauges}
        request = Request(
            gauges=tuple(gauges[n] for n in names if n in gauges),
            ranks=(self.rank,) if self.rank is not None else None,
            each=self.each,
            window=WINDOWS[self.window],
            zoom=self.zoom,
            width=width,
            height=height,
            is_log=self.is_log,
            is_plain=self.app.no_color,
            is_ascii=self.host.config.ascii,
            sparks=tuple(self.shown[self.top : self.top + self.list_rows]),
        )
        turn = self._turn
        self.host.in_thread(lambda: self._make(request, listed, turn), "chart")

    def _make(self, request: Request, listed: Listed, turn: int) -> None:
        drawing = make(request, self.gauges, listed.snapshot, listed.axis)
        self.post_message(self.Drawn(drawing, turn))

    @on(Drawn)
    def _drawn(self, event: Drawn) -> None:
        if event.turn == self._turn:
            self.sparks |= {n: sparkline(v, self.signs.bars) for n, v in event.drawing.sparks.items()}
            self.take(event.drawing)

    # The two cursors

    def looked_at(self, entry: int) -> None:
        """The log's cursor has moved: move with it."""
        if self.listed is not None and not self.has_focus:
            self.cursor = self.listed.axis.of_entry(self.listed.snapshot, entry)
            self._pan()
            self.refresh()

    def _look_at_log(self) -> None:
        entry = self.host.cursor_entry
        if entry is not None and self.listed is not None and entry < self.listed.snapshot.length:
            self.cursor = self.listed.axis.of_entry(self.listed.snapshot, entry)

    def _move_cursor(self, cells: int) -> None:
        d = self.drawing
        if d is None or d.picture is None:
            return
        low, high = self.zoom or d.span
        step = (high - low) / max(d.picture.right - d.picture.left, 1)
        at = self.cursor if self.cursor == self.cursor else high
        self.cursor = min(max(at + cells * step, d.span[0]), d.span[1])
        if d.xs is not None and len(d.xs):  # onto the next sample in that direction
            ahead = d.xs[d.xs >= self.cursor - step / 2] if cells > 0 else d.xs[d.xs <= self.cursor + step / 2]
            if len(ahead):
                self.cursor = float(ahead[0] if cells > 0 else ahead[-1])
        if not self.host.is_pane_alone:
            self._show_in_log()
        self._pan()
        self.refresh()

    def _pan(self) -> None:
        """Move the zoomed window to where the cursor has gone."""
        d, window = self.drawing, self.zoom
        if d is None or window is None or self.cursor != self.cursor or window[0] <= self.cursor <= window[1]:
            return
        width = window[1] - window[0]
        low = min(max(self.cursor - width / 2, d.span[0]), d.span[1] - width)
        self.zoom = low, low + width
        self.draw()

    def _show_in_log(self) -> bool:
        entry = self.drawing.entry_at(self.cursor) if self.drawing is not None else -1
        if entry >= 0:
            self.host.show_entry(entry)
        return entry >= 0

    # Drawing

    def title(self) -> list[Part]:
        """Say what is charted and how."""
        parts = [Part(self.heading, "name")]
        if self.listed is None:
            return parts
        many = len(self.listed.gauges)
        parts.append(Part(f"{many:,} series" + ("" if self.listed.is_done else " so far"), "quiet", 1))
        if self.wanted:
            parts.append(Part(f"/{clean(self.wanted, self.host.config.ascii)}/", "chip", 2))
        how = [f"rank {self.rank}"] if self.rank is not None else ["each rank"] if self.each else []
        how += ["log scale"] if self.is_log else []
        how += [f"mean of {WINDOWS[self.window]}"] if self.window else []
        how += ["zoomed"] if self.zoom is not None else []
        parts += [Part(words, "busy", 3) for words in how]
        return [*parts, *(Part(words, "quiet", 90 + n, right=True) for n, words in enumerate(HINTS))]

    def row(self, y: int) -> list[Part] | Strip:
        """Draw list and chart, the legend, and what stands at the cursor."""
        if self.listed is None or not self.listed.gauges:
            done = self.listed is not None and self.listed.is_done
            words = "no line of this log tells a number that changes" if done else "reading"
            return [Part(f" {words}", "quiet")] if y == 0 else []
        if y == self.rows - 1:
            return self.details(self.listed.axis)
        width = self.size.width
        if self.is_beside:
            left = bar(self._list_row(y), LIST_WIDTH, self._list_style(y), self.signs.ellipsis)
            gap = Segment(f"{self.signs.bound}", self.style_of("quiet"))
            return Strip([*left, gap, *self.chart_row(y, width - LIST_WIDTH - 1)])
        if y < self.list_rows:
            return bar(self._list_row(y), width, self._list_style(y), self.signs.ellipsis)
        return self.chart_row(y - self.list_rows, width)

    def _list_row(self, y: int) -> list[Part]:
        index = self.top + y
        shown = self.shown
        if index >= len(shown):
            return []
        g = shown[index]
        sign = self.signs.cursor if index == self.at else " "
        pin = self.signs.mark if g.name in self.pinned else " "
        wide = LIST_WIDTH if self.is_beside else self.size.width
        room = max(wide - SPARK - 5, 8) if self.is_beside else min(36, wide - SPARK - 26)
        name = clean(g.name, self.host.config.ascii)
        unit = f" {g.unit}" if g.unit and g.unit not in name else ""
        odd = self.signs.failed if g.odd else " "
        parts = [Part(f"{sign}{pin}{odd}", "busy" if not g.odd else "error")]
        parts.append(Part(fit(name + unit, room, self.signs.ellipsis), "plain", glue=True))
        parts.append(Part(f"{self.sparks.get(g.name, ''):<{SPARK}}", "busy"))
        if not self.is_beside:
            parts.append(Part(f"{number(g.low)}..{number(g.high)}", "quiet", 1))
        return parts

    def _list_style(self, y: int) -> Callable[[str], Style]:
        if self.top + y != self.at:
            return self.style_of
        tint = self.tint("cursor")
        return lambda name: self.style_of(name) + tint

    def _reveal(self) -> None:
        self.at = min(max(self.at, 0), max(len(self.shown) - 1, 0))
        room = self.list_rows
        self.top = min(max(self.top, self.at - room + 1), self.at)
        self.top = max(min(self.top, len(self.shown) - room), 0)

    # Keys

    def does(self, action: str, argument: str) -> bool:
        """Move in the list and in the chart; change how it is drawn."""
        steps = {"down": 1, "up": -1, "page_down": self.list_rows, "page_up": -self.list_rows, "first": -1 << 30,
                 "last": 1 << 30, "half_down": self.list_rows // 2, "half_up": -self.list_rows // 2}  # fmt: skip
        cells = {"left": -1, "right": 1, "line_start": -1 << 20, "line_end": 1 << 20}
        if action in steps:
            self.is_chosen = True
            self.at = min(max(self.at + steps[action], 0), max(len(self.shown) - 1, 0))
            self.draw()
        elif action in cells:
            self._move_cursor(cells[action])
        elif action == "open":
            self._open()
        elif action == "search":
            self.host.prompt.ask("series", "series ", "part of its name; empty: all", self.wanted)
        elif action == "back" and self._undo():
            return True
        elif not self._changes(action):
            return super().does(action, argument)
        return True

    def _open(self) -> None:
        alone = self.host.is_pane_alone
        entry = self.drawing.entry_at(self.cursor) if self.drawing is not None else -1
        if entry < 0:
            self.host.say("no line of the log holds this value")
            return
        if alone:
            self.host.close_pane()
        self.host.show_entry(entry)

    def _undo(self) -> bool:
        for name, none in (("wanted", ""), ("zoom", None), ("rank", None)):
            if getattr(self, name) != none:
                setattr(self, name, none)
                self.draw()
                return True
        return False

    def _changes(self, action: str) -> bool:
        if action == "mark" and self.current is not None:
            self._pin(self.current.name)
        elif action == "lens":
            self.each = not self.each
        elif action in ("next_rank", "previous_rank"):
            self._other_rank(1 if action == "next_rank" else -1)
        elif action in ("zoom_in", "zoom_out"):
            self._zoom(1 / ZOOM if action == "zoom_in" else ZOOM)
        elif action == "log_scale":
            self.is_log = not self.is_log
        elif action == "smooth":
            self.window = (self.window + 1) % len(WINDOWS)
        else:
            return False
        self.draw()
        return True

    def _pin(self, name: str) -> None:
        if name in self.pinned:
            self.pinned.remove(name)
        elif len(self.pinned) < MOST_PINNED:
            self.pinned.append(name)
        else:
            self.host.say(f"{MOST_PINNED} series are pinned: m on one of them lets it go")

    def _other_rank(self, step: int) -> None:
        known = self.host.known_ranks
        if not known:
            return
        at = known.index(self.rank) + step if self.rank in known else 0 if step > 0 else len(known) - 1
        self.rank = known[at] if 0 <= at < len(known) else None

    def _zoom(self, factor: float) -> None:
        if (d := self.drawing) is None:
            return
        low, high = self.zoom or d.span  # not as drawn: several keys may come before the next picture
        middle = self.cursor if self.cursor == self.cursor and low <= self.cursor <= high else (low + high) / 2
        width = max((high - low) * factor, 1e-6)
        low = min(max(middle - width / 2, d.span[0]), d.span[1] - width)
        self.zoom = None if width >= d.span[1] - d.span[0] else (low, low + width)

    def search(self, text: str) -> None:
        """List only series whose name holds a text."""
        self.wanted, self.at, self.is_chosen = text, 0, True
        self.draw()
