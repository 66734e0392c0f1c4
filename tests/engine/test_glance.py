"""Lines known by their keys: all at once what a dictionary says of them one by one, or nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine import glance, mapper
from l4tui.engine.clock import ClockContext
from l4tui.engine.formats import Dialect, Parser
from l4tui.engine.glance import Glance
from l4tui.engine.mapper import Mapper
from l4tui.engine.tidy import line_starts

WORDS = st.sampled_from([b"", b"step 0", b"loss 0.0", b"a" * 7, b"b" * 8, b"c" * 64, b"x" * 120, b"y" * 500])
KEYS = st.lists(WORDS, max_size=6).map(b" ".join)


def told(known: Glance, lines: list[bytes]) -> list[int]:
    data = b"".join(line + b"\n" for line in lines)
    begin = line_starts(data)
    return known.plans(np.frombuffer(data, np.uint8), begin, np.diff(begin, append=len(data)) - 1).tolist()


@settings(deadline=None)
@given(st.lists(KEYS, min_size=1, max_size=40), st.data())
def test_a_line_is_known_for_sure_or_not_at_all(keys: list[bytes], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(glance, "FEW", 0)
        known = Glance()
        plans = {key: plan for plan, key in enumerate(keys)}
        learnt = {key: plans[key] for key in data.draw(st.lists(st.sampled_from(keys), max_size=20))}
        known.learn(learnt)
        longest = glance.WIDTHS[-1]
        assert told(known, keys) == [learnt.get(key, -1) if len(key) < longest else -1 for key in keys]


def test_keys_that_share_their_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "FEW", 0)
    monkeypatch.setattr(glance._Known, "_slot", lambda self, words: np.zeros(len(words), np.int64))
    known = Glance()
    keys = [b"key %s" % bytes([97 + k]) for k in range(6)]
    known.learn({key: k for k, key in enumerate(keys)})
    assert told(known, keys) == [0, 1, 2, 3, -1, -1]


def test_of_more_keys_than_there_is_room_for_the_last_ones_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "FEW", 0)
    known = Glance()
    keys = [b"key " + bytes([97 + k % 26, 97 + k // 26 % 26, 97 + k // 676]) for k in range(6000)]
    for begin in range(0, 6000, 500):
        known.learn({key: begin + k for k, key in enumerate(keys[begin : begin + 500])})
    assert told(known, keys[-500:]) == list(range(5500, 6000))
    assert set(told(known, keys[:500])) == {-1}


def test_long_blocks_are_mapped_like_short_ones() -> None:
    lines = [b"%d rank %d %s %d\n" % (k * k, k % 8, b"word" * (k % 40), 10 ** (k % 9)) for k in range(4000)]
    one, other = (Mapper(Parser(Dialect(), ()), Dialect()) for _ in range(2))
    context = ClockContext()
    shorter = [other.map(b"".join(lines[k : k + 100]), context).plan for k in range(0, 4000, 100)]
    longer = [one.map(b"".join(lines[k : k + 2000]), context).plan for k in (0, 2000)]
    assert len(lines[0:2000]) > mapper.FEW_LINES > 100
    assert np.concatenate(longer).tolist() == np.concatenate(shorter).tolist()
