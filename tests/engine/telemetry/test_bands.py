"""Bands: middle, edges, who lies outside; samples brought to columns; smoothing with gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.telemetry.bands import band_of, columns_of, smoothed


def test_the_rank_far_from_the_middle_is_named() -> None:
    ranks, steps = 16, 50
    rng = np.random.default_rng(1)
    rank, x = np.repeat(np.arange(ranks), steps), np.tile(np.arange(steps, dtype=float), ranks)
    y = 180 + rng.normal(0, 2, ranks * steps)
    y[(rank == 11) & (x >= 30)] += 400
    band = band_of(rank, x, y, 0, steps - 1, 200)
    assert [r for r, _ in band.outside] == [11] and band.ranks == 16
    assert len(band.x) == steps and abs(band.middle[-1] - 180) < 5 and band.high[-1] > 500
    calm = band_of(rank, x, np.where(rank == 11, 180.0, y), 0, steps - 1, 200)
    assert not calm.outside
    assert not band_of(rank[rank < 2], x[rank < 2], y[rank < 2], 0, 49, 200).outside  # two have no majority


def test_what_is_not_finite_leaves_a_gap_and_nothing_else() -> None:
    x = np.arange(6.0)
    y = np.array([1.0, 2.0, np.nan, np.inf, 5.0, 6.0])
    band = band_of(np.zeros(6, int), x, y, 0, 5, 100)
    assert band.x.tolist() == [0, 1, 4, 5] and band.middle.tolist() == [1, 2, 5, 6]
    empty = band_of(np.zeros(2, int), x[:2], np.array([np.nan, np.nan]), 0, 1, 10)
    assert len(empty.x) == 0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(1, 40))
def test_every_sample_has_a_column(values: list[float], most: int) -> None:
    x = np.array(values)
    column, at = columns_of(x, float(x.min()), float(x.max()), most)
    assert len(at) <= most and column.min() >= 0 and column.max() < len(at) and (np.diff(at) >= 0).all()


def test_smoothing_goes_over_gaps() -> None:
    table = np.array([[1.0, np.nan, 3.0, 5.0]])
    out = smoothed(table, 2)
    assert out[0, 0] == 1 and np.isnan(out[0, 1]) and out[0, 2] == 3 and out[0, 3] == 4
