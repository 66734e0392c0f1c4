"""Attempts, outcomes, rankers, outside findings and the words of the verdict."""

import numpy as np
import pytest

from l4tui.engine.blame import combine, shipped_weights
from l4tui.engine.diagnosis import diagnose
from l4tui.engine.evidence.case import Suspicion, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.evidence.registry import MODULES
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import LIBRARY, closed, launcher, raised, said, steps, told

EIGHT = range(8)


def test_a_restart_that_recovers_still_names_the_culprit() -> None:
    lines = steps(EIGHT, 9) + closed(0, 10)
    lines += [launcher("failed (exitcode: -9) local_rank: 1 (pid: 7)", node="n1")]
    lines += [line._replace(attempt=1) for line in steps(EIGHT, 20, first=8)]
    lines += [said(r, f"rank {r} exits cleanly", 20, stage="teardown", attempt=1) for r in EIGHT]
    found = told(lines)
    assert (found.outcome, found.blame.accused, found.case.attempt, found.attempts) == ("completed", (5,), 0, (0, 1))


def test_an_attempt_that_only_fails_to_connect_is_an_aftermath() -> None:
    lines = [*steps(EIGHT, 9), launcher("failed (exitcode: -9) local_rank: 1 (pid: 7)", node="n1")]
    error = "RuntimeError: Gloo connectFullMesh failed with [pair.cc:152] SO_ERROR: Connection refused"
    lines += [x._replace(attempt=1) for r in EIGHT if r for x in raised(r, error, stage="init")]
    found = told(lines)
    assert (found.outcome, found.blame.accused) == ("failed", (5,))


def test_attempts_are_told_apart_without_numbers() -> None:
    lines = [said(r, "initializing", stage="init") for r in EIGHT] + steps(EIGHT, 9)
    lines += [launcher("srun: error: n1: task 5: Killed")]
    lines += [said(r, f"initializing {n}", stage="init") for n in range(3) for r in EIGHT] + steps(EIGHT, 20, first=8)
    lines += [said(0, "training completed: 20 steps", 20, stage="teardown")]
    found = told(lines)
    assert found.attempts == (0, 1) and found.blame.accused == (5,)


def test_a_time_limit_is_nobodys_fault() -> None:
    lines = [
        *steps(EIGHT, 9),
        launcher("slurmstepd: error: *** STEP 9.0 CANCELLED AT 2026-01-01 DUE TO TIME LIMIT ***"),
    ]
    found = told(lines)
    assert (found.blame.scope, found.verdict.cause, found.outcome) == ("job", "scheduler", "failed")


def test_a_taken_port_accuses_the_node_only() -> None:
    lines = [Said("+ torchrun --nnodes 2", node="n0", launcher=True, source="n0.log")]
    lines += [
        Said(
            "torch.distributed.DistNetworkError: port: 29500, name: EADDRINUSE, message: address already in use",
            node="n0",
            launcher=True,
            source="n0.log",
        )
    ]
    lines += [Said("+ torchrun --nnodes 2", node="n1", launcher=True, source="n1.log")]
    found = told(lines)
    assert not found.blame.ranks and found.blame.nodes[0].node == "n0"
    assert (found.outcome, found.verdict.stage) == ("hung", "launch")


def test_a_growing_job_runs() -> None:
    assert told(steps(EIGHT, 9)).outcome == "running"


@pytest.mark.parametrize(("suspicion", "accused"), [(Suspicion(rank=3), (3,)), (Suspicion(node="n1"), (4, 5, 6, 7))])
def test_an_outside_finding_scopes_the_report(suspicion: Suspicion, accused: tuple[int, ...]) -> None:
    nodes = {"n0": [0, 1, 2, 3], "n1": [4, 5, 6, 7]}
    journal = journal_of(steps(EIGHT, 9), world_size=8, node_ranks=nodes)
    found = diagnose(journal, LIBRARY, suspicions=(suspicion,))
    assert found.blame.accused == accused


@pytest.mark.parametrize("ranker", ["error_time", "error_count"])
def test_the_papers_baselines_rank_by_errors_alone(ranker: str) -> None:
    lines = [
        *steps(EIGHT, 9),
        said(1, "boom", 4, level=Level.ERROR),
        *(said(2, "bang", 6, level=Level.ERROR) for _ in "ab"),
    ]
    found = diagnose(journal_of(lines, world_size=8), LIBRARY, ranker=ranker)
    assert found.blame.ranks[0].rank == {"error_time": 1, "error_count": 2}[ranker]


def test_weights_are_monotone_and_cover_every_kind() -> None:
    weights = shipped_weights()
    assert all(0 < weak <= strong <= 20 for weak, strong in weights.of.values())
    assert set(weights.of) == set(weights.group_of)
    assert MODULES[0].endswith("explicit_blame")


def test_words_for_ranks() -> None:
    assert word_ranks([3]) == "rank 3" and word_ranks([7, 4, 5, 6, 1]) == "ranks 1, 4-7"


def test_an_empty_job_and_a_job_of_noise_tell_nothing() -> None:
    assert told([]).verdict.scope == "none"
    rng = np.random.default_rng(1)
    noise = ["".join(map(chr, rng.integers(32, 0x2FF, 60))) for _ in range(300)]
    lines = [said(int(rng.integers(8)), text, int(rng.integers(-1, 5))) for text in noise]
    assert told(lines).verdict.scope in {"none", "ranks", "nodes", "job"}


