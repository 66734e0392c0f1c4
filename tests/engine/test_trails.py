"""Untagged lines behind a tagged message of torch's C++ log."""

from __future__ import annotations

import numpy as np
import pytest

from l4tui.engine.model import Speaker
from l4tui.engine.trails import Open, Trail, trail_of

H, A, R, F, B, N = Trail.HEAD, Trail.ADVICE, Trail.RAISED, Trail.FRAME, Trail.BLANK, Trail.NONE
BARE = Speaker(0)


def ranks(trail: list[Trail], who: list[Speaker], cut: int = 0) -> list[int]:
    table = list(dict.fromkeys(who))
    ids = np.array([table.index(s) for s in who], np.int32)
    lane = np.array([hash((s.local_rank, s.local_rank < 0 and s.rank)) % 97 for s in who], np.int32)
    out = [s.rank for s in who]
    open_ = Open()
    for a, b in ((0, cut), (cut, len(who))):
        for i, heir in open_.follow(np.array(trail[a:b], np.int8), ids[a:b], lane[a:b], table):
            out[a + i] = heir.rank
    return out


def test_kinds() -> None:
    assert trail_of(b"frame #0: c0d::f", ()) is F
    assert trail_of(b"Exception raised from f at x.cpp:0 (most recent call first):", ()) is R
    assert trail_of(b"Compile with `TORCH_USE_CUDA_DSA` to enable", ()) is A
    assert trail_of(b"[Rank 0] text", ("torch-rank", "c10")) is H
    assert trail_of(b"", ()) is B
    assert trail_of(b"step 0", ()) is N


@pytest.mark.parametrize("cut", range(8))
def test_a_message_in_one_or_two_blocks(cut: int) -> None:
    assert ranks([H, A, B, R, F, F, B, B], [Speaker(0, rank=6), *[BARE] * 7], cut) == [6] * 7 + [-1]


def test_blank_lines_alone_are_of_nobody() -> None:
    assert ranks([H, B, B, N], [Speaker(0, rank=6), BARE, BARE, BARE]) == [6, -1, -1, -1]


def test_what_another_writer_tore_stays_unknown() -> None:
    who = [Speaker(0, rank=6), BARE, BARE, Speaker(0, rank=1), BARE, BARE]
    assert ranks([H, R, F, H, F, F], who) == [6, 6, 6, 1, -1, -1]
    assert ranks([H, R, N, F], [Speaker(0, rank=6), BARE, BARE, BARE]) == [6, 6, -1, -1]


def test_tagged_streams_are_followed_each() -> None:
    a, b = Speaker(0, local_rank=1), Speaker(0, local_rank=2)
    who = [a._replace(rank=9), b, a, b, a]
    assert ranks([H, N, R, N, F], who) == [9, -1, 9, -1, 9]


def test_a_writer_that_is_known_keeps_its_lines() -> None:
    assert ranks([H, R, F], [Speaker(0, rank=6), Speaker(0, task=2), BARE]) == [6, -1, -1]
