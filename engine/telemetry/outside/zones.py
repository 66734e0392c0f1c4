"""Monitors write local time, jobs often UTC: the shift between the two, where only one makes the file fit the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from l4tui.engine.model import NO_TIME
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.telemetry.curves import Mark, Outside

HALF_HOUR = 1800 * 10**9
FURTHEST = 28  # half hours
ENOUGH = 0.5  # of the shorter of the two that must overlap

CHUNK = 1 << 20  # entries looked at together

Span = tuple[int, int]


def span_of(snap: Snapshot) -> Span | None:
    """Return when the ranks of a job spoke first and last; None where no line of theirs has a time."""
    begin, end = NO_TIME, NO_TIME
    for first in range(0, snap.length, CHUNK):
        part = slice(first, first + CHUNK)
        clock = snap.clock[part]
        clock = clock[(snap.ranks.rank[snap.speaker[part]] >= 0) & (clock != NO_TIME)]
        if len(clock):
            begin = int(clock.min()) if begin == NO_TIME else min(begin, int(clock.min()))
            end = max(end, int(clock.max()))
    return None if begin == NO_TIME else (begin, end)


def fitted(outsides: Iterable[Outside], job: Span | None) -> tuple[Outside, ...]:
    """Shift tables that lie wholly beside a job's time by whole hours, else by half ones, where only one shift fits."""
    return tuple(_fit(one, job) if job is not None else one for one in outsides)


def _fit(one: Outside, job: Span) -> Outside:
    times = [c.time[c.time != NO_TIME] for c in one.curves if (c.time != NO_TIME).any()]
    if not times:
        return one
    span = min(int(t.min()) for t in times), max(int(t.max()) for t in times)
    shift = shift_of(span, job)
    return one if not shift else _shifted(one, shift)


def shift_of(span: Span, job: Span) -> int:
    """Return ns to add to a file's times; 0 where it overlaps the job as it is, or where several shifts would fit."""
    if _overlap(span, job, 0) > 0:
        return 0
    least = ENOUGH * min(span[1] - span[0], job[1] - job[0])
    for halves in (range(-FURTHEST, FURTHEST + 1, 2), range(-FURTHEST, FURTHEST + 1)):
        fits = [h * HALF_HOUR for h in halves if 0 < _overlap(span, job, h * HALF_HOUR) >= least]
        if fits:
            return fits[0] if len(fits) == 1 else 0
    return 0


def _overlap(span: Span, job: Span, shift: int) -> int:
    return min(span[1] + shift, job[1]) - max(span[0] + shift, job[0])


def _shifted(one: Outside, shift: int) -> Outside:
    curves = tuple(c._replace(time=np.where(c.time != NO_TIME, c.time + shift, NO_TIME)) for c in one.curves)
    return one._replace(curves=curves, marks=tuple(_moved(one.marks, shift)))


def _moved(marks: Sequence[Mark], shift: int) -> Iterator[Mark]:
    for m in marks:
        until = m.until + shift if m.until != NO_TIME else NO_TIME
        yield m._replace(time=m.time + shift, until=until) if m.time != NO_TIME else m
