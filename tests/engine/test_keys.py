"""Keys and shapes: which differences between two lines are data, and which an engineer sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.keys import LONGEST_KEY, collapse, key_of, shape_of, volatile_key


def shape(text: str) -> bytes:
    return shape_of(volatile_key(text.encode())[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("step 9 loss 2.31", "step 1200 loss 0.4"),
        ("lr 1.0416666e-05", "lr 9.375e-06"),
        ("delta -3.5", "delta 12"),
        ("consumed 1,024 samples", "consumed 12,345,678 samples"),
        ("comm 0x7f3a00c2 ready", "comm 0x55d01b9e40 ready"),
        ("run 3f2a9c1d0b7e started", "run 90ab12cd34ef started"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-aaaa-4bbb-8ccc-123456789abc"),
    ],
)
def test_numbers_and_hashes_are_data(one, other):
    assert shape(one) == shape(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("using fp16", "using fp"),
        ("device cuda:0", "device cpu:0"),
        ("loading model", "loading optimizer"),
        ("deadbeef", "feedface"),  # words without a digit are prose
    ],
)
def test_words_are_not_data(one, other):
    assert shape(one) != shape(other)


def test_a_float_is_no_hash():
    key, holds_to = volatile_key(b"{'learning_rate': 1.0416666e-05, 'epoch': 0.25}")
    assert holds_to == -1
    assert key == b"{'learning_rate': 0.0000000e-00, 'epoch': 0.00}"


def test_offsets_hold_up_to_the_first_volatile_token():
    line = b"rank 12 comm 0x7f3a00c2 step 7"
    _, holds_to = volatile_key(line)
    assert line[holds_to:].startswith(b"0x7f3a")


@given(st.binary(max_size=300))
def test_keys_keep_length_and_lose_digits(line):
    key = key_of(line)
    assert len(key) == min(len(line), LONGEST_KEY)
    assert not set(key) & set(b"123456789")


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_widths_collapse(a, b):
    assert collapse(key_of(b"step %d of %d" % (a, b))) == b"step 0 of 0"
