"""Every rule of every kind of evidence finds three jobs of its own, and nothing in a calm one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from importlib import import_module

import pytest

from l4tui.engine.evidence import jobwide, unowned
from l4tui.engine.evidence.case import Case, Suspicion
from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.evidence.registry import AFTERWARDS, MODULES
from l4tui.engine.homes import find_homes
from l4tui.engine.library.matching import scan
from l4tui.engine.model import Level
from l4tui.engine.outcome import is_completed
from l4tui.engine.roles import sight
from tests.engine.evidence import rule_jobs as jobs
from tests.engine.evidence import rule_jobs_values as values
from tests.engine.evidence.jobs import LIBRARY, SECOND, said, steps
from tests.engine.evidence.rule_jobs import Builder, whole_node

SETTINGS = ((6, 8, 10), (1, 8, 4), (13, 16, 31))  # culprit, ranks, step


RANK, NODE, NODES_RANKS, NOBODY = "rank", "node", "ranks of the node", "nobody"
JOBS: dict[str, tuple[Builder, str]] = {
    "explicit_blame._named": (jobs.named, RANK),
    "explicit_blame._minority": (jobs.minority, RANK),
    "explicit_blame._compared": (jobs.compared, RANK),
    "explicit_blame._killed": (jobs.killed, RANK),
    "hardware.judge": (jobs.on_hardware, RANK),
    "external.judge": (lambda which, who, world, step: steps(range(world), step), RANK),
    "progress_gap._counters": (jobs.counters, RANK),
    "progress_gap._operations": (jobs.operations, RANK),
    "progress_gap._iterations": (jobs.iterations, RANK),
    "progress_gap._stacks": (jobs.stacks, RANK),
    "progress_gap._dumps": (jobs.dumps, RANK),
    "progress_gap._blocked": (jobs.blocked, RANK),
    "silence._frozen": (jobs.frozen, RANK),
    "silence._lacks_report": (jobs.lacks_report, RANK),
    "silence._was_elsewhere": (jobs.elsewhere, RANK),
    "silence._vanished": (jobs.vanished, NODES_RANKS),
    "silence._mute_node": (jobs.mute_node, NODE),
    "silence._stopped": (jobs.stopped, RANK),
    "silence._left_behind": (jobs.left_behind, RANK),
    "silence._lacks_steps": (values.short_of_steps, RANK),
    "silence._before_the_wait": (values.silent_before, RANK),
    "silence._lacks_warning": (jobs.lacks_warning, RANK),
    "absence._absent": (jobs.absent, RANK),
    "absence._never_came": (jobs.never_came, NODE),
    "first_exception.judge": (jobs.own_error, RANK),
    "peer_vote.judge": (jobs.peers, RANK),
    "value._not_finite": (jobs.not_finite, RANK),
    "value._odd_node": (jobs.odd_node, NODES_RANKS),
    "value._bursts": (jobs.bursts, NODES_RANKS),
    "value._listed": (jobs.listed, RANK),
    "outlying.judge": (values.outlying, RANK),
    "straggler.judge": (jobs.slow, RANK),
    "tabled.judge": (values.tabled, RANK),
    "setting.judge": (jobs.settings, RANK),
    "hint.judge": (jobs.hinted, RANK),
    "spatial.judge": (jobs.counted, RANK),
    "temporal.judge": (jobs.odd_iteration, RANK),
    "errors.judge": (jobs.first_loud, RANK),
    "jobwide._stopped": (jobs.time_limit, NOBODY),
    "jobwide._nowhere": (jobs.nowhere, NOBODY),
    "jobwide._common_error": (jobs.everybody, NOBODY),
    "jobwide._not_finite": (jobs.all_not_finite, NOBODY),
    "jobwide._spike": (jobs.spike, NOBODY),
    "unowned._nobody_named": (jobs.memory_limit, NOBODY),
    "unowned._gave_up": (jobs.all_gave_up, NOBODY),
    "unowned._no_answer": (jobs.no_answer, NOBODY),
    "unowned._told_to_stop": (jobs.told_to_stop, NOBODY),
}


def case_of(lines: Iterable[Said], world: int, suspicions: tuple[Suspicion, ...] = ()) -> Case:
    nodes = {f"n{n}": list(range(4 * n, 4 * n + 4)) for n in range(world // 4)}
    journal = journal_of(list(lines), world_size=world, node_ranks=nodes)
    sightings = sight(journal, scan(journal, LIBRARY).hits)
    ended = is_completed(journal, sightings, 0)
    homes = find_homes(journal, sightings)
    return Case(journal, tuple(sightings), completed=ended, suspicions=suspicions, homes=homes)


def rules() -> dict[str, Callable[[Case], list[object]]]:
    """Every function that a judge asks, or the judge itself where it asks none."""
    out = {}
    later = [m for m in map(import_module, AFTERWARDS) if hasattr(m, "judge")]
    for module in [*map(import_module, MODULES), *later, jobwide, unowned]:
        short = module.__name__.rpartition(".")[2]
        parts = re.findall(r"\*(_\w+)\(case\)", inspect.getsource(module.judge))
        out |= {f"{short}.{part}": getattr(module, part) for part in parts or ["judge"]}
    return out


def test_every_rule_has_its_jobs() -> None:
    assert set(rules()) == set(JOBS)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("rule", JOBS)
def test_a_rule_finds_its_job(rule: str, which: int) -> None:
    build, expected = JOBS[rule]
    who, world, step = SETTINGS[which]
    suspicions = (Suspicion(rank=who, time=SECOND),) if rule == "external.judge" else ()
    case = case_of(build(which, who, world, step), world, suspicions)
    found = rules()[rule](case)
    assert found, "it says nothing"
    ranks = {f.rank for f in found if f.rank >= 0}
    if expected == RANK:
        assert who in ranks and (len(ranks) <= 2 or ranks == set(whole_node(who)))
    elif expected == NODES_RANKS:
        assert ranks == set(whole_node(who))
    else:
        assert not ranks and (expected == NOBODY or {f.node for f in found} - {None})


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("rule", sorted(set(JOBS) - {"external.judge"}))
def test_a_rule_spares_a_calm_job(rule: str, which: int) -> None:
    _, world, step = SETTINGS[which]
    calm = [
        said(r, f"rank {r} starts, seed 1234, {('bf16', 'fp16', 'fp32')[which]}", stage="init") for r in range(world)
    ]
    calm += steps(range(world), step + 15)
    if rule not in ("spatial.judge", "temporal.judge"):  # which count lines: one more on one rank is odd to them
        calm += [said(2, "GET s_1.bin failed with status 503 (attempt 1/5), retrying", 3, level=Level.WARNING)]
    done = [said(r, f"rank {r} exits cleanly", step + 15, stage="teardown") for r in range(world)]
    assert not rules()[rule](case_of(calm, world))
    assert not rules()[rule](case_of([*calm, *done], world))
