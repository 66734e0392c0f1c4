"""Clocks: numbers read from lines become int64 nanoseconds UTC, many lines at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, Parse, Span

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
FIELDS = frozenset(["Y", "m", "d", "H", "M", "S", "f", "mon", "ampm", "epoch", "epoch_ms", "zone", "zone_h", "zone_m"])
NUMBERS = FIELDS - {"mon", "ampm", "zone"}  # fields that are gathered as numbers; the others are text of the key
YEARS = range(1970, 2262)  # what int64 nanoseconds hold
_EPOCH = date(1970, 1, 1).toordinal()
YEARS_BACK = 8  # a 29 February without a year is at most eight years old (1896 to 1904)
_MONTHS = {name: k for k, name in enumerate(b"jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
# hours from UTC of the names that mean one zone only; CST, IST and BST do not
_ZONES = {
    "Z": 0, "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "JST": 9, "KST": 9,
}  # fmt: skip


# a year first, then what stands before it: most text is passed over by the first byte
_TOLD = re.compile(rb"([12](?<!\d[12])[09]\d\d)[-/](\d\d)[-/](\d\d)[ T_]\d\d:\d\d:\d\d")


class ClockContext:
    """What a line does not say: the newest time its source can hold, and the zone of stamps without one."""

    def __init__(self, latest_ns: int | Callable[[], int] = NO_TIME, utc_offset_s: int = 0) -> None:
        """Take ns UTC, or what finds it out once it is asked for, and seconds east of UTC."""
        self._latest = latest_ns
        self.utc_offset_s = utc_offset_s

    def __reduce__(self) -> tuple[type[ClockContext], tuple[int, int]]:
        return ClockContext, (self.latest_ns, self.utc_offset_s)

    @property
    def latest_ns(self) -> int:
        """The source's time of modification, or what its text says of it."""
        if callable(self._latest):
            self._latest = self._latest()
        return self._latest


class Clock(NamedTuple):
    """How the numbers of one kind of stamp are read; equal kinds are equal and hash alike."""

    fields: tuple[str, ...]  # numbers to gather, of NUMBERS
    month: int = 0  # from the name of the month; 0: a number, or none
    half: int = -1  # 0 a.m., 1 p.m., -1 24 hours
    zone_s: int | None = None  # seconds east of UTC; None: not said
    zone_sign: int = 1  # of zone_h and zone_m
    width: int = 0  # digits of the fraction
    century: int = 0  # added to years of two digits

    @property
    def dateless(self) -> bool:
        """Whether stamps hold a time of day only, in nanoseconds since midnight UTC."""
        return not {"epoch", "epoch_ms", "d"} & set(self.fields)

    @property
    def lacks_year(self) -> bool:
        """Whether stamps have a date whose year has to be found."""
        return "d" in self.fields and "Y" not in self.fields

    def times(self, numbers: Mapping[str, Ints], context: ClockContext) -> Ints:
        """Return ns UTC per line, NO_TIME where the numbers are no time.

        Args:
            numbers: one int64 array of the lines' length per field; fields that are absent count as zero.
        """
        n = max((len(column) for column in numbers.values()), default=0)
        zero = np.zeros(n, np.int64)
        fraction = numbers.get("f", zero) * 10 ** max(9 - self.width, 0)
        if "epoch" in numbers or "epoch_ms" in numbers:
            return _epoch(numbers, fraction)
        hour, minute, second = (numbers.get(name, zero) for name in "HMS")
        good = (minute >= 0) & (minute < 60) & (second >= 0) & (second <= 60) & (hour >= 0) & (fraction < SECOND)
        if self.half >= 0:
            good &= (hour >= 1) & (hour <= 12)
            hour = hour % 12 + 12 * self.half
        good &= hour < 24
        in_day: Ints = np.where(good, (hour * 3600 + minute * 60 + second) * SECOND + fraction, 0)
        in_day -= self._east(numbers, context) * SECOND
        if self.dateless:
            return np.where(good, in_day % DAY, NO_TIME)
        month = np.full(n, self.month, np.int64) if self.month else numbers.get("m", zero)
        if "Y" in numbers:
            days = _days(numbers["Y"] + self.century, month, numbers["d"])
        else:
            days = _latest_days(month, numbers["d"], in_day, context.latest_ns)
        good &= days != NO_TIME
        return np.where(good, np.where(good, days, 0) * DAY + in_day, NO_TIME)

    def _east(self, numbers: Mapping[str, Ints], context: ClockContext) -> Ints | int:
        if "zone_h" in numbers:
            minutes = numbers.get("zone_m", np.int64(0))
            return self.zone_sign * (numbers["zone_h"] % 24 * 3600 + minutes % 60 * 60)
        return context.utc_offset_s if self.zone_s is None else self.zone_s


