"""Ranks side by side: alignment against a plain reference, gaps, marks, jumps."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.alignment import align
from l4tui.engine.compare import CONSENSUS, Comparison, marks
from l4tui.engine.rows import RowBuilder
from tests.engine.small_jobs import read, stamp, trainer


def longest(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Return the length of the longest common subsequence."""

    @cache
    def of(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        return 1 + of(i + 1, j + 1) if a[i] == b[j] else max(of(i + 1, j), of(i, j + 1))

    return of(0, 0)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=24), st.lists(st.integers(0, 4), max_size=24))
def test_alignment_is_the_best(a: list[int], b: list[int]) -> None:
    left, right = align(np.array(a, np.int64), np.array(b, np.int64))
    assert [i for i in left.tolist() if i >= 0] == list(range(len(a)))
    assert [j for j in right.tolist() if j >= 0] == list(range(len(b)))
    both = [(a[i], b[j]) for i, j in zip(left.tolist(), right.tolist(), strict=True) if i >= 0 and j >= 0]
    assert all(x == y for x, y in both)
    assert len(both) == longest(tuple(a), tuple(b))


def test_long_sequences_stay_in_the_band() -> None:
    a = np.arange(6000) % 97
    b = np.delete(a, np.arange(100, 6000, 500))
    left, right = align(a, b)
    assert np.count_nonzero((left >= 0) & (right >= 0)) == len(b)


def test_ranks_are_aligned_by_iteration(tmp_path: Path) -> None:
    def odd(step: int, rank: int) -> list[str]:
        return ["WARNING - io.py:5 - slow read"] * (rank == 2 and step == 3)

    snap = read(tmp_path / "job.log", trainer(5, odd=odd)).snapshot()
    table = RowBuilder().update(snap)
    comparison = Comparison(snap, table, [1, 2, CONSENSUS])
    iterations = table.blocks.iteration[comparison.blocks].tolist()
    assert iterations == [-1, 1, 2, 3, 4, 5]
    texts = []
    for block in comparison.blocks.tolist():
        side = comparison.side(block)
        for line in side.entries.tolist():
            texts.append([snap.text(e)[:9] if e >= 0 else None for e in line])
    assert [t for t in texts if None in t] == [[None, "slow read", None]]
    assert sum(comparison.side(b).differs.sum() for b in comparison.blocks.tolist()) == 1
    place = comparison.find(int(comparison.blocks[0]), -1, 1)
    assert place is not None
    assert snap.text(int(comparison.side(place[0]).entries[place[1], 1])) == "slow read"
    assert comparison.find(*place, 1) is None
    with pytest.raises(ValueError, match="2 to 8"):
        Comparison(snap, table, [1])


def differing(comparison: Comparison) -> list[str]:
    """Return the texts of lines that differ."""
    snap, out = comparison.snap, []
    for block in comparison.blocks.tolist():
        side = comparison.side(block)
        out += [snap.text(int(line.max())) for line in side.entries[side.differs]]
    return out


def test_what_most_said_is_in_the_order_in_which_each_said_it(tmp_path: Path) -> None:
    """Ranks of several files: who says a line first stands in any of them."""
    for rank in range(4):
        late = rank * (-1) ** rank / 100  # who is first with its batch is last with its step
        lines = []
        for step in range(1, 5):
            lines.append(f"{stamp(step + 0.5 - late)} - INFO - data.py:7 - batch {step} ready")
            lines.append(f"{stamp(step + 0.7 + late)} - INFO - train.py:20 - step {step}/4 | loss 2.5 | lr 1.0e-04")
        (tmp_path / f"rank{rank}.log").write_text("".join(f"{line}\n" for line in lines))
    snap = read(tmp_path).snapshot()
    table = RowBuilder().update(snap)
    for rank in range(4):
        assert differing(Comparison(snap, table, [CONSENSUS, rank])) == []


def test_what_most_said_has_all_lines_of_a_record(tmp_path: Path) -> None:
    frames = ['  File "/train.py", line 7, in main', "    fit()", '  File "/fit.py", line 9, in fit', "    step()"]
    lines = [*trainer(3), *(f"{rank}: {text}" for rank in range(4) for text in ("Traceback (most recent call last):",
             *frames, "ValueError: bad batch"))]  # fmt: skip
    snap = read(tmp_path / "job.log", lines).snapshot()
    comparison = Comparison(snap, RowBuilder().update(snap), [CONSENSUS, 3])
    assert differing(comparison) == []
    last = comparison.side(int(comparison.blocks[-1]))
    assert [snap.text(e) for e in last.entries[-6:, 0].tolist()][1:5] == frames


def test_marks_show_what_differs() -> None:
    three = marks(["loss 2.5 at 7", "loss 2.5 at 7", "loss nan at 7"])
    assert [len(m) for m in three] == [0, 0, 1]
    assert three[2][0].start == 5 and three[2][0].end == 8
    two = marks(["loss 2.5 at 7", "loss 2.6 at 7"])
    assert [[(s.start, s.end) for s in m] for m in two] == [[(5, 8)], [(5, 8)]]
    words = marks(["saved", "saved", "not saved"])
    assert [len(m) for m in words] == [0, 0, 1]


def test_marks_tell_a_value_unlike_most_from_values_that_all_vary() -> None:
    assert [[s.field for s in m] for m in marks(["loss 2.5", "loss 2.6", "loss 2.7"])] == [["varies"]] * 3
    assert [[s.field for s in m] for m in marks(["loss 2.5", "loss 2.5", "loss nan"])] == [[], [], ["value"]]


def test_two_texts_of_as_many_words_are_marked_word_by_word() -> None:
    one, other = marks(["rank 0/16 on host-a ready", "rank 13/16 on host-b ready"])
    assert [(s.start, s.end) for s in one] == [(5, 9), (13, 19)]
    assert [(s.start, s.end) for s in other] == [(5, 10), (14, 20)]
    assert [[(s.start, s.end) for s in m] for m in marks(["not saved", "saved"])] == [[(0, 9)], [(0, 5)]]
