"""Ranks that are somewhat slower than their peers, for long."""

from __future__ import annotations

import pytest

from l4tui.engine.evidence.record import Said
from tests.engine.evidence.jobs import accused, said

EIGHT = range(8)


def timed(slow: dict[int, float], since: int, upto: int = 40) -> list[Said]:
    """Write a line per rank and iteration; ranks of `slow` take so many times as long from an iteration on."""
    out = []
    for step in range(1, upto):
        for rank in EIGHT:
            ms = 310 * (slow.get(rank, 1.0) if step >= since else 1.0) + (step * 7 + rank * 3) % 9
            out.append(said(rank, f"iter {step} forward {ms:.1f} ms, sync 41.0 ms", step, marked=True))
    return out


@pytest.mark.parametrize("factor", [1.4, 1.8])
def test_who_becomes_somewhat_slower_for_long_is_accused(factor: float) -> None:
    assert accused(timed({5: factor}, 12)) == [5]


def test_a_whole_node_may_become_slower() -> None:
    assert accused(timed(dict.fromkeys(range(4, 8), 1.6), 12)) == [4, 5, 6, 7]


def test_who_was_slower_from_the_start_has_more_to_do() -> None:
    assert accused(timed({7: 1.5}, 0)) == []


def test_a_short_while_is_no_trouble() -> None:
    assert accused([*timed({5: 1.5}, 20, 28), *timed({}, 0)[27 * 8 :]]) == []
