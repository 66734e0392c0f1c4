"""A snapshot of the entries that matter: what a diagnosis of a very large job looks at.

Kept are all messages that are rare in the job, all errors and warnings up to a limit for each text, the first and last
lines of every speaker, and of the flood of like lines whole iterations: the first, the last and stretches between, with
every rank's lines in them, so that ranks can still be compared. Runs of kept neighbours become blocks of their own, so
places and texts are those of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.iterations import FillCache
from l4tui.engine.model import NO_TIME, Flag, Kind, Level, LineClass
from l4tui.engine.order import OrderCache
from l4tui.engine.smallids import stable_order
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.store import Blocks

Bits = NDArray[np.bool_]
Ints = NDArray[np.int64]

MOST = 4_000_000  # entries that are judged as they are
FIRST_PART = 1 << 17  # entries looked at first for the first lines of speakers
CHUNK = 1 << 22  # entries looked at together: bounds the memory of what is computed on the way
RARE = 20_000  # a text with no more lines is kept whole
GRAVE = 100_000  # lines of each text that is a warning or worse, from its beginning and as many from its end
EDGE = 150  # first lines of every speaker, and thrice as many last ones
STRETCH = 8  # iterations in a row
SLICES = 1 << 14  # of time, where no line tells an iteration
MOST_TURNS = 1 << 24  # no training has more iterations: larger numbers are something else
_LATEST = int(np.iinfo(np.int64).max)
_TOLD = np.zeros(len(LineClass), bool)
_TOLD[[c for c in LineClass if c not in (LineClass.PLAIN, LineClass.HEAD, LineClass.BLANK, LineClass.PROGRESS)]] = True


def condense(snap: Snapshot, most: int = MOST) -> Snapshot:
    """Return the snapshot itself where it has at most `most` entries, else one of about so many at the most."""
    chosen = entries_that_matter(snap, most)
    return snap if chosen is None else select(snap, chosen)


def entries_that_matter(snap: Snapshot, most: int = MOST) -> Bits | None:
    """Tell which entries a diagnosis looks at; None: all."""
    return None if snap.length <= most else _wanted(snap, most)


class Tally(NamedTuple):
    """What is counted over all entries; times are NO_TIME where there is none."""

    lines: Ints  # of every plan
    records: int
    begin: int
    end: int


def tally(snap: Snapshot) -> Tally:
    """Count a snapshot, chunk by chunk."""
    plans = len(snap.plans.event)
    lines = np.zeros(plans, np.int64)
    records, begin, end = 0, _LATEST, NO_TIME
    for part in _chunks(snap):
        lines += np.bincount(snap.plan[part], minlength=plans)
        records += int(np.count_nonzero(snap.record[part] == np.arange(part.start, part.stop)))
        clock = snap.clock[part]
        begin = min(begin, int(clock.min(where=clock != NO_TIME, initial=_LATEST)))
        end = max(end, int(clock.max()))
    return Tally(lines, records, begin if end != NO_TIME else NO_TIME, end)


def _chunks(snap: Snapshot) -> Iterator[slice]:
    for at in range(0, snap.length, CHUNK):
        yield slice(at, min(at + CHUNK, snap.length))


def _wanted(snap: Snapshot, most: int) -> Bits:
    shape = snap.plans.shape
    lines = tally(snap).lines
    of_shape = np.bincount(shape, weights=lines, minlength=int(shape.max(initial=0)) + 1).astype(np.int64)
    rare = of_shape[shape] <= RARE
    grave = (snap.plans.level >= Level.WARNING) | _TOLD[snap.plans.line_class]
    wanted = np.zeros(snap.length, np.bool_)
    launcher = snap.ranks.kind == Kind.LAUNCHER
    for part in _chunks(snap):
        plan = snap.plan[part]
        wanted[part] = rare[plan] | launcher[snap.speaker[part]] | ((snap.flags[part] & Flag.NOTE) != 0)
    _add_grave(snap, wanted, np.flatnonzero(grave & ~rare))
    _add_edges(snap, wanted)
    _add_stretches(snap, wanted, most)
    _complete_records(snap, wanted)
    return wanted


def _add_grave(snap: Snapshot, wanted: Bits, plans: Ints) -> None:
    """Keep the first and last lines of frequent texts that are no good news."""
    is_grave = np.zeros(len(snap.plans.event), np.bool_)
    is_grave[plans] = True
    of_shape: dict[int, list[Ints]] = {}
    for part in _chunks(snap):
        rows = part.start + np.flatnonzero(is_grave[snap.plan[part]])
        shapes = snap.plans.shape[snap.plan[rows]]
        for shape in np.unique(shapes).tolist():
            of_shape.setdefault(shape, []).append(rows[shapes == shape])
    for found in of_shape.values():
        rows = np.concatenate(found)
        wanted[rows[:GRAVE]] = True
        wanted[rows[-GRAVE:]] = True


def _add_edges(snap: Snapshot, wanted: Bits) -> None:
    """Keep the first and last lines of every speaker."""
    speakers = len(snap.ranks.rank)
    lines = np.zeros(speakers, np.int64)
    for part in _chunks(snap):
        lines += np.bincount(snap.speaker[part], minlength=speakers)
    left = np.minimum(lines, EDGE)
    for part in _widening(snap.length):
        _take(snap.speaker[part], left, wanted[part])
        if not left.any():
            break
    left = np.minimum(lines, 3 * EDGE)
    for part in _widening(snap.length):
        back = slice(snap.length - part.stop, snap.length - part.start)
        _take(snap.speaker[back][::-1], left, wanted[back][::-1])
        if not left.any():
            break


def _widening(length: int) -> Iterator[slice]:
    """Yield parts that double in size: the first ones already hold most speakers' first lines."""
    begin, size = 0, FIRST_PART
    while begin < length:
        end = min(begin + size, length)
        yield slice(begin, end)
        begin, size = end, min(2 * size, CHUNK)


