"""One line at a time: launcher prefixes from the outside in, then headers and tags, then what the message says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from l4tui.engine.facts import teaches
from l4tui.engine.formats.dialect import REFUSED, Dialect
from l4tui.engine.formats.registry import Format, built_in, in_order
from l4tui.engine.formats.tagged import TAG
from l4tui.engine.model import Level, Marker, Parse, Span

HEAD = 4096  # bytes of a line that are read; what follows is data
MOST_PREFIXES = 6
MOST_HEADERS = 2
MOST_TAGS = 4
_REPORTERS = frozenset(("wandb",))  # headers of those who tell of steps that they were told of, in any order
PROCESS_FIELDS = frozenset(("task", "rank", "local_rank", "actor"))  # a prefix with one of them names a process
_RANK_NAME = re.compile(rb"(?i:rank)[ _-]?(\d{1,6})")


class Reading(NamedTuple):
    """One format's part of a line, for `formats --explain`."""

    fmt: Format
    start: int
    end: int
    spans: tuple[Span, ...]


class Parser:
    """Reads lines of one dialect; stateless, so equal lines always read equal."""

    def __init__(self, dialect: Dialect, extra: Sequence[Format] = ()) -> None:
        self.dialect = dialect
        learnt = dict(dialect.rest)
        refused = {name for key, name in dialect.rest if key == REFUSED}
        weak_tags = {name for key, name in dialect.rest if key == TAG}
        formats = []
        for fmt in in_order([*built_in(), *extra]):
            if fmt.name in refused or (fmt.weak and fmt.layer == "prefix" and fmt.name not in dialect.prefixes):
                continue
            if fmt.weak and fmt.layer == "tag" and fmt.name not in weak_tags:
                continue
            if fmt.weak and fmt.layer == "writer" and fmt.name not in learnt:
                continue
            formats.append(fmt.narrowed(learnt[fmt.name]) if fmt.name in learnt else fmt)
        place = {name: k for k, name in enumerate(dialect.prefixes)}
        # accepted layers first, in the order they were found in, so that a looser entry does not take their place
        prefixes = sorted((f for f in formats if f.layer == "prefix"), key=lambda f: place.get(f.name, len(place)))
        self._prefixes = _Rules(prefixes)
        # torch's own [rankN]: adds nothing to a lane that names the process, unless it is the template of all lines
        self._asides = () if "torch-rank-any" in learnt else ("torch-rank", "torch-rank-any")
        self._headers = _Rules(f for f in formats if f.layer == "header")
        self._tags = _Rules(f for f in formats if f.layer == "tag")
        launchers = [f for f in formats if f.layer == "launcher"]
        self._launchers = _Searched(launchers)
        self._sure_launchers = _Searched([f for f in launchers if not f.weak])
        self._markers = _Searched([f for f in formats if f.layer == "marker"])
        self._facts = _Searched([f for f in formats if f.layer == "fact"])
        self._writers = _Searched([f for f in formats if f.layer == "writer"])

    def parse(self, line: bytes) -> Parse:
        """Read a tidy line of any bytes and any length; never fails."""
        return self._read(line, None)

    def lane_end(self, line: bytes) -> int:
        """Return where the launchers' prefixes end."""
        return self._strip(line, [], [], None)[0]

    def readings(self, line: bytes) -> list[Reading]:
        """Return which format took which part of a line, outermost first."""
        out: list[Reading] = []
        self._read(line, out)
        return out

    def _read(self, line: bytes, log: list[Reading] | None) -> Parse:
        head = line if len(line) <= HEAD else line[:HEAD]
        names: list[str] = []
        spans: list[Span] = []
        lane_end, pos, named, own = self._strip(head, names, spans, log)
        pos, level, is_head = self._headed(head, pos, names, spans, log)
        launcher = own or self._launched(head, lane_end, named, names, log)
        marker = Marker.NONE
        message = head[pos:] if pos else head
        found = self._markers.search(message) if message and _REPORTERS.isdisjoint(names) else None
        if found is not None:
            fmt, match = found
            marker = fmt.marker
            _take(fmt, match, pos, names, spans, log)
        taught = self._facts.search(message) if message else None
        if taught is not None:
            names.append(taught[0].name)
            if log is not None:
                log.append(Reading(taught[0], pos + taught[1].start(), pos + taught[1].end(), ()))
        tells = taught is not None or teaches(message)
        habit = None if launcher or lane_end == len(head) else self._written(head, lane_end, names, spans, log)
        return Parse(
            tuple(names), tuple(spans), lane_end, pos, is_head, level, launcher, marker, teaches=tells, habit=habit
        )

    def _strip(
        self, head: bytes, names: list[str], spans: list[Span], log: list[Reading] | None
    ) -> tuple[int, int, bool, bool]:
        """Take prefixes away.

        Returns the end of the launchers' prefixes, the end of all prefixes, whether one names a process, and whether
        one says that the launcher itself speaks.
        """
        pos = lane_end = 0
        own = named = False
        size = len(head)
        while pos < size and len(names) < MOST_PREFIXES:
            for fmt in self._prefixes.at(head, pos):
                if fmt.name in names:
                    continue
                match = fmt.regex.match(head, pos, pos + fmt.reach)
                if match is not None and match.end() > pos:
                    break
            else:
                break
            _take(fmt, match, 0, names, spans, log)
            pos = match.end()
            if not (named and fmt.name in self._asides):
                lane_end = pos
            named = named or any(field in PROCESS_FIELDS for field, _ in fmt.fields)
            own = own or fmt.own
        return lane_end, pos, named, own

    def _headed(
        self, head: bytes, pos: int, names: list[str], spans: list[Span], log: list[Reading] | None
    ) -> tuple[int, Level, bool]:
        """Take logging headers and tags away; return (start of the message, level, whether a header was read)."""
        level = Level.NONE
        headers = tags = 0
        size = len(head)
        while pos < size:
            at = pos
            fmt, match = self._headers.match(head, at) if headers < MOST_HEADERS else (None, None)
            if match is None and tags < MOST_TAGS:
                fmt, match = self._tags.match(head, at)
            if match is None and head[pos] == 32 and pos + 1 < size and head[pos + 1] != 32:
                at = pos + 1  # a blank that the program wrote in front of its own header
                fmt, match = self._headers.match(head, at) if headers < MOST_HEADERS else (None, None)
                if match is None and tags < MOST_TAGS:
                    fmt, match = self._tags.match(head, at)
            if match is None or fmt is None or match.end() <= at:
                break
            if fmt.layer == "header":
                headers += 1
                found = _level(fmt, match)
                level = level or found
            else:
                tags += 1
            _take(fmt, match, 0, names, spans, log)
            pos = match.end()
        return pos, level, headers > 0

    def _written(
        self, head: bytes, at: int, names: list[str], spans: list[Span], log: list[Reading] | None
    ) -> str | None:
        """Read what a line behind the prefixes, header and all, says of its writer; return the habit it shows."""
        found = self._writers.search(head[at:] if at else head)
        if found is None:
            return None
        fmt, match = found
        _take(fmt, match, at, names, spans, log)
        return fmt.name if fmt.habit else None

    def _launched(self, head: bytes, lane_end: int, named: bool, names: list[str], log: list[Reading] | None) -> bool:
        """Say whether the text behind the prefixes is a launcher's, a scheduler's or the kernel's own."""
        if lane_end == len(head):
            return False
        rules = self._sure_launchers if named else self._launchers
        found = rules.search(head[lane_end:] if lane_end else head)
        if found is None:
            return False
        names.append(found[0].name)
        if log is not None:
            log.append(Reading(found[0], lane_end + found[1].start(), lane_end + found[1].end(), ()))
        return True


