"""What a line is to a text of several lines, and untagged lines behind a tagged message of torch's C++ log."""

from __future__ import annotations

import numpy as np
import pytest

from l4tui.engine.model import Level, LineClass, Parse, Speaker
from l4tui.engine.strands import Register
from l4tui.engine.trails import Trail, trail_of
from l4tui.engine.weaving import Block, Loom

H, A, R, F, B, N = Trail.HEAD, Trail.ADVICE, Trail.RAISED, Trail.FRAME, Trail.BLANK, Trail.NONE
BARE = Speaker(0)


def ranks(trail: list[Trail], who: list[Speaker], cut: int = 0) -> list[int]:
    """Weave lines in two blocks; frames count up in each message."""
    table = list(dict.fromkeys(who))
    ids = np.array([table.index(s) for s in who], np.int32)
    lane = np.array([hash((s.local_rank, s.local_rank < 0 and s.rank)) % 97 for s in who], np.int32)
    texts, number = {}, 0
    for i, kind in enumerate(trail):
        number = 0 if kind is R else number
        if kind is F:
            texts[i] = b"frame #%d: f" % number
            number += 1
    out = [s.rank for s in who]
    loom = Loom(Register())
    for a, b in ((0, cut), (cut, len(who))):
        some = {i - a: text for i, text in texts.items() if a <= i < b}
        plain = np.full(b - a, LineClass.PLAIN, np.int8)
        block = Block(np.array(trail[a:b], np.int8), plain, ids[a:b], lambda a=a, b=b: lane[a:b], table, some, {})
        for i, heir in loom.weave(block).items():
            out[a + i] = heir.rank
    return out


def parse(*formats: str, head: bool = False, level: Level = Level.NONE) -> Parse:
    return Parse(formats, (), 0, 0, head, level)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"frame #0: c0d::f", F),
        (b"Exception raised from f at x.cpp:0 (most recent call first):", R),
        (b"Compile with `TORCH_USE_CUDA_DSA` to enable", A),
        (b"terminate called after throwing an instance of 'x'", Trail.TERMINATE),
        (b"  what():  [PG ID 0 Rank 0] text", Trail.WHAT),
        (b"Fatal Python error: Aborted", Trail.FATAL),
        (b"Thread 0x00007f00 (most recent call first):", Trail.STACK),
        (b"Traceback (most recent call last):", Trail.OPEN),
        (b'  File "x.py", line 0, in f', Trail.FILE),
        (b"  <no Python frame>", Trail.FILE),
        (b"    ~~~~^^^^^", Trail.CARET),
        (b"k.cu:0: f: block: [0,0,0], thread: [0,0,0] Assertion `i < n` failed.", Trail.ASSERTION),
        (b"RuntimeError: CUDA error: device-side assert triggered", Trail.ASSERTED),
        (b"Unhandled exception <class 'E'> in proc 0.", Trail.UNHANDLED),
        (b"", B),
        (b"step 0", N),
    ],
)
def test_kinds(text: bytes, kind: Trail) -> None:
    assert trail_of(text, parse(), LineClass.PLAIN) is kind


def test_kinds_that_class_or_header_tell() -> None:
    assert trail_of(b"    x = f(y)", parse(), LineClass.BODY) is Trail.CODE
    assert trail_of(b"ValueError: x", parse(), LineClass.RAISED) is Trail.ERROR
    assert trail_of(b"    x = f(y)", parse("std", head=True), LineClass.BODY) is N
    assert trail_of(b"text", parse("torch-rank", "c10", head=True), LineClass.HEAD) is H
    assert trail_of(b"text", parse("c10", head=True, level=Level.ERROR), LineClass.FAILED) is Trail.FAILED
    dying = b"Process group watchdog thread terminated with exception: x"
    assert trail_of(dying, parse("c10", head=True), LineClass.HEAD) is Trail.DYING


@pytest.mark.parametrize("cut", range(8))
def test_a_message_in_one_or_two_blocks(cut: int) -> None:
    assert ranks([H, A, B, R, F, F, B, B], [Speaker(0, rank=6), *[BARE] * 7], cut) == [6] * 7 + [-1]


def test_blank_lines_alone_are_of_nobody() -> None:
    assert ranks([H, B, B, N], [Speaker(0, rank=6), BARE, BARE, BARE]) == [6, -1, -1, -1]


def test_frames_go_on_past_another_writers_message() -> None:
    who = [Speaker(0, rank=6), BARE, BARE, Speaker(0, rank=1), BARE, BARE]
    assert ranks([H, R, F, H, F, F], who) == [6, 6, 6, 1, 6, 6]


def test_frames_that_two_messages_wait_for_are_of_nobody() -> None:
    who = [Speaker(0, rank=6), BARE, Speaker(0, rank=1), BARE, BARE, BARE]
    assert ranks([H, R, H, R, F, F], who) == [6, 6, 1, 1, -1, -1]


def test_tagged_streams_are_followed_each() -> None:
    a, b = Speaker(0, local_rank=1), Speaker(0, local_rank=2)
    who = [a._replace(rank=9), b, a, b, a]
    assert ranks([H, N, R, N, F], who) == [9, -1, 9, -1, 9]


def test_a_writer_that_is_known_keeps_its_lines() -> None:
    assert ranks([H, R, F], [Speaker(0, rank=6), Speaker(0, task=2), BARE]) == [6, -1, -1]
