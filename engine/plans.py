"""Plans: what a key tells about all of its lines, as arrays that a block is read through."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from l4tui.engine.clock import NUMBERS, clock_spans, compile_clock
from l4tui.engine.digits import WIDEST, numbers, windows
from l4tui.engine.keys import shape_of
from l4tui.engine.model import UNKNOWN, LineClass, Marker, Parse, Span
from l4tui.engine.stamps import Stamp
from l4tui.engine.trails import TAGGED, TOLD, Trail, trail_of

NAMES = frozenset(("task", "rank", "self_rank", "pid", "tid", "actor"))  # fields that name one process
IDENTITY = NAMES | {"mpi_job", "local_rank", "own_device", "node", "attempt"}
MOST_IDENTITY = 6  # digit runs that tell speakers apart; a line with more of them is read one by one
ITER = MOST_IDENTITY
SITE = ITER + 1
SLOTS = SITE + 1

_DIGITS = re.compile(rb"\d+")
_ARRAYS: dict[str, tuple[type, int, int]] = {  # name: type, value where nothing is said, slots
    "at": (np.int32, 0, SLOTS),
    "width": (np.int8, 0, SLOTS),
    "identity": (np.int32, 0, 0),
    "numbers": (np.int8, 0, 0),
    "stamp": (np.int32, UNKNOWN, 0),
    "stamp_at": (np.int32, 0, 0),
    "marker": (np.int8, 0, 0),
    "loose": (np.bool_, 0, 0),
    "is_simple": (np.bool_, 0, 0),
    "line_class": (np.int8, 0, 0),
    "teaches": (np.bool_, 0, 0),
    "site_line": (np.int32, UNKNOWN, 0),
    "site_text": (np.uint64, 0, 0),
    "site_mask": (np.uint64, 0, 0),
    "told": (np.int8, 0, 0),
    "tagged": (np.bool_, 0, 0),
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

    at: np.ndarray  # int32 (slot, plan): offset of a field
    width: np.ndarray  # int8 (slot, plan): its digits; 0: the plan has no such field
    identity: np.ndarray  # int32: template of the identity (its text, digits out)
    numbers: np.ndarray  # int8: digit runs of the identity
    stamp: np.ndarray  # int32 into stamps, -1
    stamp_at: np.ndarray  # int32: offset of the stamp's first digit
    marker: np.ndarray  # int8, model.Marker
    loose: np.ndarray  # bool: read such lines one by one
    is_simple: np.ndarray  # bool: one number at most tells its speakers apart
    line_class: np.ndarray  # int8
    teaches: np.ndarray  # bool
    site_line: np.ndarray  # int32: line number of the call site, -1
    site_text: np.ndarray  # uint64: its digits as they stand in memory, the first eight …
    site_mask: np.ndarray  # uint64: … and which bytes they are
    told: np.ndarray  # int8: trails.Trail of lines whose text the merge reads, else 0
    tagged: np.ndarray  # bool: its lines may hold a tag that cuts them

    def __init__(self) -> None:
        self.infos: list[PlanInfo] = []
        self.stamps: list[Stamp] = []
        self._stamp_ids: dict[Stamp, int] = {}
        self._identities: dict[tuple[object, ...], int] = {}
        for name, (dtype, fill, slots) in _ARRAYS.items():
            setattr(self, name, np.full((slots, 1024) if slots else 1024, fill, dtype))

    def _new_row(self) -> int:
        """Return the next row, making room for it."""
        k = len(self.infos)
        if k == len(self.loose):
            for name, (_, fill, _) in _ARRAYS.items():
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.full_like(old, fill)), axis=-1))
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
        loose = 0 <= holds_to < parse.text_at or any(must_hold(s) for s in set(parse.spans) - set(spans))
        self._place_identity(k, line, spans, parse)
        self._place_time(k, line, spans, parse)
        for span in spans:
            if span.field == "iter":
                self._place(k, ITER, span.start, span.end)
            elif span.field == "line":
                self._place(k, SITE, span.start, span.end)
                self._place_site(k, line[span.start : span.end])
        self.marker[k] = parse.marker if self.width[ITER, k] else Marker.NONE
        self.loose[k] = loose or self.numbers[k] > MOST_IDENTITY
        self.is_simple[k] = self.numbers[k] <= 1 and not self.loose[k]
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
            column[..., k] = column[..., of]
        self._place_site(k, b"%0*d" % (int(self.width[SITE, k]), site_line))
        info = self.infos[of]
        parts = info.site.split(b":")
        if len(parts) > 1:
            parts[1] = b"%d" % site_line
        self.infos.append(info._replace(site=b":".join(parts)))
        return k

    def field(
        self, raw: np.ndarray, begin: np.ndarray, plan: np.ndarray, used: np.ndarray, slot: int, missing: int
    ) -> np.ndarray:
        """Read one field of every line; int64, `missing` where the plan has no such field. `used`: the plans."""
        widths = self.width[slot]
        some = widths[used]
        widest = int(some.max(initial=0))
        if not widest:
            return np.full(len(plan), missing, np.int64)
        surely = int(some.min())
        width = widths.take(plan)
        value = numbers(raw, begin + self.at[slot].take(plan), width, surely, widest)
        if not surely and missing:
            value[width == 0] = missing
        return value

    def _place(self, k: int, slot: int, start: int, end: int) -> None:
        self.at[slot, k] = start
        self.width[slot, k] = min(end - start, WIDEST)

    def _place_site(self, k: int, digits: bytes) -> None:
        self.site_line[k] = int(digits[:9] or b"-1")
        self.site_text[k] = int.from_bytes(digits[:8], "little")
        self.site_mask[k] = (1 << 8 * len(digits[:8])) - 1

    def other_sites(self, raw: np.ndarray, begin: np.ndarray, plan: np.ndarray) -> np.ndarray:
        """Return the lines whose call site has other digits than their plan's; they are compared as they stand."""
        word = windows(raw, begin + self.at[SITE].take(plan), 8).view("<u8").reshape(len(plan))
        word ^= self.site_text.take(plan)
        word &= self.site_mask.take(plan)
        return np.flatnonzero(word)

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
        found = [span for span in clock_spans(spans) if span.field in clock.fields]
        if len(found) < len(clock.fields):
            return  # such lines are read one by one
        first = min(span.start for span in found)
        stamp = Stamp(clock, tuple((s.field, s.start - first, min(s.end - s.start, WIDEST)) for s in found))
        at = self._stamp_ids.setdefault(stamp, len(self.stamps))
        if at == len(self.stamps):
            self.stamps.append(stamp)
        self.stamp[k], self.stamp_at[k] = at, first


def must_hold(span: Span) -> bool:
    """Say whether lines must be parsed one by one where this span's offset does not hold."""
    return span.field in IDENTITY or span.field in NUMBERS or span.field == "iter"


def _site(line: bytes, spans: tuple[Span, ...]) -> bytes:
    fields = {s.field: line[s.start : s.end] for s in spans if s.field in ("file", "line", "func")}
    if "file" not in fields:
        return b""
    return b":".join(fields[name] for name in ("file", "line", "func") if fields.get(name))
