"""Numbers and stamps gathered from many lines at once: what int() and one clock at a time would read."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine import digits
from l4tui.engine.clock import SECOND, Clock, ClockContext
from l4tui.engine.digits import WIDEST, number, numbers, windows
from l4tui.engine.lanes import last_marked
from l4tui.engine.model import NO_TIME
from l4tui.engine.stamps import Stamp

LATEST = ClockContext(latest_ns=1_800_000_000 * SECOND)


def laid(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return texts as lines in one buffer and where each begins."""
    raw = np.frombuffer(b"".join(text + b"\n" for text in texts), np.uint8)
    return raw, np.cumsum([0, *(len(text) + 1 for text in texts)])[:-1]


def both_ways(raw: np.ndarray, at: np.ndarray, width: np.ndarray) -> list[int]:
    """Read numbers as of few lines and as of many."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for many in (0, 1 << 30):
            patch.setattr(digits, "_MANY", many)
            found.append(numbers(raw, at, width, int(width.min()), int(width.max())).tolist())
    assert found[0] == found[1]
    return found[0]


@given(st.lists(st.binary(max_size=12), min_size=1, max_size=9), st.sampled_from([1, 8, 24]))
def test_windows_end_in_zeros(texts: list[bytes], size: int) -> None:
    raw, at = laid(texts)
    whole = raw.tobytes() + bytes(size)
    assert [row.tobytes() for row in windows(raw, at, size)] == [whole[a : a + size] for a in at.tolist()]


@given(st.lists(st.integers(0, 10**WIDEST - 1).map(lambda n: b"%d" % n), min_size=1, max_size=30))
def test_numbers_of_any_widths(texts: list[bytes]) -> None:
    raw, at = laid(texts)
    width = np.array([len(text) for text in texts], np.int8)
    assert both_ways(raw, at, width) == [int(text) for text in texts]


@given(st.lists(st.integers(0, 10**8 - 1), min_size=1, max_size=30), st.integers(0, 8))
def test_numbers_where_some_lines_have_none(values: list[int], none: int) -> None:
    texts = [b"%d" % value for value in values]
    raw, at = laid(texts)
    width = np.array([0 if len(text) == none else len(text) for text in texts], np.int8)
    assert both_ways(raw, at, width) == [int(text) if w else 0 for text, w in zip(texts, width.tolist(), strict=True)]


def test_a_number_in_a_window() -> None:
    window = windows(*laid([b"t=0042!", b"t=9999!"]), 8)
    assert number(window, 2, 4).tolist() == [42, 9999]


moments = st.lists(
    st.tuples(st.sampled_from([29, 30, 31]), st.integers(0, 2), st.integers(0, 61), st.integers(0, 999_999)),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("gap", [b"", b" " * 70])
@pytest.mark.parametrize(("year", "fields"), [(b"2026", "YHMSdfm"), (b"    ", "HMSdfm")])
@given(rows=moments)
def test_stamps_are_read_as_one_by_one(year: bytes, fields: str, gap: bytes, rows: list[tuple[int, ...]]) -> None:
    clock = Clock(tuple(sorted(fields)), width=6)
    texts = [b"%s-11-%02d %s10:3%d:%02d.%06d" % (year, day, gap, *row) for day, *row in rows]
    at = {"Y": (0, 4), "m": (5, 2), "d": (8, 2), "H": (0, 2), "M": (3, 2), "S": (6, 2), "f": (9, 6)}
    places = tuple((name, at[name][0] + (11 + len(gap)) * (name in "HMSf"), at[name][1]) for name in fields)
    raw, begin = laid(texts)
    found = Stamp(clock, places).times(raw, begin, LATEST).tolist()
    for text, time in zip(texts, found, strict=True):
        told = {name: np.array([int(text[a : a + w])]) for name, a, w in places}
        assert time == int(clock.times(told, LATEST)[0])
    none = [day == 31 or second > 60 for day, _, second, _ in rows]
    assert [time == NO_TIME for time in found] == none


def test_milliseconds_of_an_epoch_are_no_fraction() -> None:
    stamp = Stamp(Clock(("epoch_ms",)), (("epoch_ms", 0, 13),))
    raw, at = laid([b"1700000000250", b"1700000000251"])
    assert stamp.times(raw, at, LATEST).tolist() == [1_700_000_000_250_000_000, 1_700_000_000_251_000_000]


@given(st.lists(st.booleans(), max_size=50))
def test_last_marked(marks: list[bool]) -> None:
    seen = [max((k for k in range(at + 1) if marks[k]), default=-1) for at in range(len(marks))]
    assert last_marked(np.array(marks, np.bool_)).tolist() == seen
