"""From what the user names to sources: files, folders, globs and pipes; what is left out says why."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import stat
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePath

from l4tui.engine import compressed, sniff
from l4tui.engine.descriptors import SourceError, reason
from l4tui.engine.filenames import names_of
from l4tui.engine.grouping import Span, group
from l4tui.engine.mirrors import find_mirrors
from l4tui.engine.sniff import Content
from l4tui.engine.sources import Source, open_path, open_pipe
from l4tui.engine.spill import CAP

MOST = 100_000  # files looked at in one folder
SKIPPED = frozenset(("__pycache__", "node_modules", "site-packages"))
_ROTATED = re.compile(r"^(?P<base>.+?)[.-](?:\d{1,3}|(?:19|20)\d{6}(?:-\d+)?|old|bak)(?:\.(?:gz|zst|xz|bz2))?$")
_TELLING = re.compile(r"^(?:attempt_\d+|rank[-_.]?\d+|\d{1,4})$")
_STAMP = re.compile(rb"(?:19|20)\d\d-[01]\d-[0-3]\d[ T][0-2]\d:[0-5]\d:[0-5]\d")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that is not read as a log."""

    path: str
    why: str
    content: Content | None = None  # what it is instead; None: unreadable, a duplicate, hidden
    unread: bool = False  # it may be a log, and nobody could look


@dataclass(frozen=True, slots=True)
class Folder:
    """One job: its sources in order."""

    name: str
    sources: tuple[Source, ...]

    def mirrors(self) -> dict[str, str]:
        """Return {path: path of the text's other place}."""
        return {source.path: source.mirror_of for source in self.sources if source.mirror_of}


@dataclass(frozen=True, slots=True)
class Found:
    """What the given paths hold: the newest job first."""

    jobs: tuple[Folder, ...]
    left_out: tuple[LeftOut, ...] = ()
    roots: tuple[str, ...] = ()  # folders and globs as given, to be looked at again for new files
    order: tuple[Source, ...] = field(default=(), repr=False)
    finder: Finder | None = field(default=None, repr=False, compare=False)  # knows what was seen: finds what is new

    @property
    def mirrors(self) -> dict[str, str]:
        """Return the mirrors of the only job, or of those that have been chosen."""
        return {path: other for job in self.jobs for path, other in job.mirrors().items()}

    @property
    def unread(self) -> tuple[str, ...]:
        """Return what may be a log and could not be looked at, with the reason."""
        return tuple(f"{item.path}: {item.why}" for item in self.left_out if item.unread)

    @property
    def beside(self) -> tuple[str, ...]:
        """Return the files that are no logs and may hold hardware telemetry."""
        kinds = (Content.TABLE, Content.MONITOR, Content.EVENTS)
        return tuple(item.path for item in self.left_out if item.content in kinds)

    def whole(self) -> Folder:
        """Return everything as one job, in the order found."""
        if len(self.jobs) == 1:
            return self.choose(0)
        for number in range(len(self.jobs)):
            self.choose(number)
        return Folder("", _numbered(self.order))

    def choose(self, number: int) -> Folder:
        """Return a job, its sources numbered from 0 and its mirrors marked (reads up to 0.5 MB a file)."""
        job = self.jobs[number]
        for mirror, other in find_mirrors(job.sources).items():
            mirror.mirror_of = other.path
        _numbered(job.sources)
        return job


def discover(paths: Sequence[str], *, stdin: int = 0, cap: int = CAP) -> Found:
    """Open what is named: several paths are one job in that order, one folder may hold several jobs.

    Raises SourceError for a path that is missing or unreadable, and when no log is found at all.
    """
    finder = Finder(cap)
    for path in paths:
        if path == "-":
            finder.add(open_pipe(stdin, "-", cap))
        else:
            finder.add_given(path)
    finder.settle()
    if not finder.sources:
        raise SourceError(_nothing(paths, finder.left_out))
    sources = tuple(finder.sources)
    groups = [("", list(range(len(sources))))]
    if len(paths) == 1 and Path(paths[0]).is_dir():
        within = [os.path.relpath(source.file_path, paths[0]) for source in sources]
        groups = group(within, lambda i: time_span(sources[i]))
    jobs = [Folder(name or _title(paths), _named([sources[i] for i in members])) for name, members in groups]
    jobs.sort(key=lambda job: max(source.mtime for source in job.sources), reverse=True)
    return Found(tuple(jobs), tuple(finder.left_out), tuple(finder.roots), _numbered(sources), finder)


