"""Counting gives what comparing gives, also where ids are too large to be counted by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine import smallids

ROWS = st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9)), max_size=40)


@pytest.mark.parametrize("large", [0, smallids.MOST + 5])
@given(rows=ROWS)
def test_what_is_counted_is_what_is_compared(large: int, rows: list[tuple[int, int]]) -> None:
    one = np.array([a + large * (a >= 0) for a, _ in rows], np.int64)
    other = np.array([b for _, b in rows], np.int64)
    known = sorted({int(a) for a in one if a >= 0})
    order = smallids.stable_order(one).tolist()
    assert order == sorted(range(len(rows)), key=lambda row: int(one[row]))
    assert smallids.present(one).tolist() == known
    found, first = smallids.firsts(one)
    assert dict(zip(found.tolist(), first.tolist(), strict=True)) == {a: one.tolist().index(a) for a in known}
    together = list(zip(one.tolist(), other.tolist(), strict=True))
    assert smallids.met(one, other).tolist() == [together.count(pair) for pair in together]


@given(rows=ROWS)
def test_partners_are_counted_once(rows: list[tuple[int, int]]) -> None:
    pairs = {(a, b) for a, b in rows if a >= 0 and b >= 0}
    one = np.array([a for a, b in rows if a >= 0 and b >= 0], np.int64)
    other = np.array([b for a, b in rows if a >= 0 and b >= 0], np.int64)
    found = smallids.partners(one, other).tolist()
    assert {a: n for a, n in enumerate(found) if n} == {a: sum(p[0] == a for p in pairs) for a, _ in pairs}
