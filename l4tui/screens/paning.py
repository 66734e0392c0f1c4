"""A screen with panes: one at a time beside the log, below it, or in its place where there is no room for both."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Container
from textual.message import Message
from textual.screen import Screen

from l4tui import panes
from l4tui.study import Analyst, Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from l4tui.engine.snapshot import Snapshot
    from l4tui.gauges import Gauges
    from l4tui.panes.pane import Pane
    from l4tui.widgets.logview import LogView

BESIDE = 150  # cells of width from which a pane stands beside the log
BELOW = 34  # and rows of height from which it stands below it
LEAST = 9  # rows of a pane below
SMALL = 1 / 3  # share of the height up to which a pane that wants no more stands below the log on any screen
REST_LEAST_S = 1.0  # and at least so long
REST = 4.0  # a study is followed by a pause this many times as long as it took


class PaneScreen(Screen[None]):
    """Opens panes and keeps them up to date."""

    view: LogView
    snapshot: Snapshot

    @dataclass
    class Studied(Message):
        """The ranks have been compared."""

        study: Study

    @dataclass
    class Gathered(Message):
        """A pane has what it shows."""

        pane: Pane
        gathered: object

    def __init__(self) -> None:
        super().__init__()
        self.analyst = Analyst()
        self.study: Study | None = None
        self.pane: Pane | None = None
        self.make_gauges: Callable[[], Gauges] = plain_gauges
        self._gauges: Gauges | None = None
        self._left: dict[str, dict[str, object]] = {}  # what panes are to know when they are opened again
        self._studying = False
        self._study_from = 0.0  # monotonic time before which no other study begins

    @property
    @abstractmethod
    def is_live(self) -> bool:
        """Whether more is being written."""

    @abstractmethod
    def in_thread(self, work: Callable[[], None], group: str) -> None:
        """Run off the thread that draws."""

    @abstractmethod
    def studied(self, study: Study) -> None:
        """Take over a comparison of the ranks."""

    # Panes

    def open_pane(self, name: str) -> None:
        """Open a pane; the one that is open is closed, by its own key for good."""
        was = self.pane_name
        self.close_pane()
        if was != name:
            pane = self.pane = panes.make(name, self)  # type: ignore[arg-type]
            pane.recall(self._left.get(name, {}))
            self.query_one("#body", Container).mount(pane)
            self._lay_out_pane()
            pane.focus()
            self.call_after_refresh(self.gather)  # when the pane knows its size

    def gauges(self) -> Gauges:
        """Give the job's series; what has been read of them stays when the pane is closed."""
        if self._gauges is None:
            self._gauges = self.make_gauges()
        return self._gauges

    def close_pane(self) -> None:
        """Close the pane, if one is open."""
        if self.pane is not None:
            self._left[self.pane_name] = self.pane.leave()
            pane, self.pane = self.pane, None
            pane.remove()
            self.view.display = True
            self.view.focus()

    @property
    def pane_name(self) -> str:
        """Name of the pane that is open; empty: none."""
        return type(self.pane).__module__.rpartition(".")[2] if self.pane is not None else ""

    @property
    def is_pane_alone(self) -> bool:
        """Whether a pane has the log's place."""
        return self.pane is not None and not self.view.display

    def switch_focus(self) -> None:
        """Give the keys to the pane or to the log."""
        if self.pane is not None and not self.is_pane_alone:
            (self.view if self.pane.has_focus else self.pane).focus()

    def on_resize(self) -> None:
        """Find the pane's place anew."""
        self._lay_out_pane()

    def _lay_out_pane(self) -> None:
        pane, body = self.pane, self.query_one("#body", Container)
        if pane is None:
            return
        width, height = self.size
        beside, wanted = width >= BESIDE, pane.wanted_rows(width) + 1  # and its border
        is_small = 1 < wanted <= height * SMALL
        alone = pane.is_whole or not (beside or height >= BELOW or is_small)
        body.styles.layout = "horizontal" if beside else "vertical"
        pane.set_class(beside and not alone, "-beside")
        pane.set_class(not beside and not alone, "-below")
        pane.styles.width = "1fr" if alone or not beside else round(width * pane.share)
        most = max(round(height * pane.share), LEAST)
        pane.styles.height = "1fr" if alone or beside else min(most, wanted) if wanted > 1 else most
        self.view.display = not alone
        if alone and self.view.has_focus:  # the prompt keeps the keys that are typed into it
            pane.focus()

    def gather(self) -> None:
        """Have the open pane gather anew what it shows."""
        pane, study = self.pane, self.study
        if pane is None or study is None:
            return

        def work() -> None:
            self.post_message(self.Gathered(pane, pane.gather(study)))

        self.in_thread(work, "pane")

    @on(Gathered)
    def _gathered(self, event: Gathered) -> None:
        if event.pane is self.pane:
            event.pane.show(event.gathered)
            self._lay_out_pane()

    # Studies

    def study_on(self, *, final: bool) -> None:
        """Compare the ranks of the newest snapshot, if it is another and the last comparison lies back enough."""
        known = self.study.snapshot if self.study is not None else None
        if self._studying or self.snapshot is known or time.monotonic() < self._study_from:
            return
        self._studying = True
        self.in_thread(lambda: self._study(self.snapshot, final), "study")

    def _study(self, snapshot: Snapshot, final: bool) -> None:
        began = time.monotonic()
        try:
            self.post_message(self.Studied(self.analyst.study(snapshot, final=final)))
        finally:
            now = time.monotonic()
            self._study_from = now + max(REST * (now - began), REST_LEAST_S)
            self._studying = False

    @on(Studied)
    def _studied(self, event: Studied) -> None:
        self.study = event.study
        self.studied(event.study)
        self.gather()


def plain_gauges() -> Gauges:
    """Make gauges of the log alone."""
    from l4tui.engine.telemetry import TelemetryIndex
    from l4tui.gauges import Gauges

    return Gauges(TelemetryIndex(), tuple)
