"""However the texts of several processes are woven line by line, no line is given to another than its writer."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from l4tui.engine.model import LineClass, Speaker
from l4tui.engine.strands import Register
from l4tui.engine.trails import Trail
from l4tui.engine.weaving import Block, Loom

BARE = Speaker(0)
Line = tuple[Trail, bytes, Speaker]


def traceback(rng: Random, rank: int) -> list[Line]:
    """Return a traceback: of the same program, so alike at first; with or without an error that names the rank."""
    out: list[Line] = [(Trail.OPEN, b"Traceback (most recent call last):", BARE)]
    for depth in range(rng.randint(1, 4)):
        at = depth if rng.random() < 0.7 else depth + 10
        out.append((Trail.FILE, b'  File "t.py", line %d, in f' % at, BARE))
        if at % 10 != 3:  # source that is not there
            out.append((Trail.CODE, b"    call_%d(" % (at % 7), BARE))
            if rng.random() < 0.2:
                out.append((Trail.CODE, b"        x)", BARE))
            if rng.random() < 0.3:
                out.append((Trail.CARET, b"    ~~~~^^^", BARE))
    who = BARE._replace(self_rank=rank) if rng.random() < 0.7 else BARE
    return [*out, (Trail.ERROR, b"RuntimeError: bad", who)] if rng.random() < 0.9 else out


def message(rng: Random, rank: int) -> list[Line]:
    """Return c10's last words; its frames end where they end."""
    tag = BARE._replace(rank=rank)
    words = b"terminated with exception: [Rank %d] timeout" % rank
    out: list[Line] = [(Trail.DYING, words, tag)]
    if rng.random() < 0.3:
        out.append((Trail.ADVICE, b"", BARE))
    out.append((Trail.RAISED, b"", BARE))
    depth = rng.choice((2, 2, 4))
    names = [b"wait", b"check", b"watch", b"run"][-depth:]
    out += [(Trail.FRAME, b"frame #%d: %s() + 0x9d (0x7f00 in /l.so)" % pair, BARE) for pair in enumerate(names)]
    out += [(Trail.BLANK, b"", BARE), (Trail.TERMINATE, b"", BARE)]
    out.append((Trail.WHAT, b"  what():  " + words, BARE))
    return [*out, (Trail.FATAL, b"", BARE), (Trail.STACK, b"", BARE), (Trail.FILE, b"  <no Python frame>", BARE)]


def weave(rng: Random, texts: list[list[Line]]) -> tuple[list[Line], list[int]]:
    """Interleave lines; a process may print several at a time."""
    left = [list(text) for text in texts]
    lines: list[Line] = []
    true: list[int] = []
    while any(left):
        rank = rng.choice([r for r, text in enumerate(left) if text])
        for _ in range(rng.choice((1, 1, 1, 3))):
            if left[rank]:
                lines.append(left[rank].pop(0))
                true.append(rank)
    return lines, true


def told(lines: list[Line], cut: int) -> list[int]:
    """Return the rank that each line is given; -1 for none."""
    table = list(dict.fromkeys((BARE, *(who for _, _, who in lines))))
    register, out, threads, owners = Register(), [-1] * len(lines), {}, {}
    loom = Loom(register)
    for a, b in ((0, cut), (cut, len(lines))):
        some = lines[a:b]
        ids = np.array([table.index(who) for _, _, who in some], np.int32)
        kinds = np.array([kind for kind, _, _ in some], np.int8)
        plain = {i: 0 for i, (kind, _, who) in enumerate(some) if who.self_rank >= 0}
        block = Block(
            kinds, np.full(b - a, LineClass.PLAIN, np.int8), ids, lambda ids=ids: ids, table,
            {i: text for i, (_, text, _) in enumerate(some)}, plain,
        )  # fmt: skip
        for i, who in loom.weave(block).items():
            out[a + i] = who.rank
            threads[a + i] = who.thread
        for thread, owner in register.owned:
            owners[thread] = owner
        register.owned.clear()
    for i, thread in threads.items():
        owner = owners.get(thread)
        if thread >= 0 and owner is not None:
            out[i] = max(owner.rank, owner.self_rank)
    return out


@pytest.mark.parametrize("kind", [traceback, message])
@pytest.mark.parametrize("seed", range(400))
def test_no_line_is_given_to_another(kind: object, seed: int) -> None:
    rng = Random(seed)
    make = traceback if kind is traceback else message
    lines, true = weave(rng, [make(rng, rank) for rank in range(rng.randint(2, 5))])
    got = told(lines, rng.randint(0, len(lines)))
    wrong = [(i, lines[i][0].name, rank, true[i]) for i, rank in enumerate(got) if rank >= 0 and rank != true[i]]
    assert not wrong
