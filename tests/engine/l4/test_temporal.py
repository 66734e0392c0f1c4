"""Iterations that are unlike those before them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.evidence.record import Journal, Said
from l4tui.engine.l4 import temporal
from l4tui.engine.l4.counts import counted_rows
from l4tui.engine.l4.temporal import Kind, Odd
from tests.engine.l4.jobs import SECOND, case_of, healthy, merged, planted


def odd(journal: Journal, attempt: int = 0) -> tuple[Odd, ...]:
    case = case_of(journal, attempt=attempt)
    nothing = np.zeros(len(journal.templates), dtype=np.bool_)
    return temporal.compare(case, counted_rows(case, nothing), nothing).flagged


def test_a_healthy_job_has_no_odd_iteration() -> None:
    assert not odd(merged(healthy(iterations=40)))


def test_planted_lines_are_found_with_their_rank() -> None:
    journal = merged(healthy(iterations=30), planted("ring exchange gave up", 3, 17))
    (found,) = odd(journal)
    assert (found.iteration, found.kind, found.ranks) == (17, Kind.EXTRA, (3,))
    assert [journal.templates[e] for e in found.events] == ["ring exchange gave up"]
    assert all(journal.text(r) == "ring exchange gave up" for r in found.rows) and len(found.rows) == 6


def test_lines_that_are_missing_are_found_but_not_of_the_iteration_that_still_runs() -> None:
    def without(at: int) -> Journal:
        said = healthy(iterations=30)
        return merged([s for s in said if not (s.iteration == at and "backward" in s.text)])

    (found,) = odd(without(20))
    assert (found.iteration, found.kind) == (20, Kind.MISSING)
    assert not odd(without(30))


def test_lines_repeated_far_more_often_are_found() -> None:
    journal = merged(healthy(iterations=30), planted("forward took 1.2 ms", 2, 12, times=400))
    (found,) = odd(journal)
    assert (found.iteration, found.kind) == (12, Kind.REPEATED)


def test_a_slow_iteration_is_found_by_the_clock() -> None:
    said = [s._replace(time=s.time + (60 * SECOND if s.iteration >= 15 else 0)) for s in healthy(iterations=30)]
    assert [(o.iteration, o.kind) for o in odd(merged(said))] == [(15, Kind.SLOW)]


@pytest.mark.parametrize("shift", [0, -1], ids=["marker at the end", "marker at the beginning"])
def test_a_checkpoint_is_no_part_of_the_iteration_after_it(shift: int) -> None:
    def later(s: Said) -> Said:
        done = s.iteration // 10 - (s.iteration % 10 == 0 and s.stage != 5)  # checkpoints written before this line
        saved = Said(s.text, s.rank, s.time + max(done, 0) * 90 * SECOND, s.iteration, s.stage, s.node, s.level)
        return saved._replace(marked=s.marked, iteration=s.iteration + shift * (s.stage == 5))

    said = [later(s) for s in healthy(iterations=60) if s.stage != 5 or s.iteration % 10 == 0]
    assert not [o for o in odd(merged(said)) if o.kind is Kind.SLOW]


def test_clocks_of_whole_seconds_make_nothing_slow() -> None:
    said = [s._replace(time=s.time // (3 * SECOND) * SECOND) for s in healthy(iterations=60)]
    assert not odd(merged(said))


def test_a_habit_is_not_odd() -> None:
    extra = [s for i in range(10, 61, 10) for s in planted(f"evaluated split {i}", 0, i)]
    assert not odd(merged(healthy(iterations=60), extra))


def test_attempts_are_judged_apart() -> None:
    first = healthy(iterations=20)
    again = [s._replace(attempt=1, time=s.time + 1000 * SECOND) for s in healthy(iterations=20)]
    late = [s._replace(attempt=1, time=s.time + 1000 * SECOND) for s in planted("ring exchange gave up", 1, 9)]
    journal = merged(first, again, late)
    assert not odd(journal, 0)
    assert [o.iteration for o in odd(journal, 1)] == [9]


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_short_jobs(iterations: int) -> None:
    assert not odd(merged(healthy(iterations=iterations), [Said("x", 0, node="n0")]))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=25))
def test_distances_are_finite_repeatable_and_zero_for_equal_sequences(values: list[list[int]]) -> None:
    arrays = [np.array(v, dtype=np.float64) for v in values]
    one, two = temporal.distances(arrays), temporal.distances(arrays)
    assert np.array_equal(one, two, equal_nan=True)
    assert np.isnan(one[: temporal.LEAST_BEFORE]).all() and np.isfinite(one[temporal.LEAST_BEFORE :]).all()
    same = temporal.distances([np.array([0.0, 1.0])] * 9)
    assert (same[temporal.LEAST_BEFORE :] == 0).all()
