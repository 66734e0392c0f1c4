"""Numbers in the lines of a job: the words before them, told once a shape, and their values, of many lines at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.record import Ints, Journal
from l4tui.engine.smallids import firsts
from l4tui.engine.telemetry.gather import WIDEST, numbers

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=\s?(?:ms|us|s|sec|x|%)?(?![\w.]))")
_LABEL = re.compile(r"([A-Za-z_][\w/\-]*)\W*$")
_RUN = re.compile(r"[0-9]+")

Floats = NDArray[np.float64]


class _Place(NamedTuple):
    """Where a number stands in lines of a shape: from the first to the last of its digit runs, after its sign."""

    first: int
    last: int
    sign: int


class Figures:
    """What is known of the numbers in each shape of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._labels: dict[int, tuple[str, ...]] = {}

    def labels(self, shape: int) -> tuple[str, ...]:
        """Return the word before each number of a shape's lines, "" where there is none."""
        if shape not in self._labels:
            self._labels[shape] = labels_in(self._journal.samples[shape])
        return self._labels[shape]

    def shapes_of(self, rows: Ints) -> tuple[Ints, list[int]]:
        """Return the shape of each row and, in the order in which they appear, all of them."""
        shape = self._journal.shape[rows]
        known, first = firsts(shape)
        return shape, known[np.argsort(first)].tolist()

    def columns(self, rows: Ints, slots: Sequence[int]) -> Floats:
        """Return some of the numbers of each row, by their place among all in it; NaN where there is none."""
        shape, shapes = self.shapes_of(rows)
        out = np.full((len(rows), len(slots)), np.nan)
        for one in shapes:
            mine = np.flatnonzero(shape == one) if len(shapes) > 1 else np.arange(len(rows))
            out[mine] = numbers_in(self._journal.read(rows[mine]), self._journal.samples[one], slots)
        return out


def labels_in(text: str) -> tuple[str, ...]:
    """Return the word before each number of a text, "" where there is none."""
    found = [_LABEL.search(text[: match.start()]) for match in NUMBER.finditer(text)]
    return tuple(label[1] if label else "" for label in found)


def numbers_in(texts: Sequence[str], sample: str, slots: Sequence[int]) -> Floats:
    """Return some of the numbers of texts of the sample's shape, NaN where a text is not."""
    out = np.full((len(texts), len(slots)), np.nan)
    spans = [match.span() for match in NUMBER.finditer(sample)]
    runs = [match.span() for match in _RUN.finditer(sample)]
    data = "\n".join(texts).encode()
    raw = np.frombuffer(data, np.uint8)
    begin = np.append(0, np.flatnonzero(raw == 10) + 1)
    if len(begin) != len(texts):  # a text of two lines
        return out
    is_digit = (raw >= 48) & (raw <= 57)
    edges = np.flatnonzero(np.diff(is_digit, prepend=False, append=False))
    base = np.searchsorted(edges[::2], begin)
    fits = np.flatnonzero(np.diff(np.append(base, len(edges) // 2)) == len(runs))
    for at, slot in enumerate(slots):
        place = _place(spans[slot], runs) if slot < len(spans) else None
        if place is not None:
            start = edges[2 * (base[fits] + place.first)] - place.sign
            width = edges[2 * (base[fits] + place.last) + 1] - start
            out[fits, at] = np.where(width <= WIDEST, numbers(raw, start, np.minimum(width, WIDEST)), np.nan)
    return out


def _place(span: tuple[int, int], runs: Sequence[tuple[int, int]]) -> _Place | None:
    inside = [at for at, (begin, end) in enumerate(runs) if span[0] <= begin and end <= span[1]]
    if not inside or runs[inside[-1]][1] != span[1]:  # digits of another script
        return None
    return _Place(inside[0], inside[-1], runs[inside[0]][0] - span[0])
