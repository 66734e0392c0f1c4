"""Turn numbers and times into text, and mark what changes from one iteration to the next.

A marked field is STX, one kind letter, its characters, ETX. `bulk.py` copies a marked iteration many times and
rewrites the fields in place, so every field keeps its width.
"""

from __future__ import annotations

import time
from functools import lru_cache

SECOND = 1_000_000_000  # ns
RANDOM, STEP, TOTAL, HOUR, MINUTE, SECONDS, FRACTION = "nscHMSf"


@lru_cache(maxsize=4096)
def utc(second: int) -> time.struct_time:
    """Return the broken-down UTC time of a whole second since the epoch."""
    return time.gmtime(second)


@lru_cache(maxsize=256)
def day(number: int, form: str) -> str:
    """Format the date of a day since the epoch."""
    return time.strftime(form, time.gmtime(number * 86_400))


class Ink:
    """Writes fields; with `marked` they can be rewritten in place later."""

    def __init__(self) -> None:
        self.marked = False

    def field(self, kind: str, text: str) -> str:
        return f"\x02{kind}{text}\x03" if self.marked else text

    def number(self, value: float, spec: str, loose: int = 3) -> str:
        """Format a measured value; the last `loose` digits after the point (two of an integer) may be rewritten."""
        text = format(value, spec)
        if not self.marked or not text[-1].isdigit():
            return text
        point = text.rfind(".")
        keep = len(text) - (2 if point < 0 else min(loose, len(text) - point - 1))
        if keep < 1 or not text[keep:].isdigit():
            return text
        return text[:keep] + self.field(RANDOM, text[keep:])

    def step(self, value: int, width: int = 0) -> str:
        text = str(value)
        return " " * (width - len(text)) + self.field(STEP, text)

    def total(self, value: int, width: int = 0) -> str:
        """Format a running total that grows by the same amount each step."""
        text = str(value)
        return " " * (width - len(text)) + self.field(TOTAL, text)

    def clock(self, ns: int, point: str = "", digits: int = 0) -> str:
        """Format HH:MM:SS and a fraction of `digits` digits after `point`."""
        at = utc(ns // SECOND)
        h, m, s = f"{at.tm_hour:02}", f"{at.tm_min:02}", f"{at.tm_sec:02}"
        f = f"{ns % SECOND:09}"[:digits]
        if not self.marked:
            return f"{h}:{m}:{s}{point}{f}"
        body = f"{self.field(HOUR, h)}:{self.field(MINUTE, m)}:{self.field(SECONDS, s)}"
        return body + point + self.field(FRACTION, f) if digits else body

    def date(self, ns: int, form: str = "%Y-%m-%d") -> str:
        return day(ns // SECOND // 86_400, form)
