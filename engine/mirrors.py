"""Text that stands twice in a job: it is counted and exported in both places and analysed in one.

A source is a mirror in three cases, judged by the lines in a window at its beginning and one at its end:

1. *Copy*: byte for byte the same as an earlier source. Where only digits tell the names apart (rank-0.log, rank-1.log)
   the text must also carry times finer than a second: ranks may well write the same lines.
2. *Console* (torchrun --tee beside --log-dir; mpirun --output-filename): every launcher tag in it has per-rank files,
   and what stands behind the tag stands in the files of that rank. The console is the mirror, not the files: torn
   lines and the lines lost at a crash are whole in the files. Its lines of no rank are the launcher's own.
3. *Rank's file* (a logging FileHandler beside a labelled console): its lines stand in the console under its rank's tag,
   but the console has more.

"Stands in" means 95 % of all lines and 95 % of those with a time of day; with fewer than four such lines it means 98 %
of at least twenty. A console without tags is compared as a multiset, each of its lines serving one file only, so that
sixteen ranks with the same text are never mirrors of one rank's console.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence

from l4tui.engine.descriptors import SourceError
from l4tui.engine.sources import Source

GLANCE = 1 << 11  # bytes at each end of files of one size, before more of them is read
WINDOW = 1 << 18  # bytes at each end of a console
FILE_WINDOW = WINDOW + (1 << 16)  # a rank's part of a console window is no longer than the window
ALL_FILES = 1 << 27  # bytes read from all per-rank files together
MANY_FILES = 32  # to a console, for which it is read twice rather than all their lines kept
SHORT = 6  # shorter lines say nothing
NO_TAG = -1

_TAG = re.compile(
    rb"(?:\[\d+,(?P<mpi>\d+)\](?:\[[^\]]*\])?<std(?:out|err|diag)>:"
    rb"|\[(?P<gloo>\d+)\]<std(?:out|err)>:|\[[A-Za-z_]+(?P<role>\d+)\]:|\[(?P<hydra>\d+)\] | *(?P<srun>\d+): )"
)
_TIME = re.compile(rb"[0-2]\d:[0-5]\d:[0-5]\d")
_FINE = re.compile(rb"[0-2]\d:[0-5]\d:[0-5]\d[.,]\d{3}")
_SGR = re.compile(rb"\x1b\[[\d;]*m")
Lines = tuple[Counter[bytes], Counter[bytes]]  # at the beginning, at the end (empty where the first holds all)


def find_mirrors(sources: Sequence[Source]) -> dict[Source, Source]:
    """Return {mirror: the source that holds the text} of one job; sources that cannot be read are none."""
    plain = [source for source in sources if source.is_plain and _size(source) > 0]
    found = _copies(plain)
    rest = [source for source in plain if source not in found]
    files = [source for source in rest if source.name.rank >= 0 or source.name.local_rank >= 0]
    consoles = [source for source in rest if source.name.rank < 0 and source.name.local_rank < 0]
    if not files or not consoles:
        return found
    window = min(FILE_WINDOW, ALL_FILES // len(files) // 2)
    sought = _shown(consoles) if len(files) > MANY_FILES * len(consoles) else None
    texts = {file: _window_lines(file, window, sought) for file in files}
    short = max(1 << 11, WINDOW // len(files) // 2)  # so that it lies within a console's window
    ends: dict[Source, Counter[bytes]] = {}
    for console in consoles:
        tagged = _by_tag(_window_lines(console, WINDOW))
        mates = {tag: [file for file in files if _may_be(file, console, tag)] for tag in tagged}
        if _is_console(tagged, mates, texts):
            found[console] = next(
                file for tag, beside in mates.items() if tag != NO_TAG or len(mates) == 1 for file in beside
            )
        else:
            ends = ends or {file: _joined([_window_lines(file, short)]) for file in files}
            theirs = {file: lines for file, lines in ends.items() if file not in found}
            found |= dict.fromkeys(_inside(tagged, mates, theirs), console)
    return found


def _copies(sources: Sequence[Source]) -> dict[Source, Source]:
    same: dict[int, list[Source]] = defaultdict(list)
    for source in sources:
        same[_size(source)].append(source)
    found: dict[Source, Source] = {}
    for size, group in same.items():
        for alike in _alike(group, size):
            first: dict[bytes, Source] = {}
            for source in alike:
                other = first.setdefault(_digest(source, size), source)
                if other is not source and _is_copy(source, other):
                    found[source] = other
    return found


def _alike(group: Sequence[Source], size: int) -> list[list[Source]]:
    """Put files together whose ends are the same: ranks' files are of one size as a rule, and differ in their times."""
    ends: dict[bytes, list[Source]] = defaultdict(list)
    for source in group if len(group) > 1 else ():
        with contextlib.suppress(SourceError):  # unreadable: like nothing else
            ends[source.pread(0, GLANCE) + source.pread(max(0, size - GLANCE), GLANCE)].append(source)
    return [some for some in ends.values() if len(some) > 1]


def _is_copy(source: Source, other: Source) -> bool:
    head = source.pread(0, WINDOW)
    if re.sub(r"\d+", "0", source.path) == re.sub(r"\d+", "0", other.path) or _name_tells(source, other):
        return bool(_FINE.search(head))
    return len(head) >= 4096 or bool(_TIME.search(head))


