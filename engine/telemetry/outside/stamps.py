"""Times as monitors and kernels write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from l4tui.engine.model import NO_TIME

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NUMERIC = re.compile(
    r"(?P<Y>\d{4})[-/]?(?P<m>\d\d)[-/]?(?P<d>\d\d)[ T]+(?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?"
    r"(?: ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d))?"
)
_CTIME = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?P<mon>[A-Z][a-z]{2}) +(?P<d>\d{1,2}) (?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)"
    r"(?:\.(?P<f>\d{1,9}))?(?: (?P<Y>\d{4}))?"
)
DAY = 86_400


class Stamps:
    """Reads stamps of one file; the zone where they name none, and the time of its last change, are given."""

    def __init__(self, utc_offset_s: int, latest_ns: int) -> None:
        self._zone = timezone(timedelta(seconds=utc_offset_s))
        self._latest = latest_ns
        self._last: tuple[str, tuple[int, int]] = ("", (NO_TIME, 0))

    def read(self, text: str) -> tuple[int, int]:
        """Return (ns UTC, end of the stamp) of a text that begins with a stamp; (NO_TIME, 0) where it does not."""
        if text == self._last[0]:  # the rows of all devices of a machine
            return self._last[1]
        self._last = text, self._read(text)
        return self._last[1]

    def _read(self, text: str) -> tuple[int, int]:
        for pattern in (_NUMERIC, _CTIME):
            if match := pattern.match(text):
                time = self._time(match.groupdict())
                return (time, match.end()) if time != NO_TIME else (NO_TIME, 0)
        return NO_TIME, 0

    def at(self, day: datetime, hour: int, minute: int, second: int) -> int:
        """Return ns UTC of a time of day."""
        try:
            moment = datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=self._zone)
        except ValueError:
            return NO_TIME
        return int(moment.timestamp()) * 10**9

    def _time(self, parts: dict[str, str | None]) -> int:
        mon = parts.get("mon")
        month = _MONTHS.index(mon.lower()) + 1 if mon and mon.lower() in _MONTHS else int(parts.get("m") or 0)
        year = int(parts["Y"] or 0) or self._year(month, int(parts["d"] or 0))
        zone = self._named(parts.get("zone"))
        try:
            day, hour, minute, second = (int(parts[name] or 0) for name in ("d", "H", "M", "S"))
            moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
            return int(moment.timestamp()) * 10**9 + int(((parts.get("f") or "") + "0" * 9)[:9])
        except (ValueError, OverflowError):
            return NO_TIME

    def _named(self, zone: str | None) -> timezone:
        if not zone:
            return self._zone
        if zone in ("Z", "UTC"):
            return UTC
        sign = -1 if zone[0] == "-" else 1
        return timezone(sign * timedelta(hours=int(zone[1:3]) % 24, minutes=int(zone[-2:]) % 60))

    def _year(self, month: int, day: int) -> int:
        """Return the last year in which the date is not a day after the file's last change."""
        latest = datetime.fromtimestamp(self._latest / 1e9 + DAY, self._zone)
        return latest.year if (month, day) <= (latest.month, latest.day) else latest.year - 1
