"""What a chart draws: lines, the band, who leaves it, where the cursor is."""

from __future__ import annotations

import numpy as np

from l4tui.engine.model import NO_TIME
from l4tui.engine.telemetry.charts import (
    Axis,
    Line,
    band,
    best_axis,
    entry_near,
    lines,
    outliers,
    smoothed,
    thinned,
    within,
    x_near,
)  # fmt: skip
from l4tui.engine.telemetry.index import Points


def points_of(values: np.ndarray) -> Points:
    """values: (iteration, rank); entries in that order, iterations from 10 on."""
    step, rank = np.divmod(np.arange(values.size), values.shape[1])
    return Points(
        "loss", np.arange(values.size) * 2, rank.astype(np.int32), (step + 10).astype(np.int32),
        np.full(values.size, NO_TIME), values.ravel().astype(float),
    )  # fmt: skip


VALUES = np.arange(20.0)[:, None] + np.random.default_rng(3).normal(0, 0.1, (20, 8))


def test_a_line_per_rank_with_what_is_not_finite_apart() -> None:
    values = VALUES.copy()
    values[4, 2] = np.nan
    drawn = lines(points_of(values), Axis.ITERATION, [2, 3])
    assert [line.rank for line in drawn] == [2, 3]
    assert drawn[0].odd_x.tolist() == [14] and np.isnan(drawn[0].odd).all() and len(drawn[0].x) == 19
    assert drawn[1].x.tolist() == list(range(10, 30)) and drawn[1].y.tolist() == values[:, 3].tolist()


def test_the_axis_is_what_the_samples_know() -> None:
    points = points_of(VALUES)
    assert best_axis(points) is Axis.ITERATION
    unknown = points._replace(iteration=np.full_like(points.iteration, -1))
    assert best_axis(unknown) is Axis.ENTRY
    assert best_axis(unknown._replace(time=points.entry * 10**9)) is Axis.TIME


def test_the_band_holds_the_median_and_the_edges() -> None:
    found = band(points_of(VALUES), Axis.ITERATION, edge=0.0)
    np.testing.assert_array_equal(found.x, np.arange(10, 30))
    np.testing.assert_array_equal(found.low, VALUES.min(axis=1))
    np.testing.assert_array_equal(found.high, VALUES.max(axis=1))
    assert (found.low <= found.middle).all() and (found.middle <= found.high).all()


def test_who_leaves_the_band_is_named() -> None:
    values = VALUES.copy()
    values[:, 5] += 3
    values[10:, 6] = np.nan
    found = outliers(points_of(values), Axis.ITERATION)
    assert [one.rank for one in found] == [5, 6]
    assert found[0].share == 1.0 and found[0].deviation > 4
    assert outliers(points_of(VALUES), Axis.ITERATION) == []
    assert outliers(points_of(np.ones((20, 8))), Axis.ITERATION) == []
    assert outliers(points_of(values[:, :3]), Axis.ITERATION) == []


def test_zoom_and_cursor() -> None:
    points = points_of(VALUES)
    assert set(within(points, Axis.ITERATION, 12, 14).iteration.tolist()) == {12, 13, 14}
    entry = entry_near(points, Axis.ITERATION, 15.4, rank=3)
    assert points.iteration[points.entry == entry] == 15 and points.rank[points.entry == entry] == 3
    assert x_near(points, Axis.ITERATION, entry + 1) == 15
    assert x_near(points, Axis.ITERATION, -5) == 10
    assert entry_near(points, Axis.TIME, 0) == -1


def test_smoothing_has_no_bias_at_its_start() -> None:
    assert np.allclose(smoothed(np.full(5, 3.0), 0.9), 3.0)
    assert smoothed(np.array([0.0, 1.0]), 0.5).tolist() == [0.0, 2 / 3]


def test_thinning_keeps_what_would_be_seen() -> None:
    x = np.arange(10_000.0)
    y = np.sin(x)
    y[4321] = 50
    drawn = thinned(Line(0, x, y, x[:0], x[:0]), 100)
    assert len(drawn.x) <= 404 and drawn.y.max() == 50 and drawn.x[0] == 0 and drawn.x[-1] == 9999
