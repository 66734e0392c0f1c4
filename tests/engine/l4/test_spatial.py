"""Who writes other events than its peers, and which."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.l4 import counts, spatial
from l4tui.engine.l4.counts import Counts


def table(units: int, events: int, seed: int = 0) -> np.ndarray:
    """Counts that scatter by chance, some events rare, some frequent."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 4.0, size=events), size=(units, events)).astype(np.float64)


def compared(values: np.ndarray) -> spatial.Spatial:
    varies = (values != values[0]).any(axis=0)
    events = np.flatnonzero(varies).astype(np.int64)
    return spatial.compare(Counts(tuple(range(len(values))), events, values[:, varies]))


@pytest.mark.parametrize("units", [5, 8, 15, 16, 64, 300])
def test_the_planted_unit_is_first_and_its_event_is_named(units: int) -> None:
    values = table(units, 60)
    values[units // 2, 7] += 60
    found = compared(values)
    assert found.places()[units // 2][0] == 1
    assert found.flagged[0].unit == units // 2
    assert found.flagged[0].causes[0].event == 7
    assert found.flagged[0].causes[0].lines == values[units // 2, 7]


def test_one_odd_line_among_units_that_are_the_same_is_seen_but_weighs_little() -> None:
    values = np.ones((8, 20))
    values[5, 3] = 2
    found = compared(values)
    assert [a.unit for a in found.flagged] == [5] and found.flagged[0].degree < 0.1


def test_a_unit_that_lacks_what_its_peers_write_is_odd() -> None:
    values = np.ones((8, 20))
    values[:, :15] = 12
    values[2, :15] = 0
    found = compared(values)
    assert found.flagged[0].unit == 2 and all(c.lines < c.usual for c in found.flagged[0].causes)


@pytest.mark.parametrize("units", [1, 2])
def test_without_a_majority_nobody_is_odd(units: int) -> None:
    found = compared(table(units, 10))
    assert not found.flagged and set(found.degrees.values()) == {0.0}


@pytest.mark.parametrize("units", [8, 64])
def test_equal_units_are_not_odd(units: int) -> None:
    assert not compared(np.full((units, 9), 5.0)).flagged


def test_a_forest_that_sees_only_chance_flags_few() -> None:
    assert sum(len(compared(table(128, 200, seed)).flagged) for seed in range(5)) <= 5


def test_at_most_eight_are_flagged() -> None:
    values = np.ones((200, 4))
    values[:20, 0] = 50 + np.arange(20)
    assert len(compared(values).flagged) <= spatial.MOST


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 30), st.integers(1, 30), st.integers(0, 99))
def test_degrees_lie_between_0_and_1_and_do_not_depend_on_chance(units: int, events: int, seed: int) -> None:
    values = table(units, events, seed)
    one, two = compared(values), compared(values)
    assert one == two
    assert all(0.0 <= d <= 1.0 for d in one.degrees.values())
    assert sorted(place for place, _ in one.places().values()) == list(range(1, units + 1))


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 15), st.integers(1, 20), st.integers(0, 99), st.randoms(use_true_random=False))
def test_few_units_are_judged_alike_in_any_order(units: int, events: int, seed: int, random: object) -> None:
    values = table(units, events, seed)
    order = np.random.default_rng(seed).permutation(units)
    one, two = compared(values), compared(values[order])
    assert [one.degrees[u] for u in order.tolist()] == pytest.approx(list(two.degrees.values()))


def test_dense_and_sparse_counting_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    unit, event = rng.integers(-1, 9, 5000), rng.integers(0, 40, 5000) ** 2 // 40
    units = tuple(range(9))
    dense = counts.count(unit, event, units, 50)
    monkeypatch.setattr(counts, "DENSE", 9 * 45)
    sparse = counts.count(unit, event, units, 50)
    monkeypatch.setattr(counts, "DENSE", 9 * 30)
    fewer = counts.count(unit, event, units, 50)
    assert (dense.events == sparse.events).all() and (dense.table == sparse.table).all()
    assert len(fewer.events) == 30 and set(fewer.events) <= set(dense.events)


@given(st.lists(st.integers(-3, 1 << 40), max_size=20), st.lists(st.integers(0, 1 << 40), max_size=20))
def test_places_of_values(values: list[int], known: list[int]) -> None:
    ids = np.unique(np.array(known, dtype=np.int64))
    found = counts.index_of(np.array(values, dtype=np.int64), ids)
    assert [int(ids[i]) if i >= 0 else None for i in found] == [v if v in known else None for v in values]
