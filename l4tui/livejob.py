"""A job that is read and followed: what the feed of the screen drives from its thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING

from l4tui.engine.follow import Change, ChangeKind, Follower
from l4tui.engine.job import Job

if TYPE_CHECKING:
    from l4tui.engine.discovery import Found
    from l4tui.engine.snapshot import Snapshot


class LiveJob:
    """Reads a job to its end and, if asked, on from there."""

    def __init__(self, job: Job, found: Found | None, *, follow: bool) -> None:
        self._job = job
        self._follow = follow
        self._stop = Event()
        self._follower = Follower(job.sources, found) if follow else None

    def snapshot(self) -> Snapshot:
        """Give a frozen view."""
        return self._job.snapshot()

    def read_all(self, stop: Event, progress: Callable[[int, int], None]) -> None:
        """Read all there is; a last line without its end counts when nothing more is awaited."""
        self._stop = stop
        self._job.read_all(stop, progress, final=not self._follow)

    def wait(self) -> None:
        """Sleep until there may be something new."""
        if self._follower is not None:
            self._follower.wait(self._follower.delay())

    def wake(self) -> None:
        """End a `wait` from another thread."""
        if self._follower is not None:
            self._follower.wake()

    def poll(self) -> bool:
        """Read what has grown or appeared and note what happened; True when anything did."""
        if self._follower is None:
            return False
        changed = False
        for change in self._follower.poll(time.monotonic()):
            changed = self._take(change) or changed
        return changed

    def close(self) -> None:
        """Leave the files alone."""
        if self._follower is not None:
            self._follower.close()

    def _take(self, change: Change) -> bool:
        source = change.source
        if change.kind is ChangeKind.APPEARED:
            source.index = len(self._job.sources)
            self._job.add_source(source)
        if change.note:
            self._job.note(source.index, change.note)
        grown = self._job.read_more(source.index, self._stop, final=change.kind is ChangeKind.ENDED)
        return grown or bool(change.note)
