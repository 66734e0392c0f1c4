"""Tidy lines: controls, bars and segments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.formats import Dialect, detect
from l4tui.engine.model import Flag
from l4tui.engine.tidy import clean, last_state, tidy


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", b"plain"),
        (b"\x1b[36m(Worker pid=3)\x1b[0m text", b"(Worker pid=3) text"),
        (b"\x1b]0;title\x07text", b"text"),
        (b"a\x1b[2K\x1b[1Ab", b"ab"),
        (b"cut \x1b[3", b"cut "),
        (b"nul\0byte", b"nulbyte"),
        (b"crlf\r", b"crlf"),
        (b"10%\r20%\r30%", b"30%"),
        (b"100%\r        \r", b"100%"),
        (b"3\ttext\r3\t", b"3\ttext"),
        (b"bar 1/9\r   \r{'loss': 2}", b"{'loss': 2}"),
        (b"\r", b""),
        (b"", b""),
    ],
)
def test_clean(raw, shown):
    assert clean(raw) == shown


def test_last_state_keeps_a_lone_line():
    assert last_state(b"one") == b"one"


def test_fast_path_leaves_the_block_alone():
    block = b"one\ntwo\n\nfour\n"
    t = tidy(block, Dialect())
    assert t.data == block
    assert t.begin.tolist() == [0, 4, 8, 9]
    assert not t.flags.any()


def test_last_line_without_newline_counts():
    assert tidy(b"one\ntwo", Dialect()).begin.tolist() == [0, 4]


def test_odd_lines_are_flagged_and_offsets_stay_raw():
    block = b"one\n\x1b[1mtwo\x1b[0m\nthree\r\nfour\n"
    t = tidy(block, Dialect())
    assert t.data == b"one\ntwo\nthree\nfour\n"
    assert t.begin.tolist() == [0, 4, 16, 23]
    assert ((t.flags & Flag.ODD) != 0).tolist() == [False, True, True, False]


noise = st.lists(
    st.sampled_from([b"text", b"\x1b[31m", b"\x1b", b"\r", b"\0", b"\n", b"\r\n", b"[1,2]<stdout>:", b"\xff", b"7"]),
    max_size=60,
).map(b"".join)


@given(noise)
def test_every_line_is_there_once(block):
    if not block:
        return
    t = tidy(block, Dialect())
    lines = block.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    heads = (t.flags & Flag.SEGMENT) == 0
    assert int(heads.sum()) == len(lines)
    assert t.data.count(b"\n") == len(t.begin)
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)])[:-1]
    assert t.begin[heads].tolist() == starts.tolist()
    for control in (b"\x1b", b"\0", b"\r"):
        assert control not in t.data


def test_a_byte_order_mark_belongs_to_no_rank() -> None:
    block = b"\xef\xbb\xbf[default0]:step 1\n[default1]:step 1\n\xef\xbb\xbf[default0]:step 2\n"
    dialect = detect(block.splitlines() * 4)
    whole = tidy(block, dialect)
    assert whole.data == b"[default0]:step 1\n[default1]:step 1\n[default0]:step 2\n"
    assert whole.begin.tolist() == [0, 21, 39]
    assert (whole.flags & Flag.ODD > 0).tolist() == [True, False, True]
    assert clean(block[:20]) == b"[default0]:step 1"