class _Rules:
    """Formats that are matched in place, in order, found by the two bytes there."""

    def __init__(self, formats: Iterable[Format]) -> None:
        self._formats = tuple(formats)
        self._by_start: dict[bytes, tuple[Format, ...]] = {}

    def at(self, head: bytes, pos: int) -> tuple[Format, ...]:
        """Return the formats that can begin there."""
        start = head[pos : pos + 2]
        found = self._by_start.get(start)
        return self._find(start) if found is None else found

    def _find(self, start: bytes) -> tuple[Format, ...]:
        found = tuple(
            fmt
            for fmt in self._formats
            if (fmt.first is None or start[0] in fmt.first)
            and (fmt.second is None or (len(start) > 1 and start[1] in fmt.second))
        )
        self._by_start[start] = found
        return found

    def match(self, head: bytes, pos: int) -> tuple[Format | None, re.Match[bytes] | None]:
        """Return the first format that matches there."""
        for fmt in self.at(head, pos):
            if fmt.key and fmt.key not in head:
                continue
            match = fmt.regex.match(head, pos, pos + fmt.reach)
            if match is not None:
                return fmt, match
        return None, None


class _Searched:
    """Formats that are searched for, in order, by the texts they need; those bound to the start by its byte, too."""

    def __init__(self, formats: Sequence[Format]) -> None:
        self._formats = tuple(formats)
        masks: dict[bytes, int] = {}  # text → bits of the formats that need it
        self._always = sum(1 << k for k, fmt in enumerate(formats) if not fmt.literals)
        for k, fmt in enumerate(formats):
            for literal in fmt.literals:
                masks[literal] = masks.get(literal, 0) | 1 << k
        self._begin = []
        self._words: list[tuple[tuple[bytes, int], ...]] = []
        for byte in range(256):
            bits = sum(1 << k for k, f in enumerate(formats) if not f.anchored or f.first is None or byte in f.first)
            self._begin.append(bits)
            self._words.append(tuple((word, mask & bits) for word, mask in masks.items() if mask & bits))

    def search(self, message: bytes) -> tuple[Format, re.Match[bytes]] | None:
        """Return the first format that is found; message must not be empty."""
        left = self._always & self._begin[message[0]]
        lowered = message.lower()
        for word, mask in self._words[message[0]]:
            if word in lowered:  # 40 ns each; most messages hold few of them
                left |= mask
        while left:
            lowest = left & -left
            left ^= lowest
            fmt = self._formats[lowest.bit_length() - 1]
            match = fmt.regex.search(message, 0, fmt.reach)
            if match is not None:
                return fmt, match
        return None


def _level(fmt: Format, match: re.Match[bytes]) -> Level:
    for field, group in fmt.fields:
        if field == "level" and match[group] is not None:
            return fmt.level_of(match[group])
    return Level.NONE


def _take(
    fmt: Format,
    match: re.Match[bytes],
    base: int,
    names: list[str],
    spans: list[Span],
    log: list[Reading] | None,
) -> None:
    names.append(fmt.name)
    new = []
    for field, group in fmt.fields:
        start, end = match.span(group)
        if start >= 0:
            named = _RANK_NAME.fullmatch(match[group]) if field == "logger" else None
            if named is not None:  # a logger called after its rank
                field, start = "self_rank", start + named.start(1)
            new.append(Span(field, base + start, base + end))
    spans += new
    if log is not None:
        log.append(Reading(fmt, base + match.start(), base + match.end(), tuple(new)))


@lru_cache(maxsize=64)
def _parser_of(dialect: Dialect) -> Parser:
    return Parser(dialect)


def prefix_end(line: bytes, dialect: Dialect) -> int:
    """Return where the launchers' prefixes of a line end: what stands before a bar's first carriage return."""
    return _parser_of(dialect).lane_end(line[:HEAD])
