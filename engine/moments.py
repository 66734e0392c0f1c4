"""Moments as people type them: `12:03`, `2026-01-31T12:03:04.5`, `-10m` before the end, `+5m` after the beginning."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

SECOND = 10**9  # ns
DAY = 86_400 * SECOND
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_RELATIVE = re.compile(r"([+-])((?:\d{1,9}(?:\.\d+)?[dhms])+)", re.ASCII)
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})", re.ASCII)


def parse_moment(text: str, first: int, last: int, utc_offset_s: int = 0) -> int:
    """Return a moment in ns UTC; `first` and `last` are the log's own (ns UTC).

    A time of day is the latest such time not after `last`. Words without a zone are read in the given offset.
    Raises ValueError for what is no moment.
    """
    word = text.strip()
    if match := _RELATIVE.fullmatch(word):
        seconds = sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)([dhms])", match[2]))
        return first + round(seconds * SECOND) if match[1] == "+" else last - round(seconds * SECOND)
    if match := _CLOCK.fullmatch(word):
        hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 0)
        if hours > 23 or minutes > 59 or seconds > 60:
            raise ValueError(f"{word!r} is no time of day")
        into = (hours * 3600 + minutes * 60 + seconds) * SECOND + round(float(match[4] or 0) * SECOND)
        offset = utc_offset_s * SECOND
        day = (last + offset) // DAY * DAY
        at = day + into - offset
        return at if at <= last else at - DAY
    try:
        at_date = datetime.fromisoformat(word)
    except ValueError:
        raise ValueError(f"{word!r} is no time: write 12:03, 2026-01-31T12:03, -10m or +5m") from None
    if at_date.tzinfo is None:
        at_date = at_date.replace(tzinfo=timezone(timedelta(seconds=utc_offset_s)))
    return int((at_date - datetime.fromtimestamp(0, UTC)) / timedelta(microseconds=1)) * 1000


def utc_offset(zone: str, at: int) -> int:
    """Return the seconds by which a zone (UTC, local, +02:00, Europe/Berlin) is ahead of UTC at a moment in ns.

    Raises ValueError for an unknown zone.
    """
    if zone in ("", "UTC", "utc", "Z"):
        return 0
    if match := _OFFSET.fullmatch(zone):
        seconds = int(match[2]) * 3600 + int(match[3]) * 60
        return seconds if match[1] == "+" else -seconds
    try:
        found: tzinfo | None = None if zone == "local" else ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"no time zone {zone!r}: write UTC, local, +02:00 or a name such as Europe/Berlin") from None
    moment = datetime.fromtimestamp(at / SECOND, UTC).astimezone(found)
    return round((moment.utcoffset() or timedelta()).total_seconds())
