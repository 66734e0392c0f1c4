"""Signs of trouble in the tables of monitors: what one device shows and its peers do not, and counters that rise.

A sign is a `Mark` whose kind says how much it proves (`HARD`) and what it can explain. What most devices show alike is
no sign; neither is a power cap, which loaded GPUs touch all the time, nor a corrected memory error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.telemetry.curves import Curve, Mark, Outside
from l4tui.engine.telemetry.outside.grids import Grid, grid_of, last_bins, runs
from l4tui.engine.telemetry.outside.quantities import Quantity, quantity_of

SLOW_BITS = 0x08 | 0x20 | 0x40 | 0x80  # NVML: hardware, software thermal, hardware thermal, power brake
SLOW_CLOCK = 0.75  # of what the quicker quarter of the devices runs at
HOT_C, HOTTER_C = 85.0, 10.0  # °C, and above the middle of the peers
BUSY, IDLE = 50.0, 5.0  # % of utilisation
AT_WORK = 30.0  # % from which a clock counts
LEAST_BINS, LEAST_S = 3, 10  # that a state must last
LEAST_PEERS = 3  # devices beside the one that differs
FULL = 0.97  # of a memory
WAITING, SWAPPING = 25.0, 1000.0  # % of time, pages a second
ROOT_XIDS = frozenset((46, 48, 62, 64, 74, 79, 94, 95, 109, 119, 120, 121, 136, 140, *range(143, 150), 150, 158))
SECOND = 10**9

Flags = NDArray[np.bool_]


class Measured(NamedTuple):
    """All curves of one program, by what they measure."""

    curves: dict[Quantity, list[Curve]]

    def grid(self, quantity: Quantity) -> Grid | None:
        """Lay out a quantity; of several names for it the one with most samples."""
        by_name: dict[str, list[Curve]] = defaultdict(list)
        for curve in self.curves.get(quantity, ()):
            by_name[curve.name].append(curve)
        if not by_name:
            return None
        return grid_of(max(by_name.values(), key=lambda curves: sum(len(c.value) for c in curves)))


def with_signs(outsides: Sequence[Outside]) -> tuple[Outside, ...]:
    """Add the signs in each program's curves to the marks of the file they stand in; peers may stand in other files."""
    found: dict[int, list[Mark]] = defaultdict(list)
    for source in dict.fromkeys(o.source for o in outsides):
        files = [n for n, o in enumerate(outsides) if o.source == source and o.curves]
        measured: dict[Quantity, list[Curve]] = defaultdict(list)
        home = {}
        for n in files:
            for curve in outsides[n].curves:
                if (quantity := quantity_of(curve.name)) is not None:
                    measured[quantity].append(curve)
                    home[curve.node, curve.device] = n
        for mark in signs(Measured(measured)):
            found[home[mark.node, mark.slot]].append(mark)
    return tuple(o._replace(marks=(*o.marks, *found[n])) if found[n] else o for n, o in enumerate(outsides))


def signs(measured: Measured) -> Iterator[Mark]:
    """Yield the signs of one program's curves."""
    yield from _rising(measured)
    yield from _codes(measured)
    yield from _slowed(measured)
    yield from _clocks(measured)
    yield from _hot(measured)
    yield from _uses(measured)
    yield from _full(measured)
    yield from _machines(measured)


def _rising(measured: Measured) -> Iterator[Mark]:
    """Counters of faults: the first rise, and by how much in all."""
    kinds = {Quantity.ECC: "ecc", Quantity.LINK: "link", Quantity.KILLS: "oom"}
    for quantity, kind in kinds.items():
        for c in measured.curves.get(quantity, ()):
            rises = np.flatnonzero((np.diff(c.value) > 0) & (c.time[1:] != NO_TIME)) + 1
            if len(rises):
                at = int(rises[0])
                last = f" and {c.value[rises[-1]]:,.0f} later" if len(rises) > 1 else ""
                text = f"{quantity} rise from {c.value[at - 1]:,.0f} to {c.value[at]:,.0f}{last} ({c.name})"
                yield _of_curve(c, at, kind, text)


