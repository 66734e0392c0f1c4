"""Blocks to columns: what is skipped because keys tell it gives what looking at every line gives."""

from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.clock import ClockContext
from l4tui.engine.formats import Dialect, Parser, cut, detect, may_cut
from l4tui.engine.keys import DIGITS_TO_ZERO, Keys
from l4tui.engine.mapper import Mapper, Part
from l4tui.engine.model import Flag
from l4tui.engine.tidy import tidy

TEXTS = [
    b"step %d loss 2.%d", b"[default%d]:step %d", b"%d: [default%d]:step", b"half a line[default%d]:step %d",
    b"[rank%d]:[W %d", b"x[rank%d]:[E1129 %d", b"[1,%d]<stdout>:loss %d", b"loss[1,%d]<stdout>:%d", b"a list [1,%d] %d",
]  # fmt: skip
LINES = st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=25)


@cache
def parser(dialect: Dialect) -> Parser:
    return Parser(dialect)


def mapped(block: bytes, dialect: Dialect) -> Part:
    return Mapper(parser(dialect), dialect).map(block, ClockContext())


@cache
def dialects() -> list[Dialect]:
    """Return dialects whose tags cut lines: alone, behind another launcher's label, and Open MPI's."""
    tagged = [b"[default%d]:step %d" % (k % 4, k) for k in range(80)]
    labelled = [b"%d: %s" % (k % 2, line) for k, line in enumerate(tagged)]
    return [detect(lines) for lines in (tagged, labelled, [b"[1,%d]<stdout>:step %d" % (k % 4, k) for k in range(80)])]


@settings(deadline=None)  # the first example pays for the formats
@given(LINES, st.integers(0, 2))
def test_known_keys_are_cut_as_new_ones(rows: list[tuple[bytes, int, int]], which: int) -> None:
    dialect = dialects()[which]
    block = b"".join(text % (a, b) + b"\n" for text, a, b in rows)
    first = mapped(block, dialect)
    t = tidy(block, dialect)
    assert first.begin.tolist() == t.begin.tolist()
    cutting = np.uint16(Flag.SEGMENT | Flag.SPLIT)
    assert (first.flags & cutting).tolist() == (t.flags & cutting).tolist()
    mapper = Mapper(parser(dialect), dialect)
    for line in block.splitlines(keepends=True):  # each key is known when the block comes
        mapper.map(line, ClockContext())
    again = mapper.map(block, ClockContext())
    for name in ("begin", "time", "mark", "flags"):
        assert getattr(again, name).tolist() == getattr(first, name).tolist()


@settings(deadline=None)
@given(LINES, st.integers(0, 2), st.integers(0, 9))
def test_a_key_that_cannot_be_cut_never_is(rows: list[tuple[bytes, int, int]], which: int, digit: int) -> None:
    dialect = dialects()[which]
    for text, a, b in rows:
        line = text % (a, b)
        other = line.translate(bytes.maketrans(b"0123456789", b"%d" % digit * 10))
        assert may_cut(line, dialect) or not cut(line, dialect)
        assert may_cut(line, dialect) == may_cut(other, dialect)


def test_keys_are_the_lines_without_their_digits() -> None:
    block = bytes(byte for byte in range(256) if byte != 10) * 40 + b"\n\nlast 9\n"
    keys = Keys()
    for text in (block, b"small 1\n", block):
        assert keys.of(keys.zeroed(text)) == text.translate(DIGITS_TO_ZERO).split(b"\n")[:-1]


def test_a_line_read_alone_names_no_writer_for_others() -> None:
    """A line whose identity stands behind text that varies looks, without that part, like one that tells nobody."""
    actor = b"\x1b[36m(<prog.Trainer object at 0x7f0000%02xab90> pid=9704)\x1b[0m hello\n"
    part = mapped(b"".join(actor % k for k in range(3)) + b"the driver speaks\n", Dialect())
    voices = [part.speakers[who] for who in part.speaker.tolist()]
    assert [voice.pid for voice in voices] == [9704, 9704, 9704, -1]
    assert voices[-1].actor is None


def test_a_call_site_with_another_line_number_is_a_plan_of_its_own() -> None:
    line = b"2026-11-29 10:00:00,000 - main - INFO - train.py:%d - hello\n"
    part = mapped(b"".join(line % n for n in (10, 11, 10, 12, 11)), Dialect())
    assert part.plan.tolist() == [0, 1, 0, 2, 1]
    assert [info.site for info in part.plans] == [b"train.py:10", b"train.py:11", b"train.py:12"]


def test_line_numbers_of_any_width_part_plans() -> None:
    line = b"2026-11-29 10:00:00,000 - main - INFO - train.py:%d - hello\n"
    numbers = [7, 8, 7, 41, 40, 123456789, 123456789, 99, 7]
    part = mapped(b"".join(line % n for n in numbers), Dialect())
    assert [part.plans[plan].site for plan in part.plan.tolist()] == [b"train.py:%d" % n for n in numbers]
