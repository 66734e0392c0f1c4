"""Plans: what a key tells about all of its lines, as arrays that a block is read through."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from l4tui.engine.clock import NUMBERS, Clock, clock_spans, compile_clock
from l4tui.engine.keys import shape_of
from l4tui.engine.model import UNKNOWN, LineClass, Marker, Parse, Span
from l4tui.engine.trails import TAGGED, TOLD, Trail, trail_of

NAMES = frozenset(("task", "rank", "self_rank", "pid", "tid", "actor"))  # fields that name one process
IDENTITY = NAMES | {"mpi_job", "local_rank", "own_device", "node", "attempt"}
TIME = tuple(sorted(NUMBERS))
MOST_IDENTITY = 6  # digit runs that tell speakers apart; a line with more of them is read one by one
ITER = MOST_IDENTITY
SITE = ITER + 1
TIME_AT = SITE + 1
SLOTS = TIME_AT + len(TIME)
WIDEST = 18  # digits that surely fit an int64

_DIGITS = re.compile(rb"\d+")
_ARRAYS: dict[str, tuple[type, int, int]] = {  # name: type, value where nothing is said, slots
    "at": (np.int32, 0, SLOTS),
    "width": (np.int8, 0, SLOTS),
    "identity": (np.int32, 0, 0),
    "numbers": (np.int8, 0, 0),
    "clock": (np.int16, UNKNOWN, 0),
    "marker": (np.int8, 0, 0),
    "loose": (np.bool_, 0, 0),
    "line_class": (np.int8, 0, 0),
    "teaches": (np.bool_, 0, 0),
    "site_line": (np.int32, UNKNOWN, 0),
    "told": (np.int8, 0, 0),
}


class PlanInfo(NamedTuple):
    """What the merger keeps of a plan, whichever worker made it."""

    key: bytes
    parse: Parse
    shape: bytes  # of the message
    site: bytes  # file:line[:function], digits as in the first line seen
    line_class: LineClass
    loose: bool
    trail: Trail = Trail.NONE


class Plans:
    """The plan table of one mapper: rows grow, ids never change."""

    at: np.ndarray  # int32 (plan, slot): offset of a field
    width: np.ndarray  # int8 (plan, slot): its digits; 0: the plan has no such field
    identity: np.ndarray  # int32: template of the identity (its text, digits out)
    numbers: np.ndarray  # int8: digit runs of the identity
    clock: np.ndarray  # int16 into clocks, -1
    marker: np.ndarray  # int8, model.Marker
    loose: np.ndarray  # bool: read such lines one by one
    line_class: np.ndarray  # int8
    teaches: np.ndarray  # bool
    site_line: np.ndarray  # int32: line number of the call site, -1
    told: np.ndarray  # int8: trails.Trail of lines whose text the merge reads, else 0

    def __init__(self) -> None:
        self.infos: list[PlanInfo] = []
        self.clocks: list[Clock] = []
        self._clock_ids: dict[Clock, int] = {}
        self._identities: dict[tuple[object, ...], int] = {}
        for name, (dtype, fill, slots) in _ARRAYS.items():
            setattr(self, name, np.full((1024, slots) if slots else 1024, fill, dtype))

    def _new_row(self) -> int:
        """Return the next row, making room for it."""
        k = len(self.infos)
        if k == len(self.at):
            for name, (_, fill, _) in _ARRAYS.items():
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.full_like(old, fill))))
        return k

    def __len__(self) -> int:
        return len(self.infos)

    def add(
        self, line: bytes, key: bytes, message: bytes, parse: Parse, line_class: LineClass, holds_to: int
    ) -> int:
        """Add the plan of a key by its first line; offsets from holds_to on do not hold (-1: all hold).

        `message`: what the key says of the text behind the prefixes.
        """
        k = self._new_row()
        spans = parse.spans if holds_to < 0 else tuple(s for s in parse.spans if s.end <= holds_to)
        loose = 0 <= holds_to < parse.text_at or any(_must_hold(s) for s in set(parse.spans) - set(spans))
        self._place_identity(k, line, spans, parse)
        self._place_time(k, line, spans, parse)
        for span in spans:
            if span.field == "iter":
                self._place(k, ITER, span.start, span.end)
            elif span.field == "line":
                self._place(k, SITE, span.start, span.end)
                self.site_line[k] = int(line[span.start : span.end][:9] or b"-1")
        self.marker[k] = parse.marker if self.width[k, ITER] else Marker.NONE
        self.loose[k] = loose or self.numbers[k] > MOST_IDENTITY
        self.line_class[k] = line_class
        self.teaches[k] = parse.teaches
        shape = shape_of(message)
        trail = trail_of(shape, parse, line_class)
        if trail in TOLD and (trail in TAGGED or NAMES.isdisjoint(span.field for span in parse.spans)):
            self.told[k] = trail
        site = _site(line, parse.spans)
        self.infos.append(PlanInfo(key, parse, shape, site, line_class, bool(self.loose[k]), trail))
        return k

    def variant(self, of: int, site_line: int) -> int:
        """Add the plan of the same key at another line of the source code."""
        k = self._new_row()
        for name in _ARRAYS:
            column = getattr(self, name)
            column[k] = column[of]
        self.site_line[k] = site_line
        info = self.infos[of]
        parts = info.site.split(b":")
        if len(parts) > 1:
            parts[1] = b"%d" % site_line
        self.infos.append(info._replace(site=b":".join(parts)))
        return k

    def _place(self, k: int, slot: int, start: int, end: int) -> None:
        self.at[k, slot] = start
        self.width[k, slot] = min(end - start, WIDEST)

    def _place_identity(self, k: int, line: bytes, spans: tuple[Span, ...], parse: Parse) -> None:
        text: list[object] = [parse.launcher, parse.habit]
        used = 0
        for span in spans:
            if span.field == "stream":
                text.append((span.field, line[span.start : span.end]))
            if span.field not in IDENTITY:
                continue
            token = line[span.start : span.end]
            text.append((span.field, _DIGITS.sub(b"0", token)))
            for run in _DIGITS.finditer(token):
                if used < MOST_IDENTITY:
                    self._place(k, used, span.start + run.start(), span.start + run.end())
                used += 1
        self.numbers[k] = min(used, MOST_IDENTITY + 1)
        self.identity[k] = self._identities.setdefault(tuple(text), len(self._identities))

    def _place_time(self, k: int, line: bytes, spans: tuple[Span, ...], parse: Parse) -> None:
        clock = compile_clock(parse, line)
        if clock is None:
            return
        for span in clock_spans(spans):
            if span.field in NUMBERS:
                self._place(k, TIME_AT + TIME.index(span.field), span.start, span.end)
        at = self._clock_ids.setdefault(clock, len(self.clocks))
        if at == len(self.clocks):
            self.clocks.append(clock)
        self.clock[k] = at


def _must_hold(span: Span) -> bool:
    """Say whether lines must be parsed one by one where this span's offset does not hold."""
    return span.field in IDENTITY or span.field in NUMBERS or span.field == "iter"


def _site(line: bytes, spans: tuple[Span, ...]) -> bytes:
    fields = {s.field: line[s.start : s.end] for s in spans if s.field in ("file", "line", "func")}
    if "file" not in fields:
        return b""
    return b":".join(fields[name] for name in ("file", "line", "func") if fields.get(name))