def _codes(measured: Measured) -> Iterator[Mark]:
    """Codes of the driver that tell of a hardware fault; those that applications cause are none."""
    for c in measured.curves.get(Quantity.XID, ()):
        changed = np.flatnonzero(np.r_[False, c.value[1:] != c.value[:-1]] & (c.time != NO_TIME))
        for at in changed.tolist():
            if c.value[at] in ROOT_XIDS:
                yield _of_curve(c, at, "xid", f"the driver reports Xid {c.value[at]:.0f}")


def _of_curve(c: Curve, at: int, kind: str, text: str, until: int = NO_TIME) -> Mark:
    line = int(c.line[at]) if len(c.line) else 0
    return Mark(int(c.time[at]), c.node, kind, _who(c.device) + text, "", c.device, until, line)


def _who(index: int) -> str:
    return f"GPU {index}: " if index != UNKNOWN else ""


def _states(grid: Grid, odd: Flags, kind: str, text: str, least: int = LEAST_BINS) -> Iterator[Mark]:
    """Yield the runs of an odd state, each as a mark; `text` may name {value} and {peers}, the middle of the others."""
    times = grid.times()
    for at, (node, index) in enumerate(grid.devices):
        for first, last in runs(odd[at], least):
            if (last - first) * grid.step < LEAST_S * SECOND and last - first < 2 * LEAST_BINS:
                continue
            here = slice(first, last + 1)
            others = np.delete(grid.value[:, here], at, axis=0)
            peers = float(np.nanmedian(others)) if np.isfinite(others).any() else np.nan
            words = text.format(value=float(np.nanmedian(grid.value[at, here])), peers=peers)
            lines = grid.line[at, here]
            line = int(lines[lines > 0][0]) if (lines > 0).any() else 0
            yield Mark(
                int(times[first]), node, kind, _who(index) + words, "", index, int(times[last]) + grid.step, line
            )


def _slowed(measured: Measured) -> Iterator[Mark]:
    """Slowdown flags of few devices."""
    for quantity in (Quantity.SLOWED, Quantity.SLOWED_BITS, Quantity.SLOWED_TIME):
        grid = measured.grid(quantity)
        if grid is None:
            continue
        if quantity is Quantity.SLOWED_BITS:
            odd = (np.nan_to_num(grid.value).astype(np.int64) & SLOW_BITS) != 0
        elif quantity is Quantity.SLOWED_TIME:
            odd = np.diff(grid.value, axis=1, prepend=grid.value[:, :1]) > 0
        else:
            odd = grid.value > 0
        few = 2 * odd.sum(axis=0) < max(len(grid.devices), 2)
        yield from _states(grid, odd & few, "thermal", "slows its clocks for heat or power supply")


def _clocks(measured: Measured) -> Iterator[Mark]:
    """Clocks far below those of the peers, while the device works."""
    grid, use = measured.grid(Quantity.CLOCK), measured.grid(Quantity.USE)
    if grid is None or len(grid.devices) <= LEAST_PEERS:
        return
    usual = np.nanquantile(np.nan_to_num(grid.value), 0.75, axis=0)
    odd = grid.value < SLOW_CLOCK * usual
    if use is not None and use.devices == grid.devices and use.value.shape == grid.value.shape:
        odd &= use.value >= AT_WORK
    else:  # one that never ran as fast is not of this job
        odd &= np.maximum.accumulate(grid.value >= 0.9 * usual, axis=1) & (grid.value > 0.1 * usual)
    few = 2 * odd.sum(axis=0) <= len(grid.devices)
    yield from _states(grid, odd & few, "clock", "runs at {value:,.0f} MHz where its peers run at {peers:,.0f}")


