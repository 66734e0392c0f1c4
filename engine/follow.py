"""Following: one loop that looks at all sources and says what happened to them.

Growth is seen by size, because network file systems send no events from other hosts: a source that grew within the
last 10 s is looked at every 200 ms, all others in turn within 5 s. Events of the file system only bring a look forward.
Whether the path still leads to the file is asked less often, since it costs ten times as much as the size.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath

from l4tui.engine.discovery import Finder, Found, name_sources
from l4tui.engine.grouping import job_id
from l4tui.engine.sources import Source
from l4tui.engine.wake import Waker
from l4tui.engine.watched import HOT_EVERY, Change, ChangeKind, Watched, still

COLD_WITHIN = 5.0  # seconds
TICK = 0.5  # seconds between two shares of the others
SEARCH_EVERY = 5.0  # for new files; a search may take SEARCH_SHARE of the time
SEARCH_SHARE = 0.001
MOST_STRANGERS = 10_000

__all__ = ["Change", "ChangeKind", "Follower", "belongs_to"]


class Follower:
    """Looks at sources whenever its owner's thread calls `poll`; make it before the first reading.

    `found` and `accept` serve to find new files: `accept` says whether one belongs to the job.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        found: Found | None = None,
        *,
        accept: Callable[[Source], bool] | None = None,
        wake: bool = True,
    ) -> None:
        self._news = threading.Event()
        self._finder: Finder | None = found.finder if found is not None and found.roots else None
        self._accept = accept or belongs_to(sources, found)
        self._waker = Waker(self._news) if wake else None
        self._sources = list(sources)
        self._hot: dict[Watched, None] = {}
        self._cold: deque[Watched] = deque()
        self._by_path: dict[str, Watched] = {}
        self._polled_at = math.nan
        self._search_at = -math.inf
        self._search_after = SEARCH_EVERY
        self._strangers: set[str] = set()
        self._is_search_wanted = False
        for source in sources:
            self._add(source)
        self._watch_folders()

    def _add(self, source: Source) -> None:
        one = Watched(source)
        if source.feed is not None:
            source.feed.on_data = self._news.set
            self._hot[one] = None
        else:
            self._queue(one)
        if one.path:
            self._by_path[one.path] = one

    def _queue(self, one: Watched) -> None:
        if not one.is_queued:
            one.is_queued = True
            self._cold.append(one)

    def wait(self, timeout: float) -> bool:
        """Sleep until the file system or a pipe has news, or time is up; True for news."""
        told = self._news.wait(timeout)
        self._news.clear()
        return told

    def wake(self) -> None:
        """End a `wait` from another thread."""
        self._news.set()

    def delay(self) -> float:
        """Return how long `wait` may sleep before the next `poll` has something to look at."""
        return HOT_EVERY if self._hot else TICK if self._cold else SEARCH_EVERY

    def close(self) -> None:
        """End the thread that listens to the file system."""
        if self._waker is not None:
            self._waker.close()

    def poll(self, now: float) -> list[Change]:
        """Look at what is due at `now` (seconds of a monotonic clock) and return what happened."""
        changes: list[Change] = []
        for one in self._due(now):
            changes += self._look(one, now)
        if self._finder is not None and self._is_search_due(now):
            self._search(now, changes)
        self._polled_at = now
        return changes

    def _due(self, now: float) -> list[Watched]:
        """Return the sources to look at."""
        due: dict[Watched, None] = {}
        if len(self._strangers) > MOST_STRANGERS:
            self._strangers.clear()
        for path in self._waker.take() if self._waker is not None else ():
            one = self._by_path.get(path)
            if one is None:  # worth one search; files beside the logs are written to all the time
                self._is_search_wanted = self._is_search_wanted or path not in self._strangers
                self._strangers.add(path)
            else:
                one.name_at = now
                due[one] = None
        for one in list(self._hot):
            if one.look_at <= now or one.source.feed is not None:
                due[one] = None
        elapsed = now - self._polled_at
        share = len(self._cold) if math.isnan(elapsed) else math.ceil(len(self._cold) * elapsed / COLD_WITHIN)
        quiet = []
        for one in [self._cold.popleft() for _ in range(min(len(self._cold), share))]:
            one.is_queued = False
            if one not in self._hot:  # else it warmed up while it stood in the queue
                self._queue(one)
                quiet.append(one)
        due |= dict.fromkeys(one for one, is_still in zip(quiet, still(quiet, now), strict=True) if not is_still)
        return list(due)

    def _look(self, one: Watched, now: float) -> list[Change]:
        changes = one.look(now)
        if one.is_hot(now):
            self._hot[one] = None
        elif one in self._hot:
            del self._hot[one]
            if not one.is_ended:
                self._queue(one)
        return changes

    def _is_search_due(self, now: float) -> bool:
        if math.isinf(self._search_at):
            self._search_at = now  # discovery has just looked
        waited = now - self._search_at
        least = max(HOT_EVERY, self._search_after / 20)
        return waited >= (least if self._is_search_wanted else self._search_after)

    def _search(self, now: float, changes: list[Change]) -> None:
        began = time.thread_time()
        appeared = [s for s in self._finder.look_again() if self._accept(s)] if self._finder is not None else []
        self._search_at, self._is_search_wanted = now, False
        self._search_after = max(SEARCH_EVERY, (time.thread_time() - began) / SEARCH_SHARE)
        if not appeared:
            return
        names = [source.name for source in self._sources]
        self._sources += appeared
        name_sources(self._sources)
        for source, name in zip(self._sources, names, strict=False):
            source.name = name  # what was told of earlier ones stands
        for index, source in enumerate(appeared, len(names)):
            source.index = index
            self._add(source)
            changes.append(Change(ChangeKind.APPEARED, source, 0, f"{source.path}: new file"))
        self._watch_folders()

    def _watch_folders(self) -> None:
        if self._waker is not None:
            # abspath, not resolve: events name files as their folder was named
            roots: Iterable[str] = self._finder.roots if self._finder is not None else ()
            folders = {str(PurePath(path).parent) for path in self._by_path}
            opened = [os.path.abspath(root) for root in roots if Path(root).is_dir()]  # noqa: PTH100
            self._waker.watch([*folders, *opened])


def belongs_to(sources: Sequence[Source], found: Found | None = None) -> Callable[[Source], bool]:
    """Return the rule for new files: the job's id in their name, else no other id; of several jobs, the same folder."""
    ids = {job_id(source.path) for source in sources} - {""}
    folder = ""
    if found is not None and len(found.jobs) > 1:
        folder = os.path.commonpath([str(PurePath(source.path).parent) for source in sources])

    def accept(source: Source) -> bool:
        its = job_id(source.path)
        if its and ids:
            return its in ids
        return not folder or PurePath(source.path).is_relative_to(folder)

    return accept
