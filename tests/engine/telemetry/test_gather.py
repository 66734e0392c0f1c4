"""Numbers out of bytes are what Python reads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.telemetry.gather import numbers

PLAIN = st.from_regex(r"[-+]?[0-9]{1,9}(\.[0-9]{0,8})?", fullmatch=True)
FLOATS = st.floats(width=64).map(repr)
FIXED = st.tuples(st.floats(-1e6, 1e6), st.integers(0, 9)).map(lambda pair: f"{pair[0]:.{pair[1]}f}")
ODD = st.sampled_from(["nan", "-inf", "inf", "NaN", "1,234", "-12,345,678", ".5", "5.", "1e-05", "+3E+10", "0", "-0.0"])


@given(st.lists(st.one_of(PLAIN, FLOATS, FIXED, ODD), min_size=1, max_size=40))
def test_numbers_are_those_python_reads(texts: list[str]) -> None:
    data = " ".join(texts).encode()
    width = np.array([len(text) for text in texts])
    start = np.cumsum(width + 1) - width - 1
    found = numbers(np.frombuffer(data, np.uint8), start, width)
    np.testing.assert_array_equal(found, [float(text.replace(",", "")) for text in texts])


@given(st.lists(st.binary(min_size=1, max_size=32), min_size=1, max_size=20))
def test_what_is_no_number_is_none(texts: list[bytes]) -> None:
    data = b" ".join(texts)
    width = np.array([len(text) for text in texts])
    start = np.cumsum(width + 1) - width - 1
    assert len(numbers(np.frombuffer(data, np.uint8), start, width)) == len(texts)
