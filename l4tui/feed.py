"""Two threads between a job and the screen: one reads what there is, one turns it into rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from l4tui.engine.view import Rows, Scope
from l4tui.lenses import Lens, facts_of
from l4tui.vitals import Vitals, vitals_of
from l4tui.widgets.line import Facts

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

FRAME_S = 1 / 15  # updates come no faster
WAIT_S = 5.0  # longest sleep between two looks for growth; the job wakes earlier when there is something
INDEX_S = 1.0  # and while the log is first read: lines that fly past tell nobody anything
FOLLOW_S = 0.25  # and while following no faster than this, which bounds the traffic to the terminal


class Live(Protocol):
    """What the feed needs of a job."""

    unfinished: tuple[str, bytes] | None  # path and end of a last line that is being written
    behind: int  # bytes written that are still to be read after a poll

    @property
    def troubles(self) -> Sequence[str]:
        """What could not be read or kept, in words."""

    def read_all(self, stop: threading.Event, progress: Callable[[int, int], None], final: bool) -> None:
        """Read all there is; `final`: a last line without its end is a line."""

    def wait(self, timeout: float) -> bool:
        """Sleep until there may be something new, or until woken."""

    def wake(self) -> None:
        """End a `wait` from another thread."""

    def poll(self, stop: threading.Event) -> bool:
        """Read what has been written since, of very much a part; True when something changed."""

    def snapshot(self) -> Snapshot:
        """Give a frozen view."""

    def close(self) -> None:
        """Let go of what reading needs."""


@dataclass(frozen=True, slots=True)
class Update:
    """What the screen is told: everything belongs to one snapshot and one scope."""

    snapshot: Snapshot
    scope: Scope
    lens: Lens  # that made the rows
    rows: Rows
    facts: Facts
    vitals: Vitals
    renumbered: bool  # entry ids mean something else than before
    relabelled: bool  # ranks of known lines have been learnt or corrected
    error: str = ""


class Feed:
    """Reads and views in the background; `post` gets at most one Update until `taken` is called."""

    def __init__(self, job: Live, lenses: dict[str, Lens], post: Callable[[Update], None], *, follow: bool) -> None:
        self._job, self._lenses, self._post, self._follow = job, lenses, post, follow
        self._stop = threading.Event()
        self._wake = threading.Condition()
        self._scope = Scope()
        self._dirty = self._rescoped = False
        self._interval = FRAME_S
        self._building = threading.Event()  # set when what is being made is no longer wanted
        self._making = False  # an update is being made
        self._free = True  # the screen has taken the last update
        self._reading = threading.Event()
        self._reading.set()
        self.progress = 0.0  # share of the bytes read at first
        self.indexed = (0, 0)  # bytes read of how many; 0: nobody can tell
        self.grown_at: float | None = None  # monotonic time of the last growth after the first reading
        self.failure = ""
        self._last: tuple[int, np.ndarray] | None = None
        self._threads = [
            threading.Thread(target=self._read, name="l4tui-reader", daemon=True),
            threading.Thread(target=self._view, name="l4tui-viewer", daemon=True),
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop both threads; returns when they have ended or half a second later."""
        self._stop.set()
        self._building.set()
        self._reading.set()
        self._job.wake()
        with self._wake:
            self._wake.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(0.5)
        self._job.close()

    @property
    def scope(self) -> Scope:
        """What is asked for."""
        return self._scope

    @property
    def reading(self) -> bool:
        """Whether growth is read."""
        return self._reading.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether everything has been read and the screen has taken all of it."""
        with self._wake:
            return self.progress >= 1.0 and self._free and not (self._dirty or self._rescoped) and not self._making

    @property
    def unfinished(self) -> tuple[str, bytes] | None:
        """Path and end of the last line, as long as it is being written."""
        return self._job.unfinished

    @property
    def behind(self) -> int:
        """Bytes written that are still to be read."""
        return self._job.behind

    @property
    def troubles(self) -> Sequence[str]:
        """What could not be read or kept, in words."""
        return self._job.troubles

    def set_scope(self, scope: Scope) -> None:
        """Ask for other rows; they come as an update."""
        with self._wake:
            self._scope, self._rescoped = scope, True
            self._building.set()  # what is being made for the old scope is of no use
            self._wake.notify_all()

    def set_reading(self, reading: bool) -> None:
        """Pause reading, or go on."""
        (self._reading.set if reading else self._reading.clear)()

    def set_following(self, following: bool) -> None:
        """Tell whether the screen moves with what is written."""
        self._interval = FOLLOW_S if following else FRAME_S

    def taken(self) -> None:
        """Say that the screen has shown the last update."""
        with self._wake:
            self._free = True
            self._wake.notify_all()

    def _changed(self) -> None:
        with self._wake:
            self._dirty = True
            self._wake.notify_all()

    def _read(self) -> None:
        try:
            self._job.read_all(self._stop, self._on_progress, not self._follow)
            self.progress = 1.0
            self._changed()
            while self._follow and not self._stop.is_set():
                self._job.wait(WAIT_S)
                self._reading.wait()
                if not self._stop.is_set() and self._job.poll(self._stop):
                    self.grown_at = time.monotonic()
                    self._changed()
        except Exception as error:
            self.failure = f"reading stopped: {type(error).__name__}: {error}"
            self._changed()

    def _on_progress(self, done: int, total: int) -> None:
        self.indexed, self.progress = (done, total), done / total if total else 0.0
        self._changed()

    def _view(self) -> None:
        shown = 0.0
        while not self._stop.is_set():
            with self._wake:
                self._wake.wait_for(lambda: self._stop.is_set() or (self._free and (self._dirty or self._rescoped)))
            if self._wait(shown):
                return
            with self._wake:
                self._dirty = self._rescoped = False
                self._making = True
                self._building = threading.Event()
                scope, building = self._scope, self._building
            try:
                update = self._update(scope, building)
            except Exception as error:  # the thread must outlive it: the next state may be sound
                self.failure = f"viewing failed: {type(error).__name__}: {error}"
                self._making = False
                continue
            with self._wake:
                self._making = False
                if self._stop.is_set() or building.is_set():
                    continue
                self._free = False
                self._dirty = self._dirty or update.lens.lacks(update.snapshot, update.rows)
            self._last = (update.snapshot.generation, update.snapshot.ranks.rank)
            shown = time.monotonic()
            self._post(update)

    def _wait(self, shown: float) -> bool:
        """Wait for the next frame, but not when the scope or the first reading is done; True when it is time to end."""
        indexing = self.progress < 1.0
        due = shown + (INDEX_S if indexing else self._interval) - time.monotonic()
        with self._wake:
            self._wake.wait_for(
                lambda: self._stop.is_set() or self._rescoped or (indexing and self.progress >= 1.0), max(due, 0)
            )
        return self._stop.is_set()

    def _update(self, scope: Scope, stop: threading.Event) -> Update:
        snapshot = self._job.snapshot()
        error, lens = self.failure, self._lenses[scope.lens]
        try:
            rows = lens.rows(snapshot, scope, stop)
        except Exception as problem:  # a scope must never end the thread: show all and say so
            error = str(problem) or type(problem).__name__
            lens = self._lenses["lines"]
            rows = lens.rows(snapshot, Scope(), stop)
        generation, ranks = snapshot.generation, snapshot.ranks.rank
        renumbered = relabelled = False
        if self._last is not None:
            renumbered = generation != self._last[0]
            common = min(len(ranks), len(self._last[1]))
            relabelled = not np.array_equal(ranks[:common], self._last[1][:common])
        facts = lens.facts(snapshot, facts_of(snapshot))
        return Update(snapshot, scope, lens, rows, facts, vitals_of(snapshot), renumbered, relabelled, error)
