"""Events of the file system as a wake-up: they make following quicker and are never relied on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

MOST = 8192  # folders watched; the rest is polled, as everything is on network file systems
STEP_MS = 60  # how often the watcher looks at its queue
GATHER_MS = 80  # events that come together are told together


class Waker:
    """Watches folders on a thread of its own and collects the paths that something happened to."""

    def __init__(self, news: threading.Event) -> None:
        self._news = news
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._stop = threading.Event()
        self._folders: tuple[str, ...] = ()

    def watch(self, folders: Sequence[str]) -> None:
        """Watch these folders (not what is below them) in place of the earlier ones."""
        wanted = tuple(sorted(set(folders)))[:MOST]
        if wanted == self._folders:
            return
        self._stop.set()
        self._stop, self._folders = threading.Event(), wanted
        arguments = (wanted, self._stop)
        threading.Thread(target=self._run, args=arguments, name="l4tui-wake", daemon=True).start()

    def take(self) -> set[str]:
        """Return absolute paths that were written, made, moved or removed since the last call."""
        with self._lock:
            taken, self._paths = self._paths, set()
        return taken

    def close(self) -> None:
        """Let the thread end."""
        self._stop.set()

    def _run(self, folders: tuple[str, ...], stop: threading.Event) -> None:
        try:
            import watchfiles  # 30 ms CPU, and never on the way to the first screen

            there = [folder for folder in folders if Path(folder).is_dir()]
            for changes in watchfiles.watch(
                *there,
                watch_filter=None,
                debounce=GATHER_MS,
                step=STEP_MS,
                stop_event=stop,
                raise_interrupt=False,
                recursive=False,
                ignore_permission_denied=True,
            ):
                with self._lock:
                    self._paths.update(path for _, path in changes)
                self._news.set()
        except Exception:  # no inotify, too many watches, a folder that went away: polling sees everything too
            return