@pytest.mark.parametrize(
    "text",
    [
        "rank 99999999999999999999 pid 1",
        "failed (exitcode: -99999999999) local_rank: 9 (pid: 1)",
        "srun: error: n: tasks 0-99999999: Killed",
        "Ranks 1, 2 failed to pass monitoredBarrier",
        "[missing ranks: 4294967296]",
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=99999999999999999999, OpType=X, NumelIn=1",
    ],
)
def test_hostile_numbers_do_not_crash(text: str) -> None:
    lines = steps(EIGHT, 9) + [said(r, text, 10, level=Level.ERROR) for r in (0, 1, 2)]
    told(lines)


def test_a_host_that_only_the_agents_table_names_is_a_place_like_any_other() -> None:
    lines = [x._replace(node=None) for x in steps(range(4), 5)]
    table = ["  time      : 2026-01-31_12:00:09", "  host      : localhost", "  rank      : 2 (local_rank: 2)"]
    ended = "failed (exitcode: 1) local_rank: 2 (pid: 618) of binary: /usr/bin/python3"
    lines += [Said(text, launcher=True, level=Level.ERROR) for text in (ended, *table, "  exitcode  : 1 (pid: 618)")]
    found = diagnose(journal_of(lines, world_size=4), LIBRARY)
    assert found.blame.accused == (2,) and found.case.node_of(2) == "localhost"


def test_ranks_without_a_node_are_on_the_one_that_was_lost() -> None:
    lines = [
        Said(f"step {step} loss 2.{step}", rank, iteration=step, marked=True, node="n0" if rank < 4 else None)
        for step in range(1, 6)
        for rank in range(8)
    ]
    lines.append(Said("srun: error: Node failure on n1", launcher=True, level=Level.ERROR))
    found = diagnose(journal_of(lines, world_size=8, node_ranks={"n0": [0, 1, 2, 3]}), LIBRARY)
    assert found.blame.nodes[0].node == "n1"
    assert {c.rank for c in found.blame.ranks} == {4, 5, 6, 7}


def test_a_traceback_under_words_that_it_was_survived_accuses_nobody() -> None:
    lines = steps(EIGHT, 9)
    kept = raised(3, "FileNotFoundError: [Errno 2] No such file or directory: '/prof/t_9.json'", 9)
    own = raised(6, "RuntimeError: mat1 and mat2 must have the same dtype, but got Double and Float", 9)
    words = "Traceback (most recent call last): export failed, continuing without a profile"
    head = said(3, words, 9, level=Level.ERROR)
    found = told([*lines, head, *kept[1:], *own, *closed(3, 9), *closed(0, 9)])
    assert found.blame.accused == (6,)


def test_who_raises_what_the_first_one_raised_is_accused_with_it() -> None:
    lines = steps(EIGHT, 9)
    for rank in (4, 5, 6, 7):
        error = f"FileNotFoundError: [Errno 2] No such file or directory: '/ckpt/rng_state_{rank}.pth'"
        lines += [said(rank, "resuming", 10 + 3 * rank), *raised(rank, error, 9)]
    assert told(lines + closed(0, 9)).blame.accused == (4, 5, 6, 7)


def test_a_job_whose_ranks_end_in_errors_that_no_entry_knows_failed() -> None:
    lines = [*steps(EIGHT, 9), said(2, "unit 7 gave E-4411", 10, level=Level.ERROR)]
    lines += [said(r, "unit gave E-9000", 20, level=Level.ERROR) for r in EIGHT if r != 2]
    assert told(lines).outcome == "failed"


def test_the_launchers_word_is_shown_where_it_is_all_there_is() -> None:
    lines = [said(0, f"step {step} loss 2.{step}", step, marked=True) for step in range(1, 9)]
    words = "failed (exitcode: 1) local_rank: 5 (pid: 816) of binary: /usr/bin/python3"
    lines += [launcher(words), launcher("  rank      : 5 (local_rank: 5)"), launcher("  exitcode  : 1 (pid: 816)")]
    found = diagnose(journal_of(lines, world_size=8, node_ranks={"n0": list(range(8))}), LIBRARY)
    assert found.blame.accused == (5,)
    assert [e.pattern for e in found.events if e.role == "initiating"]


def test_a_long_error_is_cut_where_it_ends_a_sentence() -> None:
    error = "RuntimeError: the buffer of the fused kernel is too small. It holds 4096 elements and 8192 were asked for "
    error += "by the optimizer of stage two. Including the padding that the planner adds this is more than was planned"
    found = told([*steps(EIGHT, 9), *raised(6, error, 9)])
    assert found.verdict.summary.endswith("asked for by the optimizer of stage two …")
    short = told([*steps(EIGHT, 9), *raised(6, "RuntimeError: the buffer is too small.", 9)])
    assert short.verdict.summary.endswith("the buffer is too small.")


def test_hints_on_hundreds_of_ranks_make_nobody_less_sure() -> None:
    case = told(steps(range(64), 2)).case
    named = Finding("explicit_blame", Strength.STRONG, "rank 5 is named", rank=5)
    hints = [Finding("spatial", Strength.STRONG, f"rank {rank} differs", rank=rank) for rank in range(6, 36)]
    alone, among = (combine(case, [named, *some], [], shipped_weights()).confidence for some in ([], hints))
    assert alone == among > 0.95
    rival = Finding("explicit_blame", Strength.WEAK, "rank 9 is named", rank=9)
    assert combine(case, [named, rival], [], shipped_weights()).confidence < alone
