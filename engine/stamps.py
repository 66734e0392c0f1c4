"""Stamps: the digits of a clock as they stand in lines, read once for each run of lines of the same second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from l4tui.engine.clock import Clock, ClockContext
from l4tui.engine.digits import Bytes, Ints, number, windows
from l4tui.engine.model import NO_TIME

LONGEST = 64  # bytes from the first digit of a stamp to its last that are taken as they stand
_DATE = ("Y", "m", "d")
FRACTION = 9  # digits of a second that a nanosecond has

Place = tuple[str, int, int]  # field, offset from the stamp's first digit, digits
Places = tuple[Place, ...]


class Stamp(NamedTuple):
    """Where the numbers of a clock stand, counted from the first of them; equal ones are equal and hash alike."""

    clock: Clock
    places: Places

    def times(self, raw: Bytes, at: Ints, context: ClockContext) -> Ints:
        """Return the time of stamps that begin at these offsets, ns UTC.

        Neighbours mostly share their second: the calendar is asked where any digit but the fraction's changes.
        """
        if not len(at):
            return np.zeros(0, np.int64)
        window, places = self._gathered(raw, at)
        fraction = self._fraction(places)
        calendar = tuple(place for place in places if place != fraction)
        starts = np.concatenate(([0], _changes(window, calendar) + 1))
        first = window if len(starts) == len(at) else window[starts]
        time = self.clock.times(self._numbers(first, calendar), context)
        if len(starts) < len(at):
            time = np.repeat(time, np.diff(starts, append=len(at)))
        if fraction is None:
            return time
        _, offset, width = fraction
        rest = number(window, offset, width).astype(np.int64)
        rest *= 10 ** (FRACTION - width)
        if time.min() == NO_TIME:
            rest[time == NO_TIME] = 0
        return time + rest

    def _numbers(self, window: Bytes, places: Places) -> dict[str, Ints]:
        """Return the numbers of each stamp; those of a date that all share once, to be broadcast."""
        date = [place for place in places if place[0] in _DATE] if "Y" in self.clock.fields else []
        is_shared = 0 < len(date) < len(places) and not len(_changes(window, date))
        one = window[:1] if is_shared else window
        return {name: number(one if name in _DATE else window, at, width) for name, at, width in places}

    def _gathered(self, raw: Bytes, at: Ints) -> tuple[Bytes, Places]:
        """Return the bytes of each stamp, a row of whole words each, and where the numbers stand in it."""
        end = max(offset + width for _, offset, width in self.places)
        if end <= LONGEST:
            return windows(raw, at, -(-end // 8) * 8), self.places
        parts = [windows(raw, at + offset, width) for _, offset, width in self.places]
        ends = np.cumsum([width for *_, width in self.places]).tolist()
        parts.append(np.zeros((len(at), -ends[-1] % 8), np.uint8))
        places = tuple((name, end - width, width) for (name, _, width), end in zip(self.places, ends, strict=True))
        return np.concatenate(parts, axis=1), places

    def _fraction(self, places: Places) -> Place | None:
        """Return the place of the digits that only add to the second; None where there are none."""
        if "epoch_ms" in self.clock.fields:
            return None
        return next((place for place in places if place[0] == "f" and place[2] <= FRACTION), None)


def _changes(window: Bytes, places: Sequence[Place]) -> Ints:
    """Return the rows whose next row has other digits at these places."""
    mask = np.zeros(window.shape[1], np.uint8)
    for _, offset, width in places:
        mask[offset : offset + width] = 0xFF
    words = window.view(np.uint64)
    differs = np.zeros(len(words) - 1, np.uint64)
    for column, bits in enumerate(mask.view(np.uint64)):
        if bits:
            differs |= (words[1:, column] ^ words[:-1, column]) & bits
    return np.flatnonzero(differs)
