"""Scopes become rows."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.rankset import RankSet
from l4tui.engine.view import EntryRows, Filter, Scope, Viewer, find_row, smart_case, validate
from tests.l4tui.fake import RANKS, FakeSnapshot, fake_search


def rows(scope: Scope, length: int = 2000) -> list[int]:
    found = Viewer(fake_search).rows(FakeSnapshot(length), scope, Event())
    return found.keys(0, found.length).tolist()


def test_all_in_order_takes_no_array() -> None:
    found = Viewer(fake_search).rows(FakeSnapshot(100), Scope(), Event())
    assert found._entries is None and found.length == 100


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("0-2", {0, 1, 2}), ("0-7,!3", {0, 1, 2, 4, 5, 6, 7}), ("node:n1", {4, 5, 6, 7}),
        ("node:n*,!node:n0", {4, 5, 6, 7}),
        ("!0", {-1, *range(1, 8)}), ("attempt:1", set()), ("1 2", {1, 2}), ("kind:launcher", {-1}), ("rank:5", {5}),
    ],
)  # fmt: skip
def test_rank_sets(text: str, ranks: set[int]) -> None:
    snapshot = FakeSnapshot(2000)
    chosen = RankSet.parse(text).select(snapshot.ranks, snapshot.nodes)
    assert set(snapshot.ranks.rank[chosen].tolist()) == ranks


@given(st.sets(st.integers(0, RANKS - 1), min_size=1))
def test_any_set_of_ranks_is_what_it_says(ranks: set[int]) -> None:
    snapshot = FakeSnapshot(500)
    chosen = RankSet.parse(",".join(map(str, sorted(ranks)))).select(snapshot.ranks, snapshot.nodes)
    assert set(snapshot.ranks.rank[chosen].tolist()) == ranks


@given(st.text(max_size=20))
def test_any_text_is_a_rank_set_or_a_clear_error(text: str) -> None:
    try:
        RankSet.parse(text)
    except ValueError as error:
        assert str(error)


def test_filters_meet_and_sites_that_are_kept_are_alternatives() -> None:
    a, b = Filter("site", "1", True), Filter("site", "2", True)
    both = rows(Scope(filters=(a, b)))
    assert sorted(both) == sorted(rows(Scope(filters=(a,))) + rows(Scope(filters=(b,))))
    assert set(rows(Scope(filters=(a._replace(keep=False),)))) == set(range(2000)) - set(rows(Scope(filters=(a,))))
    errors = rows(Scope(filters=(Filter("level", "5", True),)))
    assert errors == [e for e in range(2000) if FakeSnapshot(2000).plan[e] == 4]
    assert rows(Scope(filters=(a,), filtering=False)) == list(range(2000))


def test_a_pattern_is_searched_once_and_then_only_what_is_new() -> None:
    starts = []

    def counting(snapshot: FakeSnapshot, pattern: str, start: int, stop: Event):  # type: ignore[no-untyped-def]
        starts.append(start)
        return fake_search(snapshot, pattern, start, stop)

    viewer = Viewer(counting)
    scope = Scope(filters=(Filter("text", "collated", True),))
    first = viewer.rows(FakeSnapshot(1000), scope, Event())
    again = viewer.rows(FakeSnapshot(1100), scope, Event())
    viewer.rows(FakeSnapshot(1100, generation=1), scope, Event())
    assert starts == [0, 1000, 0] and again.length > first.length


@given(st.lists(st.integers(0, 500), unique=True, max_size=60), st.integers(0, 500))
def test_the_nearest_earlier_row_is_found(entries: list[int], key: int) -> None:
    made = EntryRows(np.array(sorted(entries), np.int64), 0)
    earlier = [e for e in sorted(entries) if e <= key]
    assert made.position(key) == max(len(earlier) - 1, 0)


@given(st.lists(st.booleans(), max_size=300), st.integers(-1, 300), st.sampled_from([1, -1]))
def test_find_row_is_the_next_hit_in_its_direction(hits: list[bool], start: int, step: int) -> None:
    bits = np.array(hits, np.bool_)
    made = EntryRows(None, len(hits))
    places = [i for i, hit in enumerate(hits) if hit and (i > start if step > 0 else i < start)]
    expected = -1 if not places else places[0] if step > 0 else places[-1]
    if step < 0 and start > len(hits):
        start = len(hits)
    assert find_row(made, start, step, lambda keys: bits[keys], Event()) == expected


def test_case_matters_only_with_capitals() -> None:
    assert smart_case("loss") == "(?i)loss" and smart_case("Loss") == "Loss" and smart_case(r"\S+") == r"(?i)\S+"
    with pytest.raises(ValueError, match="at 0"):
        validate("*")
    validate("(?s)a.b")
    with pytest.raises(ValueError):
        validate("(?u)a")
