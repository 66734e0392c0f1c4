"""Finished indexes kept for the next time, under what identifies a job's files; whatever is doubtful is read anew."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from l4tui.engine.cachefile import SUFFIX, CacheFileError, Contents, make_room, read, write
from l4tui.engine.sources import Source, SourceError

if TYPE_CHECKING:
    import numpy as np

SAMPLED = 4096  # bytes of each of SAMPLES places that must still be the same
SAMPLES = 4
LEAST = 16 << 20  # bytes of text; less is read anew as fast
CAP = 2 * 10**9


def default_folder() -> Path:
    """Return the folder of the XDG base directories."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "l4tui"


@cache
def engine_version() -> str:
    """Return a mark of the engine's code and rules: an index of another version is not read."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in (".py", ".toml"):
            state = path.stat()
            digest.update(f"{path.name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


class IndexCache:
    """The folder of kept indexes, shared by all processes of a person."""

    def __init__(self, folder: Path, cap: int = CAP) -> None:
        self.folder = folder
        self.cap = cap

    def load(self, sources: Sequence[Source], options: str) -> Contents | None:
        """Return the kept index of a job, None where there is none that fits.

        The table's "files" tells per source of it: device, inode, bytes read, and so on; of the sources given, those
        come first that it knows, and all bytes it covers are still the same.
        """
        path = self._path(sources, options)
        try:
            contents = read(path)
        except OSError:  # there is none, or none that can be reached
            return None
        except (CacheFileError, ValueError, KeyError, TypeError, IndexError):
            with contextlib.suppress(OSError):  # a folder that may only be read is of use all the same
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return contents

    def store(
        self, sources: Sequence[Source], options: str, table: dict[str, object], arrays: dict[str, np.ndarray]
    ) -> str:
        """Keep an index; return in words why not, "" when it is kept."""
        size = sum(array.nbytes for array in arrays.values())
        if size > self.cap:
            return f"the index is not kept: its {size / 1e9:.1f} GB exceed the cache's {self.cap / 1e9:.1f} GB"
        path = self._path(sources, options)
        try:
            write(path, table, arrays)
            make_room(self.folder, self.cap, path)
        except OSError as error:
            return f"the index is not kept: {self.folder}: {(error.strerror or type(error).__name__).lower()}"
        return ""

    def _path(self, sources: Sequence[Source], options: str) -> Path:
        """Name the index by the job's first file, so that it is found again when files have been added."""
        named = f"{engine_version()} {options} {min(source.identity for source in sources)}"
        return self.folder / (hashlib.sha256(named.encode()).hexdigest()[:32] + SUFFIX)


def fingerprint(source: Source, size: int) -> str:
    """Return a mark of the first `size` bytes: head, tail and places between; raises SourceError."""
    digest = hashlib.sha256(b"%d" % size)
    last = max(size - SAMPLED, 0)
    for k in range(SAMPLES):
        digest.update(source.pread(last * k // (SAMPLES - 1), min(SAMPLED, size)))
    return digest.hexdigest()[:32]


def matches(source: Source, row: Sequence[Any]) -> bool:
    """Say whether a source still begins with what an index has read: [device, inode, bytes, mtime, mark]."""
    device, inode, size, mtime, mark = row
    try:
        now = source.size()
        if source.identity != (device, inode) or now < size or (now == size and source.mtime != mtime):
            return False
        return fingerprint(source, size) == mark
    except SourceError:
        return False


def file_row(source: Source, size: int) -> list[Any]:
    """Return what `matches` compares."""
    return [*source.identity, size, source.mtime, fingerprint(source, size)]


def is_keepable(sources: Sequence[Source]) -> bool:
    """Say whether an index of these sources could be used again: plain files, never rotated while they were read."""
    plain = all(s.is_plain and s.live.start == 0 and s.live.skip == 0 for s in sources)
    return plain and sum(source.size() for source in sources) >= LEAST


def options_mark(parts: Sequence[object], encode: Callable[[object], object] = repr) -> str:
    """Return a mark of everything that changes what an index holds."""
    return hashlib.sha256(json.dumps([encode(part) for part in parts]).encode()).hexdigest()[:16]