def _name_tells(a: Source, b: Source) -> bool:
    """True when the names say that two processes or two streams wrote the files."""
    return (a.name.rank, a.name.local_rank, a.name.node, a.name.stream) != (
        b.name.rank,
        b.name.local_rank,
        b.name.node,
        b.name.stream,
    )


def _digest(source: Source, size: int) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    try:
        for offset in dict.fromkeys((0, max(0, size // 2 - WINDOW), max(0, size - 2 * WINDOW))):
            digest.update(source.pread(offset, 2 * WINDOW))
    except SourceError:
        digest.update(source.path.encode(errors="surrogateescape"))  # unreadable: like nothing else
    return digest.digest()


def _size(source: Source) -> int:
    try:
        return source.size()
    except SourceError:
        return 0


def _window_lines(source: Source, window: int, sought: Container[bytes] | None = None) -> Lines:
    """Return the whole lines near both ends, or what of them is sought; all of a short file is its beginning."""
    try:
        size = source.size()
        if size <= 2 * window:
            return Counter(_split(source.pread(0, size), sought)), Counter()
        head, tail = source.pread(0, window), source.pread(size - window, window)
    except SourceError:
        return Counter(), Counter()
    head, tail = head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]
    return Counter(_split(head, sought)), Counter(_split(tail, sought))


def _split(data: bytes, sought: Container[bytes] | None) -> Iterable[bytes]:
    if b"\x1b" in data:
        data = _SGR.sub(b"", data)
    lines = (line.rstrip() for line in data.split(b"\n") if len(line) > SHORT and b"\r" not in line[:-1])
    return lines if sought is None else (line for line in lines if line.lstrip(b" ") in sought)


def _shown(consoles: Iterable[Source]) -> set[bytes]:
    """Return the lines of consoles, launcher's tags removed: all that is ever looked for in the files beside them."""
    tagged = (_by_tag(_window_lines(console, WINDOW)) for console in consoles)
    return {text for ends in tagged for pair in ends.values() for lines in pair for text in lines}


def _by_tag(lines: Lines) -> dict[int, Lines]:
    """Sort a console's lines by the number in their launcher tag, the tag removed; NO_TAG for the others."""
    found: dict[int, Lines] = {}
    for end in (0, 1):
        for line, count in lines[end].items():
            match = _TAG.match(line)
            tag = int(match[match.lastgroup or 0]) if match and len(match[0]) < 64 else NO_TAG
            text = line[match.end() :].lstrip(b" ") if match and tag != NO_TAG else line
            if len(text) > SHORT:
                found.setdefault(tag, (Counter(), Counter()))[end][text] += count
    return found


def _may_be(file: Source, console: Source, tag: int) -> bool:
    """True when a per-rank file's name agrees with a tag and with the console's node."""
    if file.name.node and console.name.node and file.name.node != console.name.node:
        return False
    return tag in (NO_TAG, file.name.rank, file.name.local_rank)


def _is_console(tagged: dict[int, Lines], mates: dict[int, list[Source]], texts: dict[Source, Lines]) -> bool:
    tags = [tag for tag in tagged if tag != NO_TAG] or list(tagged)
    if not tags:
        return False
    for end in (0, 1):
        wanted: list[Counter[bytes]] = []
        had: list[Counter[bytes]] = []
        for tag in tags:
            if not mates[tag]:
                return False
            had.append(_joined(texts[file] for file in mates[tag]))
            wanted.append(tagged[tag][end])
            if tagged[tag][end].total() >= 8 and _share(wanted[-1], had[-1]) < 0.5:
                return False  # a rank whose files are not here
        if (end == 0 or any(wanted)) and not _stands_in(wanted, had):
            return False
    return True


def _joined(parts: Iterable[Lines]) -> Counter[bytes]:
    joined: Counter[bytes] = Counter()
    for head, tail in parts:
        for lines in (head, tail):
            joined.update({text.lstrip(b" "): count for text, count in lines.items()})
    return joined


def _inside(
    tagged: dict[int, Lines], mates: dict[int, list[Source]], texts: dict[Source, Counter[bytes]]
) -> list[Source]:
    """Return the per-rank files whose lines all stand in the console."""
    inside = []
    pools = {tag: _joined([lines]) for tag, lines in tagged.items()}
    tag_of = {file: tag for tag in reversed([t for t in tagged if t != NO_TAG] or list(tagged)) for file in mates[tag]}
    for file, lines in texts.items():
        pool = pools[tag_of[file]] if file in tag_of else None
        if pool and _stands_in([lines], [pool]):
            inside.append(file)
            pool.subtract(lines & pool)
    return inside


def _stands_in(wanted: Sequence[Counter[bytes]], had: Sequence[Counter[bytes]]) -> bool:
    total = sum(lines.total() for lines in wanted)
    got = sum((lines & pool).total() for lines, pool in zip(wanted, had, strict=True))
    if got < 0.95 * total:
        return False
    timed = [Counter({text: count for text, count in lines.items() if _TIME.search(text)}) for lines in wanted]
    timed_total = sum(lines.total() for lines in timed)
    if timed_total < 4:
        return total >= 20 and got >= 0.98 * total
    timed_got = sum((lines & pool).total() for lines, pool in zip(timed, had, strict=True))
    return got >= 0.95 * total and timed_got >= 0.95 * timed_total


def _share(wanted: Counter[bytes], had: Counter[bytes]) -> float:
    return (wanted & had).total() / wanted.total() if wanted else 1.0