def _take(speaker: Ints, left: Ints, wanted: Bits) -> None:
    """Keep a speaker's next lines as long as it has some left."""
    open_ = np.flatnonzero((left > 0)[speaker])
    if not len(open_):
        return
    who = speaker[open_]
    order = stable_order(who)
    sorted_who = who[order]
    lines = np.bincount(who, minlength=len(left))
    nth = np.arange(len(order)) - (np.cumsum(lines) - lines)[sorted_who]
    wanted[open_[order[nth < left[sorted_who]]]] = True
    left -= np.minimum(lines, left)


def _add_stretches(snap: Snapshot, wanted: Bits, most: int) -> None:
    """Keep whole iterations, half of the room for the last ones; lines that tell none go by their time."""
    room = most - int(np.count_nonzero(wanted))
    turn, turns = _turns(snap)
    if not turns or room <= 0:
        return
    lines = np.zeros(turns, np.int64)
    begin, end = np.full(turns, _LATEST, np.int64), np.full(turns, NO_TIME, np.int64)
    for part in _chunks(snap):
        turn_of, clock = turn(part), snap.clock[part]
        told = turn_of >= 0
        lines += np.bincount(turn_of[told], minlength=turns)
        told &= clock != NO_TIME
        np.minimum.at(begin, turn_of[told], clock[told])
        np.maximum.at(end, turn_of[told], clock[told])
    load = lines * (snap.length / max(int(lines.sum()), 1))  # lines without an iteration lie between the others
    kept = np.zeros(turns, np.bool_)
    kept[np.cumsum(load[::-1])[::-1] <= room / 2] = True
    every = max(1, -(-2 * int(load[~kept].sum()) // room))
    kept |= (np.arange(turns) // STRETCH) % every == 0
    timed = kept & (end != NO_TIME)
    opens, closes = np.sort(begin[timed]), np.sort(end[timed])
    for part in _chunks(snap):
        turn_of, clock = turn(part), snap.clock[part]
        inside = np.searchsorted(opens, clock, "right") > np.searchsorted(closes, clock, "left")
        wanted[part] |= np.where(turn_of >= 0, kept[np.maximum(turn_of, 0)], inside)


def _turns(snap: Snapshot) -> tuple[Callable[[slice], Ints], int]:
    """Return what tells the iteration of entries, and how many there are; where nothing does, slices of time."""
    iteration = snap.columns["iteration"]
    top = max((int(iteration[part].max(initial=-1)) for part in _chunks(snap)), default=-1)
    if 0 <= top < MOST_TURNS:
        return lambda part: iteration[part], top + 1
    known = [clock[clock != NO_TIME] for part in _chunks(snap) if len(clock := snap.clock[part])]
    ends = [(int(clock.min()), int(clock.max())) for clock in known if len(clock)]
    if not ends:
        return lambda part: iteration[part], 0
    begin, end = min(low for low, _ in ends), max(high for _, high in ends)
    width = max((end - begin) // SLICES + 1, 1)
    return lambda part: np.where(snap.clock[part] == NO_TIME, -1, (snap.clock[part] - begin) // width), SLICES


def _complete_records(snap: Snapshot, wanted: Bits) -> None:
    """Keep the first line of each record that anything is kept of."""
    for part in _chunks(snap):
        rows = part.start + np.flatnonzero(wanted[part])
        wanted[snap.record[rows]] = True


def select(snap: Snapshot, wanted: Bits) -> Snapshot:
    """Return a snapshot of chosen entries, which must hold the first line of each of their records."""
    entries = np.flatnonzero(wanted)
    block = np.searchsorted(snap.blocks.first, entries, "right") - 1
    note = snap.blocks.base[block] < 0
    starts = np.flatnonzero((np.diff(entries, prepend=-2) != 1) | (np.diff(block, prepend=-1) != 0) | note)
    lasts = np.append(starts[1:], len(entries)) - 1
    columns = {name: column[entries] for name, column in snap.columns.items()}
    columns["record"] = np.searchsorted(entries, columns["record"]).astype(np.uint32)
    offset = columns["offset"]
    is_note = note[starts]
    begin = np.where(is_note, 0, offset[starts]).astype(np.int64)
    length = lasts - starts + 1
    columns["offset"] = (offset - np.repeat(begin, length)).astype(np.uint32)
    _, begin_at, _ = snap.ranges(entries[starts])
    _, _, end_at = snap.ranges(entries[lasts])
    blocks = Blocks(
        first=starts,
        source=snap.blocks.source[block[starts]],
        base=np.where(is_note, -1, begin_at),
        size=np.where(is_note, 0, end_at - begin_at),
        line=_lines(snap, entries[starts], block[starts]),
    )
    return replace(
        snap, length=len(entries), columns=columns, blocks=blocks, order_=OrderCache(), fill_=FillCache()
    )


def _lines(snap: Snapshot, entries: Ints, block: Ints) -> Ints:
    """Return the physical lines of ascending entries."""
    first = snap.blocks.first[block]
    before = _segments(snap, entries) - _segments(snap, first)
    return snap.blocks.line[block] + (entries - first) - before


def _segments(snap: Snapshot, entries: Ints) -> Ints:
    """Count the entries up to and with each of some ascending ones that do not begin a physical line."""
    out = np.zeros(len(entries), np.int64)
    total = 0
    for part in _chunks(snap):
        low, high = np.searchsorted(entries, [part.start, part.stop])
        counted = np.cumsum((snap.flags[part] & Flag.SEGMENT) != 0)
        out[low:high] = total + counted[entries[low:high] - part.start]
        total += int(counted[-1])
    return out