def _numbered(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    for index, source in enumerate(sources):
        source.index = index
    return sources


def _named(sources: Sequence[Source]) -> tuple[Source, ...]:
    name_sources(sources)
    return tuple(sources)


def name_sources(sources: Sequence[Source]) -> None:
    """Read ranks and nodes in the paths below the folder that all files of a job share."""
    files = [source for source in sources if source.file_path]
    if not files:
        return
    paths = [PurePath(os.path.abspath(source.file_path)) for source in files]  # noqa: PTH100 - keeps links
    base = PurePath(os.path.commonpath([path.parent for path in paths]))
    while _TELLING.search(base.name):  # only one rank's or one attempt's folder was opened
        base = base.parent
    for source, name in zip(files, names_of([path.relative_to(base) for path in paths]), strict=True):
        source.name = name


def _title(paths: Sequence[str]) -> str:
    return PurePath(os.path.abspath(paths[0])).name if paths[0] != "-" else "standard input"  # noqa: PTH100 - keeps links


def _nothing(paths: Sequence[str], left_out: Sequence[LeftOut]) -> str:
    if not paths:
        return "nothing to read: name a file, a folder or - for standard input"
    if len(left_out) == 1:
        return f"{left_out[0].path}: no log: {left_out[0].why}"
    named = f"{paths[0]}: no log found" if len(paths) == 1 else "no log found"
    return f"{named} ({len(left_out)} files left out: {left_out[0].path}: {left_out[0].why}, …)" if left_out else named


class Finder:
    """Collects sources; told again about the same roots it finds only what is new."""

    def __init__(self, cap: int = CAP) -> None:
        self.sources: list[Source] = []
        self.left_out: list[LeftOut] = []
        self.roots: list[str] = []
        self._cap = cap
        self._seen: dict[tuple[int, int], str] = {}
        self._paths: set[str] = set()
        self._again = False
        self._doubtful: list[tuple[str, Content]] = []

    def add(self, source: Source) -> None:
        """Take an opened source."""
        self.sources.append(source)

    def add_given(self, path: str) -> None:
        """Add a path of the command line; raises SourceError when it leads nowhere."""
        if not os.path.lexists(path) and any(c in path for c in "*?["):
            matches = self._expand(path)
            if not matches:
                raise SourceError(f"{path}: nothing matches")
            self.roots.append(path)
            for match in matches:
                try:
                    self._add_named(match)
                except SourceError as error:  # one of many, and not named itself
                    self.left_out.append(LeftOut(match, str(error).removeprefix(f"{match}: "), unread=True))
        else:
            self._add_named(path)

    def _add_named(self, path: str) -> None:
        try:
            found = Path(path).stat()
        except OSError as error:
            raise SourceError(f"{path}: {reason(error)}") from error
        if stat.S_ISDIR(found.st_mode):
            self.roots.append(path)
            self._walk(path)
        elif stat.S_ISREG(found.st_mode):
            self._consider(path, found, given=True)
        else:
            self.add(open_path(path, cap=self._cap))

    def settle(self) -> None:
        """Scripts, JSON and settings named beside logs are left out; named alone they are what is wanted."""
        for path, content in self._doubtful:
            if self.sources:
                self.left_out.append(LeftOut(path, content.value, content))
            else:
                self._open(path)
        self._doubtful.clear()

    def look_again(self) -> list[Source]:
        """Return sources for the logs that have appeared in the roots since the last look."""
        before = len(self.sources)
        self._again = True
        for root in self.roots:
            with contextlib.suppress(SourceError):  # a folder that has gone away may come back
                for path in [root] if Path(root).is_dir() else self._expand(root):
                    self._consider_new(path)
        return self.sources[before:]

    def _expand(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern, recursive=True), key=natural)  # noqa: PTH207 - keeps the spelling

    def _consider_new(self, path: str) -> None:
        try:
            found = os.stat(path)  # noqa: PTH116 - thousands of files
        except OSError:
            return
        if stat.S_ISDIR(found.st_mode):
            self._walk(path)
        elif stat.S_ISREG(found.st_mode):
            self._consider(path, found)

    def _walk(self, root: str) -> None:
        for path in list_files(root, self.left_out if not self._paths else [], self._paths):
            self._consider_new(path)

    def _consider(self, path: str, found: os.stat_result, *, given: bool = False) -> None:
        if path in self._paths or (self._again and self._is_not_yet(path, found.st_size)):
            return
        self._paths.add(path)
        identity = (found.st_dev, found.st_ino)
        if identity in self._seen:
            self.left_out.append(LeftOut(path, f"same file as {self._seen[identity]}"))
            return
        self._seen[identity] = path
        try:
            content = look_at(path, found.st_size)
            if content is Content.LOG or (given and content is Content.TABLE):
                self._open(path)
                return
        except SourceError as error:
            if given:
                raise
            self.left_out.append(LeftOut(path, str(error).removeprefix(f"{path}: "), unread=True))
            return
        if given and content in sniff.READ_ANYWAY:
            self._doubtful.append((path, content))
        else:
            self.left_out.append(LeftOut(path, content.value, content))

    def _is_not_yet(self, path: str, size: int) -> bool:
        """A new file is judged when it has bytes; the older part of a log that was read under its own name never is."""
        older = _ROTATED.match(path)
        if older and older["base"] in self._paths:
            self._paths.add(path)
            self.left_out.append(LeftOut(path, f"older part of {older['base']}"))
            return True
        base, suffix = sniff.split_name(path)
        return size == 0 and suffix not in sniff.LOG_SUFFIXES and base not in ("stdout", "stderr")

    def _open(self, path: str) -> None:
        self.add(open_path(path, cap=self._cap))


