"""Write long jobs fast: one iteration is rendered with marked fields, then copied and patched many times over.

A copy differs from its model in times, step numbers and the last digits of every measured value; the model is made
anew every `COPIES` iterations, so order and slow trends change too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from l4tui.demo import stages
from l4tui.demo.faults import Fault
from l4tui.demo.ink import FRACTION, HOUR, MINUTE, RANDOM, SECOND, SECONDS, STEP, TOTAL
from l4tui.demo.job import Job
from l4tui.demo.layouts import Layout
from l4tui.demo.play import begin, end, play
from l4tui.demo.writing import Files

COPIES = 128  # iterations made from one model
BLOCK = 8 << 20  # bytes patched at a time: stays near the cache
DAY = 86_400 * SECOND
OPEN, CLOSE = 2, 3  # STX, ETX

Bytes = NDArray[np.uint8]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Model:
    """One iteration of one file without marks, and where its fields stand."""

    text: Bytes
    digits: Index  # offsets of digits to draw anew
    steps: Index  # offsets of step numbers; all of one width
    step_width: int
    totals: Index
    total_width: int
    clocks: Index  # offsets (hour, minute, second, fraction) of each time, (n, 4); fraction −1: none
    fraction: int  # digits of the fraction


def model_of(marked: bytes) -> Model:
    """Find the marked fields and take the marks out."""
    raw = np.frombuffer(marked, dtype=np.uint8)
    opens, closes = np.flatnonzero(raw == OPEN), np.flatnonzero(raw == CLOSE)
    keep = np.ones(len(raw), dtype=bool)
    keep[opens] = keep[opens + 1] = keep[closes] = False
    gone = np.arange(len(opens), dtype=np.int64) * 3  # bytes of marks before each field
    kinds, starts, widths = raw[opens + 1], opens - gone, closes - opens - 2

    def of(kind: str) -> tuple[Index, Index]:
        chosen = kinds == ord(kind)
        return starts[chosen], widths[chosen]

    numbers, lengths = of(RANDOM)
    digits = np.repeat(numbers - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
    steps, step_widths = of(STEP)
    totals, total_widths = of(TOTAL)
    hours, fractions = of(HOUR)[0], of(FRACTION)
    clocks = np.full((len(hours), 4), -1, dtype=np.int64)
    clocks[:, 0], clocks[:, 1], clocks[:, 2] = hours, of(MINUTE)[0], of(SECONDS)[0]
    if len(fractions[0]):  # a time without a fraction has none between its seconds and the next time
        clocks[np.searchsorted(hours, fractions[0], side="right") - 1, 3] = fractions[0]
    return Model(
        raw[keep],
        digits,
        steps,
        int(step_widths[0]) if len(step_widths) else 0,
        totals,
        int(total_widths[0]) if len(total_widths) else 0,
        clocks,
        int(fractions[1][0]) if len(fractions[1]) else 0,
    )


def copies(model: Model, first: int, total: int, batch: int, shifts: Index, rng: np.random.Generator) -> Bytes:
    """Return the iteration once a row for each of `shifts` (ns later than the model), numbered from `first`."""
    n, size = len(shifts), len(model.text)
    grid = np.tile(model.text, (n, 1))
    for at in range(0, n, max(1, BLOCK // max(1, size))):
        rows = grid[at : at + max(1, BLOCK // max(1, size))]
        drawn = np.frombuffer(rng.bytes(len(rows) * len(model.digits)), dtype=np.uint8).reshape(len(rows), -1)
        rows[:, model.digits] = (drawn * np.uint16(10) >> 8).astype(np.uint8) + 48
    numbers = np.arange(first, first + n, dtype=np.int64)
    put(grid, model.steps, model.step_width, numbers[:, None])
    put(grid, model.totals, model.total_width, (total + batch * np.arange(n, dtype=np.int64))[:, None])
    if len(model.clocks):
        put_clocks(grid, model, shifts)
    return grid


def put(grid: Bytes, at: Index, width: int, values: Index) -> None:
    """Write decimal numbers of one width at the offsets of each row."""
    for place in range(width):
        grid[:, at + place] = (values // 10 ** (width - 1 - place) % 10 + 48).astype(np.uint8)


def put_clocks(grid: Bytes, model: Model, shifts: Index) -> None:
    """Move every time of day by its row's shift."""

    def read(offsets: Index, width: int) -> Index:
        value = np.zeros(len(offsets), dtype=np.int64)
        for place in range(width):
            value = value * 10 + (model.text[offsets + place] - 48)
        return value

    hour, minute, second, fraction = model.clocks.T
    with_fraction = fraction >= 0
    unit = 10 ** (9 - model.fraction) if model.fraction else SECOND
    now = ((read(hour, 2) * 60 + read(minute, 2)) * 60 + read(second, 2)) * SECOND
    now[with_fraction] += read(fraction[with_fraction], model.fraction) * unit
    moved = now[None, :] + shifts[:, None]
    seconds = moved // SECOND
    put(grid, hour, 2, seconds // 3600 % 24)
    put(grid, minute, 2, seconds // 60 % 60)
    put(grid, second, 2, seconds % 60)
    if model.fraction:
        put(grid, fraction[with_fraction], model.fraction, (moved % SECOND // unit)[:, with_fraction])


def write_much(job: Job, fault: Fault, place: Layout, files: Files, wanted: int) -> None:
    """Write a job of about `wanted` bytes: the setup, a long healthy stretch in copies, then the fault."""
    size = bytes_of_iteration(job, place)
    period = 2 * job.ckpt_every  # keeps checkpoints and evaluations where the fault expects them
    extra = max(0, round((wanted / size - fault.at) / period)) * period
    job.iterations += extra
    fault.at += extra

    def stretch(first: int) -> int:
        steady(job, fault, place, files, first, first + extra)
        return first + extra

    for batch in play(job, fault, stretch):
        files.append(place.place(batch.lines))


def bytes_of_iteration(job: Job, place: Layout) -> int:
    """Measure one iteration without writing it."""
    healthy = Fault(job)
    step = begin(job, healthy, 1)
    end(job, healthy, step)
    job.now = step.time
    lines = job.flush()
    return sum(len(line.text) + 1 + len(place.place_of(line.writer, line.stderr)[1]) for line in lines)


def steady(job: Job, fault: Fault, place: Layout, files: Files, first: int, last: int) -> None:
    """Write the iterations first…last-1; those with a checkpoint line by line, the others as copies."""
    number = first
    while number < last:
        if number % job.ckpt_every == 0:
            end(job, fault, begin(job, Fault(job), number))
            stages.checkpoint(job, number)
            if number % job.eval_every == 0:
                stages.evaluate(job, number)
            files.append(place.place(job.flush()))
            number += 1
        else:
            number += copied(job, place, files, number, last)


def copied(job: Job, place: Layout, files: Files, number: int, last: int) -> int:
    """Write copies of one iteration up to the next checkpoint at most and return how many."""
    healthy = Fault(job)
    healthy.decoys = []
    began = job.now
    job.ink.marked = True
    end(job, healthy, begin(job, healthy, number))
    job.ink.marked = False
    period = job.now - began
    count = min(copies_until(job, number, began, period), last - number)
    shifts = np.zeros(count, dtype=np.int64)
    shifts[1:] = (period + job.rng.integers(0, period // 40, count - 1)).cumsum()
    parts = place.place(job.flush())
    model = model_of(b"".join(parts.values()))  # all files at once: thousands of small arrays would be slow
    grid = copies(model, number, number * job.batch, job.batch, shifts, job.rng)
    at = 0
    for name, marked in parts.items():
        place.repeated(name, marked.count(b"\n"), count)
        end_at = at + len(marked) - 3 * marked.count(OPEN)
        files.append({name: np.ascontiguousarray(grid[:, at:end_at]).data.cast("B")})
        at = end_at
    job.now = began + int(shifts[-1]) + period
    return count


def copies_until(job: Job, number: int, began: int, period: int) -> int:
    """Return how many copies keep the widths of the numbers, the date and the next checkpoint."""
    total = number * job.batch
    left = DAY - began % DAY
    limits = (
        COPIES,
        job.ckpt_every - number % job.ckpt_every,
        int(10 ** len(str(number))) - number,
        -(-int(10 ** len(str(total)) - total) // job.batch),
        int(left // (period * 1.05)) - 1,
    )
    return max(1, min(limits))
