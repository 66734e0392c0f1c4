"""Torn text under Hydra's `[3] `: who wrote what follows a tag in mid-line, and where that stays open."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.formats import Dialect, Parser, cut, detect
from l4tui.engine.formats.tears import Tear, Tears, decoded, learn_tears

TAG = re.compile(rb"\[(\d+)\] ")
IDS = frozenset(b"%d" % n for n in range(4))


def unbuffered(steps: int) -> list[bytes]:
    """Return a log of four ranks whose text and newline are written apart, so that ranks 0 and 1 tear each other."""
    out = []
    for k in range(steps):
        loss = b"step %d loss %d.%d" % (k, k % 5, k % 7)
        out += [b"[0] " + loss + b"[1] " + loss, b"[0] ", b"[1] ", b"[2] " + loss, b"[3] " + loss]
    return out


def ranks(line: bytes, dialect: Dialect) -> list[str | None]:
    """Return the rank of each segment of a line."""
    parser = Parser(dialect)
    ends = [0, *cut(line, dialect), len(line)]
    out = []
    for a, b in pairwise(ends):
        task = next((s for s in parser.parse(line[a:b]).spans if s.field == "task"), None)
        out.append(line[a:b][task.start : task.end].decode() if task else None)
    return out


def test_torn_text_is_cut_at_the_tag() -> None:
    dialect = detect(unbuffered(60))
    assert dialect.prefixes == ("mpich-rank",)
    assert ranks(b"[2] step 71 loss 0.3[3] step 70 loss 1.2", dialect) == ["2", "3"]
    assert ranks(b"[2] step 71 loss 0.3[3] ", dialect) == ["2", "3"]


def renamed(text: bytes) -> bytes:
    """Return a text whose tags are of a form that no entry knows."""
    return re.sub(rb"\[(\d+)\] ", rb"proc\1: ", text)


def test_a_form_that_was_learnt_is_torn_too() -> None:
    log = [b"proc%d: %s" % (r, said) for said in (b"up", b"model built", b"data read") for r in (2, 0, 3, 1)]
    log += [renamed(line) for line in unbuffered(60)]
    dialect = detect(log)
    assert dialect.prefixes == ("learnt-head",)
    line = b"proc2: step 71 loss 0.3proc3: step 70 loss 1.2"
    assert [line[a:b] for a, b in pairwise([0, *cut(line, dialect), len(line)])] == [line[:23], line[23:]]


def test_a_form_that_was_learnt_in_a_log_without_torn_text_cuts_nothing() -> None:
    log = [b"proc%d: step %d loss %d" % (r, k, r) for k in range(60) for r in ((2, 0, 3, 1) if k % 2 else (1, 2, 0, 3))]
    assert cut(b"proc2: waits for proc3: step 70 loss 1.2", detect(log)) == []


def test_a_programs_own_bracket_stays_its_rank() -> None:
    log = unbuffered(60)
    log[7::10] = [b"[%d] Epoch: [%d] lr 0.01, loss scale 2" % (k % 4, (k + 1) % 4) for k in range(len(log[7::10]))]
    dialect = detect(log)
    for r in range(4):
        assert ranks(b"[%d] Epoch: [%d] lr 0.01, loss scale 2" % (r, (r + 1) % 4), dialect) == [str(r)]
    assert ranks(b"[2] step 71 loss 0.3[3] step 70 loss 1.2", dialect) == ["2", "3"], "torn text is cut all the same"


def test_one_line_always_behind_another_proves_nothing() -> None:
    log = unbuffered(40)
    for k in range(60):  # each rank prints the same pair of lines, and the second nowhere else
        rank = k % 4
        log += [b"[%d] Epoch: [%d] begins" % (rank, (rank + 1) % 4), b"[%d]    groups: 4" % rank]
    dialect = detect(log)
    for r in range(4):
        assert set(ranks(b"[%d] Epoch: [%d] begins" % (r, (r + 1) % 4), dialect)) <= {str(r), None}


def test_prose_of_a_log_without_torn_text_stays_whole() -> None:
    log = [b"[%d] step %d loss 2.%d" % (k * 3 % 4, k, k % 9) for k in range(300)]
    log += [b"[%d] saved" % (k % 4) for k in range(8)]
    dialect = detect(log)
    assert ranks(b"[2] as was said in [3] of the paper", dialect) == ["2"]
    assert ranks(b"[2] shapes [1] and [3] are equal", dialect) == ["2"]


def test_the_rest_behind_an_unproven_tag_has_no_rank() -> None:
    log = unbuffered(60)
    log[3::20] = [b"[%d] still waiting " % (k % 4) for k in range(len(log[3::20]))]
    log += [b"[0] still waiting [1] step 7 loss 0.1", b"[0] step 9 loss 1.0"] * 3  # once more a line of its own
    dialect = detect(log)
    assert ranks(b"[2] still waiting [3] step 71 loss 0.1", dialect) == ["2", None]
    assert ranks(b"[2] still waiting [3] [1] step 71", dialect) == ["2"], "what no line begins with"
    assert ranks(b"[2] still waiting [2] step 71 loss 0.1", dialect) == ["2", "2"], "its own tag is no doubt"
    assert ranks(b"[2] still waiting [3] step 5 loss 1.1[0] step 9 loss 2.0", dialect) == ["2", None, "0"]


def test_words_glued_to_a_tag_are_torn_and_words_apart_are_not() -> None:
    dialect = detect(unbuffered(60))
    assert ranks(b"[2] as was said in [3] of the paper", dialect) == ["2"]
    assert ranks(b"[2] never seen before[3] step 7 loss 1.2", dialect) == ["2", "3"]
    assert ranks(b"[2] never seen before[3] nor this", dialect) == ["2", None]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.binary(max_size=9), max_size=6), max_size=40))
def test_whatever_is_learnt_is_kept_and_judges_any_line(rows: list[list[bytes]]) -> None:
    lines = [b"".join(b"[%d] " % (k % 4) + part for k, part in enumerate(row)).replace(b"\n", b"") for row in rows]
    tears = learn_tears(TAG, IDS, lines)
    assert decoded(tears.encoded()) == tears
    for line in lines:
        for match in TAG.finditer(line, 1):
            assert tears.judge(line, 0, match.start(), match.end(), len(line)) in Tear
    assert decoded(Tears().encoded()) == Tears()