def list_files(root: str, left_out: list[LeftOut], known: Container[str] = ()) -> Iterator[str]:
    """Yield the regular files under a folder in natural order, each spelled as `root` joined with its relative path.

    Links to folders are followed once. Hidden names and pipes are put into `left_out`. Files in `known` are passed
    over before anything else is done: thousands of them are listed again and again while a job is followed.
    """
    visited: set[tuple[int, int]] = set()
    pending = [root]
    count = 0
    while pending:
        folder = pending.pop()
        try:
            listed = _listed(folder, visited)
        except OSError as error:
            if folder == root:
                raise SourceError(f"{root}: {reason(error)}") from error
            left_out.append(LeftOut(folder, reason(error), unread=True))
            continue
        entries = sorted((entry for entry in listed if entry.path not in known), key=lambda entry: natural(entry.name))
        count += len(listed) - len(entries)
        below = []
        for entry in entries:
            path = entry.path
            if entry.name.startswith(".") or entry.name in SKIPPED:
                left_out.append(LeftOut(path, "hidden"))
            elif (kind := _kind(entry)) == "folder":
                below.append(path)
            elif kind == "file":
                count += 1
                if count > MOST:
                    left_out.append(LeftOut(root, f"only the first {MOST:,} files were looked at", unread=True))
                    return
                yield path
            else:
                left_out.append(LeftOut(path, kind))
        pending.extend(reversed(below))


def _listed(folder: str, visited: set[tuple[int, int]]) -> list[os.DirEntry[str]]:
    """Return what is in a folder, nothing where another path has led to it; raises OSError."""
    found = os.stat(folder)  # noqa: PTH116 - thousands of folders
    if (found.st_dev, found.st_ino) in visited:
        return []
    visited.add((found.st_dev, found.st_ino))
    with os.scandir(folder) as listing:
        return list(listing)


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_dir():
            return "folder"
        if entry.is_file():
            return "file"
    except OSError as error:  # a link in a circle, or to where we may not look
        return reason(error)
    return "broken link" if entry.is_symlink() else "a pipe or device"


def look_at(path: str, size: int) -> Content:
    """Tell what a regular file is, looking into compressed ones; raises SourceError when it cannot be read."""
    name, suffix = path, sniff.split_name(path)[1]
    by_name = sniff.BY_SUFFIX.get(suffix)
    if by_name is not None and by_name not in sniff.READ_ANYWAY and by_name is not Content.BINARY:
        return by_name  # thousands of checkpoint shards need not be opened
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            head = file.read(sniff.HEAD)
            kind = compressed.kind_of(head)
            if kind:
                file.seek(0)
                head = next(compressed.inflate(file, kind), b"")[: sniff.HEAD]
                name = path[: -len(suffix)] if suffix in compressed.SUFFIXES else path
                size = sniff.WHOLE + 1
            elif head.lstrip()[:1] in (b"{", b"["):
                head += file.read(sniff.WHOLE - len(head))
            elif head and not head.strip(b"\0"):  # a hole at the beginning: judge by the end
                file.seek(max(0, size - sniff.HEAD))
                head = file.read(sniff.HEAD)
    except OSError as error:
        raise SourceError(f"{path}: {reason(error)}") from error
    except SourceError as error:
        raise SourceError(f"{path}: {error}") from error
    return sniff.content_of(name, head, size)


def time_span(source: Source) -> Span:
    """Return the first and last ISO time stamps near a plain file's ends, in seconds; (nan, nan) without any."""
    try:
        size = source.size()
        head, tail = source.pread(0, 1 << 14), source.pread(max(0, size - (1 << 14)), 1 << 14)
    except SourceError:
        head = tail = b""
    first, last = _STAMP.findall(head), _STAMP.findall(tail)
    return (_seconds(first[0]), _seconds(last[-1])) if first and last else (float("nan"), float("nan"))


def _seconds(stamp: bytes) -> float:
    try:
        return datetime.fromisoformat(stamp.decode()).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("nan")


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key in which rank-2 stands before rank-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text)]
