"""A screen whose job is judged: again and again while it runs, once more when it has come to rest."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.screen import Screen

from l4tui.engine.model import UNKNOWN
from l4tui.judge import Ruling

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot
    from l4tui.panes.pane import Pane

EVERY_S = 5.0  # seconds between two judgements of a growing job, at least
REST = 1.5  # times the last judgement took that lie between


class JudgeScreen(Screen[None]):
    """Asks a judge, who works elsewhere, and takes over what he says."""

    snapshot: Snapshot
    pane: Pane | None

    @dataclass
    class Judged(Message):
        """The job has been judged."""

        ruling: Ruling
        generation: int  # of the snapshot

    judge: Callable[[Snapshot], Ruling]

    def __init__(self) -> None:
        super().__init__()
        self.end_judging: Callable[[], None] = lambda: None  # the judge's, whatever he is at
        self.ruling = Ruling(-1, "")
        self._judging = self._has_judged = False  # the first time takes longer: the judge has to come first
        self._judge_from = 0.0  # monotonic time before which a growing job is not judged again

    @abstractmethod
    def say(self, words: str, style: str = "busy") -> None:
        """Tell the person something."""

    @abstractmethod
    def tell(self) -> None:
        """Say how things stand."""

    @abstractmethod
    def mark_leads(self) -> None:
        """Take over what a new verdict rests on."""

    @abstractmethod
    def in_thread(self, work: Callable[[], None], group: str) -> None:
        """Run off the thread that draws."""

    def judge_on(self, *, at_rest: bool) -> None:
        """Have the newest snapshot judged, unless it has been; `at_rest`: nothing more is being written."""
        known = self.ruling.version == self.snapshot.version and (self.ruling.is_final or not at_rest)
        if self._judging or known or not self.snapshot.length:
            return
        if at_rest or time.monotonic() >= self._judge_from:
            self._judging = True
            self.in_thread(lambda: self._judge(self.snapshot, at_rest), "verdict")

    def judged_anew(self) -> None:
        """Entries mean something else now: keep the words, until they are judged again."""
        self.ruling = self.ruling._replace(version=-1, entry=UNKNOWN, opinion=None, is_final=False)

    def judge_anew(self) -> None:
        """Have it judged once more: what it is judged by has changed."""
        self.ruling = self.ruling._replace(version=-1)
        self._judge_from = 0.0

    def _judge(self, snapshot: Snapshot, at_rest: bool) -> None:
        began = time.monotonic()
        try:
            ruling = self.judge(snapshot)
        except Exception as error:  # told once, not judged again until there is more
            ruling = Ruling(snapshot.version, "")
            self.app.call_from_thread(self.say, f"no verdict: {type(error).__name__}: {error}", "error")
        self.post_message(self.Judged(ruling._replace(is_final=at_rest and snapshot.is_complete), snapshot.generation))
        now = time.monotonic()
        self._judge_from = now + (max(EVERY_S, REST * (now - began)) if self._has_judged else EVERY_S)
        self._has_judged = True
        self._judging = False

    @on(Judged)
    def _judged(self, event: Judged) -> None:
        self.ruling = event.ruling
        if event.generation != self.snapshot.generation:
            self.judged_anew()
        self.mark_leads()
        if self.pane is not None:
            self.pane.judged(self.ruling)
        self.tell()
