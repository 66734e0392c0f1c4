"""Read the values of many lines at once, each through the places of its shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import UNKNOWN
from l4tui.engine.telemetry.gather import WIDEST, numbers
from l4tui.engine.telemetry.shapeplans import DYNAMIC, NUMBER, ShapePlans

NAME_DIGITS = 17  # digits of a name that tell series apart, runs counted one more: fits an int64 in base 11
LONGEST_TEXT = 64
_COMMA = 44

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Found = tuple[Ints, Ints, NDArray[np.float64]]  # series, row, value


class Batch(NamedTuple):
    """Values of one block, ordered by series, then by entry."""

    series: NDArray[np.int32]
    entry: NDArray[np.uint32]
    value: NDArray[np.float64]  # of a text series: codes into the catalog's words

    def of(self, series: int) -> slice:
        """Return where the values of a series stand."""
        low, high = np.searchsorted(self.series, [series, series + 1])
        return slice(int(low), int(high))


EMPTY = Batch(np.empty(0, np.int32), np.empty(0, np.uint32), np.empty(0))


def joined(found: list[Found], first: int) -> Batch:
    """Make one batch of what was found in a block whose first entry is `first`."""
    if not found:
        return EMPTY
    series, rows, value = (np.concatenate([part[i] for part in found]) for i in range(3))
    order = np.lexsort((rows, series))
    return Batch(series[order].astype(np.int32), (rows[order] + first).astype(np.uint32), value[order])


class _Runs(NamedTuple):
    """Digit runs of a buffer, and where those of each value's line begin among them."""

    start: Ints
    end: Ints
    base: Ints  # per value: first run of its line
    begin: Ints  # per value: where its line begins

    def at(self, runs: Ints, delta: Ints) -> Ints:
        """Return the offset of a place: behind so many runs of the line, and so many bytes on."""
        last = np.where(runs > 0, self.end[np.maximum(self.base + runs - 1, 0)], self.begin)
        return last + delta


class Reading:
    """Turns lines of known shapes into series, row and value of everything in them."""

    def __init__(self, shapes: ShapePlans) -> None:
        self._shapes = shapes
        self._named: dict[tuple[int, int], int] = {}  # field and the digits in its name → series

    def read(
        self, raw: Bytes, masked: Bytes, rows: Ints, begin: Ints, end: Ints, shape: NDArray[np.int32],
        cut: NDArray[np.bool_] | None = None,
    ) -> Found:  # fmt: skip
        """Read all values of the lines raw[begin:end].

        masked: like raw, but no digits in volatile tokens. cut: lines whose last value may go on elsewhere.
        """
        places = self._shapes.places()
        is_digit = (masked >= 48) & (masked <= 57)
        edges = np.flatnonzero(np.diff(is_digit, prepend=False, append=False))
        run_start, run_end = edges[::2], edges[1::2]
        base = np.searchsorted(run_start, begin)
        fits = np.searchsorted(run_start, end) - base == places.runs[shape]  # else it is no line of its plan after all
        rows, begin, end, shape, base = rows[fits], begin[fits], end[fits], shape[fits], base[fits]
        count = places.fields[shape]
        each = np.repeat(np.arange(len(rows)), count)
        field = np.repeat(places.first[shape] - (np.cumsum(count) - count), count) + np.arange(len(each))
        if not len(run_end):
            run_start = run_end = np.zeros(1, np.int64)
        runs = _Runs(run_start, run_end, base[each], begin[each])
        part = {name: column[field] for name, column in places.columns.items()}
        start = runs.at(part["start_run"], part["start"])
        stop = runs.at(part["end_run"], part["end"])
        keep = stop <= end[each]
        if cut is not None:
            keep &= ~(cut[fits][each] & (stop >= end[each]))
        series, value = part["series"], part["word"].astype(np.float64)
        is_number = part["word"] == NUMBER
        keep &= ~is_number | (_is_whole(raw, part, runs, start) & (stop - start <= WIDEST))
        at = np.flatnonzero(is_number & keep)
        value[at] = numbers(raw, start[at], stop[at] - start[at])
        for i in np.flatnonzero((part["word"] == UNKNOWN) & keep).tolist():
            text = raw[start[i] : min(stop[i], start[i] + LONGEST_TEXT)].tobytes()
            value[i] = self._shapes.catalog.word(text.decode("utf-8", "replace"))
        named = np.flatnonzero((series == DYNAMIC) & keep)
        if len(named):
            series = series.copy()
            series[named] = self._names(raw, runs, part, field, named)
        keep &= (series >= 0) & (is_number | (value >= 0))
        chosen = np.flatnonzero(keep)
        return series[chosen], rows[each[chosen]], value[chosen]

    def _names(self, raw: Bytes, runs: _Runs, part: dict[str, Ints], field: Ints, named: Ints) -> Ints:
        """Find the series of values whose names hold digits."""
        code = np.zeros(len(named), np.int64)
        count = part["name_runs"][named]
        for k in range(int(count.max())):
            run = np.minimum(runs.base[named] + part["name_run"][named] + k, len(runs.start) - 1)
            width = np.where(k < count, runs.end[run] - runs.start[run], 0)
            for j in range(min(int(width.max(initial=0)), NAME_DIGITS)):
                digit = raw[np.minimum(runs.start[run] + j, len(raw) - 1)].astype(np.int64) - 47
                code = np.where(j < width, code * 11 + digit, code)
            code = np.where(k < count, code * 11, code)
        which = field[named]
        order = np.lexsort((code, which))
        new = np.append(True, (np.diff(code[order]) != 0) | (np.diff(which[order]) != 0))
        ids = np.empty(int(new.sum()), np.int64)
        for i, at in enumerate(order[new].tolist()):
            same = (int(which[at]), int(code[at]))
            known = self._named.get(same)
            if known is None:
                known = self._named[same] = self._name(raw, runs, part, int(named[at]), same[0])
            ids[i] = known
        out = np.empty(len(named), np.int64)
        out[order] = ids[np.cumsum(new) - 1]
        return out

    def _name(self, raw: Bytes, runs: _Runs, part: dict[str, Ints], at: int, field: int) -> int:
        """Return the series of one value by its name as written."""
        one = _Runs(runs.start, runs.end, runs.base[at : at + 1], runs.begin[at : at + 1])
        low, high = (
            int(one.at(part[f"name_{side}_run"][at : at + 1], part[f"name_{side}"][at : at + 1])[0])
            for side in ("start", "end")
        )
        info = self._shapes.infos[field]
        name = raw[low:high].tobytes().decode("utf-8", "replace")
        return self._shapes.catalog.series(name, info.unit, info.type, info.keyed)


def _is_whole(raw: Bytes, part: dict[str, Ints], runs: _Runs, start: Ints) -> NDArray[np.bool_]:
    """Tell where the commas of numbers are those of thousands."""
    good = np.ones(len(start), np.bool_)
    at = np.flatnonzero(part["commas"])
    if not len(at):
        return good
    one = _Runs(runs.start, runs.end, runs.base[at], runs.begin[at])
    end = one.at(part["int_run"][at], part["int_end"][at])
    commas = part["commas"][at]
    lead = end - start[at] - 4 * commas - ((raw[start[at]] == 45) | (raw[start[at]] == 43))
    fine = (lead >= 1) & (lead <= 3)
    for k in range(1, min(int(commas.max()), 8) + 1):
        fine &= (raw[np.maximum(end - 4 * k, 0)] == _COMMA) | (k > commas)
    good[at] = fine
    return good
