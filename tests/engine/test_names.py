"""Ranks in the names that stand in front of lines, and names that only look so."""

from __future__ import annotations

import re

import pytest

from l4tui.engine.formats.crews import counts_jobs
from l4tui.engine.formats.names import ranked

RANKED = {
    ("gx1-rank0", "gx1-rank1", "gx2-rank2", "gx2-rank3"): ("gx2-rank3", "3", "gx2"),
    ("fit.rank.0", "fit.rank.1"): ("fit.rank.1", "1", None),
    ("rank0.1", "rank1.1", "system"): ("rank1.1", "1", None),
    ("gx0:r0", "gx0:r1"): ("gx0:r1", "1", "gx0"),
    ("n1-0", "n1-1", "n2-2", "n2-3"): ("n2-3", "3", "n2"),
}
OTHERS = (
    ("gx-1", "gx-2"),
    ("c-r0", "c-r1", "c-r2"),  # rows of hosts
    ("row3-0", "row3-1"),  # one set of pods
    ("set-0-0", "set-0-1", "set-1-0", "set-1-1"),
    ("n1-1", "n1-2", "n2-3", "n2-4"),
    ("10.0.0.0", "10.0.0.1", "10.0.1.2", "10.0.1.3"),
    ("fit-rank0", "eval-rank1"),
    ("frank0", "frank1"),
    ("a", "b"),
)


@pytest.mark.parametrize("names", RANKED)
def test_names_that_hold_a_rank(names: tuple[str, ...]) -> None:
    name, rank, node = RANKED[names]
    pattern = ranked(names)
    assert pattern is not None
    found = re.fullmatch(pattern, name)
    assert found is not None and found["task"] == rank and found.groupdict().get("node") == node


@pytest.mark.parametrize("names", OTHERS)
def test_names_that_hold_none(names: tuple[str, ...]) -> None:
    assert ranked(names) is None


def test_numbers_from_one_count_jobs() -> None:
    assert counts_jobs([2, 1, 3, 1])
    assert not any(counts_jobs(ids) for ids in ([0, 1, 2], [1, 1], [1, 3]))