def _hot(measured: Measured) -> Iterator[Mark]:
    """Devices much hotter than their peers."""
    grid = measured.grid(Quantity.HEAT)
    if grid is None or len(grid.devices) <= LEAST_PEERS:
        return
    middle = np.nanmedian(np.where(np.isnan(grid.value).all(axis=0), 0.0, grid.value), axis=0)
    odd = (grid.value >= HOT_C) & (grid.value >= middle + HOTTER_C)
    yield from _states(grid, odd, "thermal", "is {value:.0f} °C hot, its peers {peers:.0f} °C")


def _uses(measured: Measured) -> Iterator[Mark]:
    """One device idle while the others work, or working while the others idle; and one that is no longer measured."""
    grid = measured.grid(Quantity.USE)
    if grid is None:
        return
    job = (grid.value >= BUSY).sum(axis=1) >= LEAST_BINS  # devices that this job uses
    many = int(job.sum())
    if many <= LEAST_PEERS:
        return
    busy, idle = (grid.value >= BUSY) & job[:, None], (grid.value <= IDLE) & job[:, None]
    few = max(many // 4, 1)
    alone_idle = (idle.sum(axis=0) <= few) & (busy.sum(axis=0) >= many - few)
    alone_busy = (busy.sum(axis=0) <= few) & (idle.sum(axis=0) >= many - few)
    yield from _states(grid, idle & alone_idle, "idle", "is idle while its peers are busy ({peers:.0f} %)")
    yield from _states(grid, busy & alone_busy, "busy", "is busy ({value:.0f} %) while its peers are idle")
    last = last_bins(grid.value)
    for at in np.flatnonzero(job & (last >= 0)).tolist():
        gone = int(np.median(last[job])) - int(last[at])
        if gone > LEAST_BINS and gone * grid.step >= LEAST_S * SECOND and (last[job] <= last[at]).sum() <= few:
            node, index = grid.devices[at]
            time = int(grid.times()[last[at]]) + grid.step
            text = "is no longer measured, its peers are"
            yield Mark(time, node, "lost", _who(index) + text, "", index, line=int(grid.line[at].max()))


def _full(measured: Measured) -> Iterator[Mark]:
    """Device memory that is nearly full; usual by itself, so only a reason where memory ran out."""
    used = measured.grid(Quantity.MEMORY)
    for other in (Quantity.MEMORY_ALL, Quantity.MEMORY_FREE):
        rest = measured.grid(other)
        if used is None or rest is None or rest.devices != used.devices or rest.value.shape != used.value.shape:
            continue
        whole = rest.value if other is Quantity.MEMORY_ALL else rest.value + used.value
        full = used.value >= FULL * whole
        yield from _states(used, full, "memory", "its memory is nearly full ({value:,.0f} MiB)", 1)
        return


def _machines(measured: Measured) -> Iterator[Mark]:
    """What a whole machine suffers from."""
    limits = (
        (Quantity.IO_WAIT, WAITING, "iowait", "the processors wait for disks, {value:.0f} % of the time"),
        (Quantity.SWAPPED, SWAPPING, "memory", "memory is swapped out, {value:,.0f} pages a second"),
        (Quantity.HOST_MEMORY, 100 * FULL, "memory", "the machine's memory is {value:.0f} % full"),
        (Quantity.LINK_RATE, 0.0, "link", "the network interface counts {value:.3g} errors a second"),
    )
    for quantity, limit, kind, text in limits:
        for c in measured.curves.get(quantity, ()):
            known = c.time != NO_TIME
            odd = known & (c.value > limit)
            if c.device != UNKNOWN or 2 * odd.sum() > known.sum():  # a processor of many; a machine that is always so
                continue
            for first, last in runs(odd, 1):
                words = text.format(value=float(np.median(c.value[first : last + 1])))
                yield _of_curve(c, first, kind, words, int(c.time[last]))