def _epoch(numbers: Mapping[str, Ints], fraction: Ints) -> Ints:
    if "epoch_ms" in numbers:
        ms = numbers["epoch_ms"]
        good = (ms >= 0) & (ms < 2**63 // 1_000_000)
        return np.where(good, np.where(good, ms, 0) * 1_000_000, NO_TIME)
    seconds = numbers["epoch"]
    good = (seconds >= 0) & (seconds < 2**63 // SECOND - 1) & (fraction < SECOND)
    return np.where(good, np.where(good, seconds, 0) * SECOND + fraction, NO_TIME)


def _days(year: Ints, month: Ints, day: Ints) -> Ints:
    """Return days since 1970 of civil dates, NO_TIME for what is no date."""
    if len(day) and (day == day[0]).all() and (month == month[0]).all() and (year == year[0]).all():
        return np.full(len(day), _day(int(year[0]), int(month[0]), int(day[0])), np.int64)
    good = (year >= YEARS.start) & (year < YEARS.stop) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(good, (year - 1970) * 12 + month - 1, 0)
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    good &= day <= after - first
    return np.where(good, first + np.where(good, day, 0) - 1, NO_TIME)


def _day(year: int, month: int, day: int) -> int:
    """Return days since 1970 of one civil date, NO_TIME for what is no date."""
    try:
        return date(year, month, day).toordinal() - _EPOCH if year in YEARS else NO_TIME
    except (ValueError, OverflowError):
        return NO_TIME


def _latest_days(month: Ints, day: Ints, in_day: Ints, latest_ns: int) -> Ints:
    """Return the last such dates that are not more than a day after `latest_ns`."""
    found = np.full(len(day), NO_TIME, np.int64)
    if latest_ns == NO_TIME:
        return found
    limit = min(latest_ns, (YEARS.stop - 1970) * 365 * DAY) // SECOND * SECOND + DAY + SECOND - 1  # whole seconds
    newest = datetime.fromtimestamp(limit // SECOND, UTC).year
    for year in range(newest, newest - YEARS_BACK - 1, -1):
        open_ = found == NO_TIME
        if not open_.any():
            break
        days = _days(np.full(len(day), year, np.int64), month, day)
        fits = open_ & (days != NO_TIME) & (np.where(days == NO_TIME, 0, days) * DAY + in_day <= limit)
        found[fits] = days[fits]
    return found


def latest_told(text: bytes) -> int:
    """Return the latest date with a year among the stamps of some text, ns UTC; NO_TIME where there is none."""
    found = [m for m in _TOLD.findall(text) if int(m[0]) in YEARS]
    if not found:
        return NO_TIME
    days = _day(*map(int, max(found)))
    return days * DAY if days != NO_TIME else NO_TIME


def clock_spans(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the time fields of one clock where a line holds several.

    The one with a year wins, then the one with a zone, then the outermost, which all lines of a source share.
    """
    clocks: list[dict[str, Span]] = [{}]
    for span in spans:
        if span.field not in FIELDS:
            continue
        now = clocks[-1]
        dates = span.field in ("m", "mon", "d", "Y") and "S" in now and not (span.field == "Y" and "mon" in now)
        if span.field in now or dates or (span.field in ("epoch", "epoch_ms") and now):
            clocks.append({})
        clocks[-1][span.field] = span

    def worth(clock: dict[str, Span]) -> tuple[bool, bool, bool]:
        epoch = "epoch" in clock or "epoch_ms" in clock
        dated = "d" in clock and ("m" in clock or "mon" in clock)
        return epoch or (dated and "Y" in clock), epoch or "zone" in clock, dated

    usable = [c for c in clocks if "epoch" in c or "epoch_ms" in c or ("H" in c and "M" in c)]
    return tuple(max(usable, key=worth).values()) if usable else ()


def compile_clock(parse: Parse, line: bytes) -> Clock | None:
    """Return how the stamp of a line is read, None for a line without one.

    Args:
        line: the tidy line or its key; names of months, halves of the day and zones are taken from it.
    """
    at = {span.field: span for span in clock_spans(parse.spans)}
    if not at:
        return None
    text = {name: line[span.start : span.end] for name, span in at.items()}
    month = _MONTHS.get(text.get("mon", b"")[:3].lower(), 0)
    dated = "d" in at and (month or "m" in at)
    fields = tuple(sorted(name for name in at if name in NUMBERS and (dated or name not in ("Y", "m", "d"))))
    zone = text.get("zone", b"")
    sign = -1 if zone.startswith(b"-") else 1
    return Clock(
        fields,
        month if dated else 0,
        {b"a": 0, b"p": 1}.get(text.get("ampm", b"")[:1].lower(), -1),
        None if "zone_h" in at else _zone(zone, sign),
        sign,
        min(at["f"].end - at["f"].start, 9) if "f" in at else 0,
        2000 if "Y" in at and at["Y"].end - at["Y"].start == 2 else 0,
    )


def _zone(zone: bytes, sign: int) -> int | None:
    hours = _ZONES.get(zone.decode("latin-1").upper())
    if hours is not None:
        return hours * 3600
    digits = bytes(byte for byte in zone if 48 <= byte <= 57)
    if zone[:1] not in (b"+", b"-") or len(digits) != 4:
        return None
    return sign * (int(digits[:2]) % 24 * 3600 + int(digits[2:]) % 60 * 60)


def date_carry(times: Ints, carried_ns: int, dateless: Bools | None = None) -> Ints:
    """Return times of day with the dates of the lines before them; past midnight a day is added.

    A step back by more than half a day is a midnight; a step forward by more, a late line from before it.

    Args:
        times: in file order; times of day where `dateless` is set, NO_TIME where a line has none.
        carried_ns: the last time before the block; NO_TIME leaves what comes before the first date without time.
        dateless: all, when not given.
    """
    rows = np.flatnonzero(times != NO_TIME)
    if not len(rows):
        return times
    fixed = np.zeros(len(rows), bool) if dateless is None else ~dateless[rows]
    known = carried_ns != NO_TIME
    values = np.concatenate(([carried_ns if known else 0], times[rows]))
    anchor = np.concatenate(([known], fixed))
    in_day, day = values % DAY, values // DAY
    step = np.diff(in_day, prepend=in_day[:1])
    if not known:
        step[1] = 0
    wraps = np.cumsum((step < -DAY // 2).astype(np.int64) - (step > DAY // 2))
    index = np.arange(len(values))
    last = np.maximum.accumulate(np.where(anchor, index, -1))
    dated = (day[last] + wraps - wraps[last]) * DAY + in_day
    out = times.copy()
    out[rows] = np.where(last >= 0, dated, NO_TIME)[1:]
    return out


def iso(ns: int, fraction_digits: int = 3) -> str | None:
    """Write a time as ISO 8601 in UTC with so many digits of the second; None for NO_TIME."""
    if ns == NO_TIME:
        return None
    seconds, rest = divmod(ns, SECOND)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{rest:09d}"[: 20 + fraction_digits] + "Z" if fraction_digits else text + "Z"


class Offsets(NamedTuple):
    """How far each lane's clock runs ahead of the median lane's."""

    lanes: Ints
    offset_ns: Ints
    lines: Ints  # lines the estimate rests on


def clock_offsets(times: Ints, lanes: Ints, events: Ints, iterations: Ints) -> Offsets:
    """Estimate clock offsets from lines that most lanes write once per iteration.

    Each (event, iteration) that more than half of the lanes share gives the differences to its median time; a lane's
    offset is the median of its differences, so that a lane that is late now and then does not move its clock.
    Arrays have one row per line; lines without time or iteration (negative) are left out.
    """
    use = np.flatnonzero((times != NO_TIME) & (iterations >= 0) & (events >= 0))
    who = np.unique(lanes[use])
    empty = np.zeros(0, np.int64)
    if len(who) < 2:
        return Offsets(who, np.zeros(len(who), np.int64), np.zeros(len(who), np.int64))
    order = use[np.lexsort((times[use], lanes[use], iterations[use], events[use]))]
    rows = np.stack([events[order], iterations[order], lanes[order]])
    first = np.concatenate(([True], (np.diff(rows, axis=1) != 0).any(axis=0)))
    order = order[first]  # a lane counts once in a group
    _, group, size = np.unique(
        np.stack([events[order], iterations[order]]), axis=1, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)
    keep = size[group] * 2 > len(who)
    order, group = order[keep], group[keep]
    if not len(order):
        return Offsets(empty, empty, empty)
    ahead = times[order] - _medians(group, times[order])[group]
    found, lane, count = np.unique(lanes[order], return_inverse=True, return_counts=True)
    return Offsets(found, _medians(lane, ahead), count.astype(np.int64))


def _medians(group: Ints, values: Ints) -> Ints:
    """Return the lower median of the values of each group, by group number up to the largest."""
    order = np.lexsort((values, group))
    counts = np.bincount(group)
    starts = np.cumsum(counts) - counts
    middle = starts + (np.maximum(counts, 1) - 1) // 2
    found: Ints = values[order][np.minimum(middle, len(order) - 1)]
    return found
