"""The whole method on small jobs: filter, comparison, ranking, events, evidence."""

from __future__ import annotations

from dataclasses import replace

from l4tui.engine.diagnosis import diagnose
from l4tui.engine.evidence import spatial, temporal
from l4tui.engine.evidence.finding import Strength
from l4tui.engine.evidence.record import Journal
from l4tui.engine.l4.crossjob import CrossJob, profile_of
from l4tui.engine.l4.pipeline import iteration_tables
from l4tui.engine.l4.ranker import rank
from l4tui.engine.library import load
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import Level
from tests.engine.l4.jobs import case_of, healthy, merged, planted

GONE = "ring exchange gave up"


def failed(ranks: int = 16) -> Journal:
    """Rank 6 fails in iteration 21; rank 0 is the only one that reports steps."""
    return merged(healthy(ranks, 20), planted(GONE, 6, 21, times=20, level=Level.ERROR))


def baseline(ranks: int = 16) -> CrossJob:
    return CrossJob([profile_of(merged(healthy(ranks, 40, host="other")), "healthy")])


def test_the_planted_rank_its_node_and_its_event_come_first() -> None:
    for ranks in (8, 16, 32):
        case = case_of(failed(ranks), baseline(ranks))
        found = rank(case)
        assert found.blame.ranks[0].rank == 6 and found.blame.nodes[0].node == "n1"
        assert found.blame.accused == (6,) and found.blame.scope == "ranks"
        assert found.events is not None
        templates = case.journal.templates
        assert [(templates[e.event], e.role, e.ranks) for e in found.events] == [(GONE, Role.INITIATING, (6,))]
        assert found.blame.ranks[0].findings[0].iteration == 21


def test_degrees_are_told_of_every_rank_and_node() -> None:
    degrees = case_of(failed(), baseline()).l4.degrees()
    assert set(degrees) == {*range(16), "n0", "n1", "n2", "n3"}
    assert degrees[6][0] == 1 and degrees["n1"][0] == 1


def test_of_two_nodes_each_is_as_odd_as_its_oddest_rank() -> None:
    found = case_of(failed(8), baseline(8)).l4
    assert found.nodes.degrees["n1"] == found.ranks.degrees[6]
    assert [a.unit for a in found.nodes.flagged][:1] == ["n1"]


def test_events_of_the_healthy_job_make_nobody_odd() -> None:
    case = case_of(merged(healthy(16, 20)), baseline())
    assert not case.l4.ranks.flagged and not case.l4.temporal.flagged
    assert rank(case).blame.scope == "none"


def test_a_job_that_ended_well_is_not_diagnosed() -> None:
    case = replace(case_of(failed(), baseline()), completed=True)
    assert rank(case).blame.scope == "none" and rank(case).events == ()
    assert not spatial.judge(case) and not temporal.judge(case)


def test_evidence_names_rank_iteration_and_lines() -> None:
    case = case_of(failed(8), baseline(8))
    (found,) = spatial.judge(case)
    assert (found.rank, found.strength) == (6, Strength.WEAK)
    assert GONE in found.sentence and "20 ×" in found.sentence
    (when,) = temporal.judge(case)
    assert (when.rank, when.iteration) == (6, 21) and when.rows


def test_one_line_more_is_listed_but_is_no_evidence() -> None:
    case = case_of(merged(healthy(8, 20), planted(GONE, 6, 21, times=1)), baseline(8))
    assert case.l4.ranks.flagged[0].unit == 6
    assert not spatial.judge(case)


def test_iterations_of_the_report() -> None:
    (table,) = iteration_tables(case_of(failed(8), baseline(8)))
    assert table["iteration"] == 21 and table["kind"] == "extra_lines" and table["ranks"] == [6]
    lines = table["lines"]
    assert isinstance(lines, list) and lines[0][0] == "job.log" and len(lines) == 20


def test_the_same_job_gives_the_same_answer() -> None:
    one, two = (rank(case_of(failed(32), baseline(32))) for _ in range(2))
    assert one == two


def test_diagnose_by_l4_shows_the_methods_own_events() -> None:
    found = diagnose(failed(), load(), baseline=baseline(), ranker="l4")
    assert found.ranker == "l4" and found.verdict.scope == "ranks" and found.verdict.iteration == 21
    assert [found.case.journal.templates[e.event] for e in found.events] == [GONE]
    assert found.removed == len(found.case.journal.templates) - 1


def test_hardly_any_lines() -> None:
    for said in ([], healthy(1, 0), healthy(2, 1), healthy(3, 0)[:1]):
        case = case_of(merged(said), None)
        assert rank(case).blame.scope == "none" and not iteration_tables(case)
