"""Each kind of evidence on small jobs: whom it accuses, and whom it spares."""

import pytest

from l4tui.engine.evidence.record import Said
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import accused, closed, launcher, raised, said, steps, timed_out, told

EIGHT = range(8)


def kinds(lines: list[Said], rank: int, world: int = 8) -> set[str]:
    found = next(c for c in told(lines, world).blame.ranks if c.rank == rank)
    return {f.kind for f in found.findings}


def test_first_exception_beats_its_cascade() -> None:
    lines = steps(EIGHT, 20) + raised(2, "IndexError: index out of range in self", 21)
    lines += [line for r in (1, 5, 7) for line in closed(r, 21)]
    found = told(lines)
    assert found.blame.accused == (2,) and found.verdict.iteration == 21 and found.verdict.stage == "train"
    roles = {e.role for e in found.events if 2 in e.ranks}
    assert roles == {Role.INITIATING}
    assert all(e.role is Role.CASCADE for e in found.events if 1 in e.ranks)


def test_a_survived_error_accuses_nobody() -> None:
    lines = steps(EIGHT, 10) + raised(3, "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/t.json'", 11)
    lines += steps(EIGHT, 20, first=11) + [said(r, f"rank {r} exits cleanly", 20, stage="teardown") for r in EIGHT]
    found = told(lines)
    assert found.blame.scope == "none" and found.outcome == "completed"


def test_the_same_error_everywhere_is_the_whole_job() -> None:
    lines = [line for r in EIGHT for line in raised(r, "AssertionError: hidden size 64, heads 5", stage="model_build")]
    found = told(lines)
    assert found.blame.scope == "job" and not found.blame.ranks


def test_the_same_error_on_one_node_accuses_the_node() -> None:
    lines = steps(EIGHT, 3) + [x for r in (4, 5, 6, 7) for x in raised(r, "MemoryError: cannot", 4)]
    lines += [x for r in (0, 1, 2) for x in closed(r, 4)]
    found = told(lines)
    assert found.blame.accused == (4, 5, 6, 7) and found.blame.scope == "nodes"


def test_the_launcher_names_who_was_killed() -> None:
    lines = steps(EIGHT, 9) + closed(0, 10)
    lines += [launcher("Sending process 11 closing signal SIGTERM", level=Level.WARNING)]
    lines += [launcher("failed (exitcode: -9) local_rank: 2 (pid: 12) of binary: /usr/bin/python", node="n1")]
    assert accused(lines) == [6] and "explicit_blame" in kinds(lines, 6)


@pytest.mark.parametrize("code", ["1", "-6", "-15"])
def test_other_exit_codes_accuse_nobody(code: str) -> None:
    lines = steps(EIGHT, 9) + [x for r in EIGHT for x in timed_out(r, 10)]
    lines += [launcher(f"failed (exitcode: {code}) local_rank: 2 (pid: 12) of binary: /usr/bin/python", node="n1")]
    assert "explicit_blame" not in {f.kind for c in told(lines).blame.ranks for f in c.findings}


def test_a_named_rank_is_accused_not_the_writer() -> None:
    lines = steps(EIGHT, 9) + raised(0, "RuntimeError: Ranks 5 failed to pass monitoredBarrier in 30000 ms", 10)
    assert accused(lines) == [5]


def test_a_stopped_process_is_accused_by_its_silence() -> None:
    lines = steps(EIGHT, 9) + [x for r in EIGHT if r != 7 for x in timed_out(r, 10)]
    lines += [said(7, "rank 7 starts on n1, local rank 3, pid 4711, restart 0", stage="init")][:0]
    assert accused(lines) == [7] and "silence" in kinds(lines, 7)


def test_a_rank_that_prints_no_more_while_the_job_goes_on() -> None:
    lines = [*steps(EIGHT, 40, skip={5: 18}), said(0, "training completed: 40 steps", 40, stage="teardown")]
    found = told(lines)
    assert found.blame.accused == (5,) and found.outcome == "completed" and abs(found.verdict.iteration - 18) <= 1


def test_the_rank_that_ran_ahead_skipped_a_collective() -> None:
    lines = [*steps(EIGHT, 9), said(4, "metrics reduction skipped (step 10)", 10, level=Level.DEBUG)]
    lines += [said(4, "step 10 local loss 2.5 data 3.1 forward 40.1", 10, marked=True)]
    lines += [x for r in EIGHT for x in timed_out(r, 11 if r == 4 else 10)]
    found = told(lines)
    assert found.blame.accused == (4,)
    assert "metrics reduction skipped" in found.case.journal.text(found.events[0].rows[0])


def test_the_rank_whose_stack_stood_elsewhere() -> None:
    lines = steps(EIGHT, 8) + [x for r in EIGHT if r != 3 for x in timed_out(r, 9)]
    lines += timed_out(3, 9, frames=("train.py:61 in main", "comm.py:50 in reduce_metrics"))
    assert accused(lines) == [3] and "progress_gap" in kinds(lines, 3)


def test_two_ranks_have_no_majority() -> None:
    lines = steps(range(2), 8) + timed_out(0, 9) + timed_out(1, 9, frames=("train.py:61 in main", "comm.py:50 in sync"))
    assert told(lines, 2).blame.scope == "none"


def watchdog(rank: int, seq: int, enqueued: int, completed: int, op: str = "ALLREDUCE") -> list[Said]:
    timeout = (
        f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600013 milliseconds"
    )
    status = f"PG status: last enqueued work: {enqueued}, last completed work: {completed}"
    return [
        said(rank, f"[Rank {rank}] Watchdog caught collective operation timeout: {timeout}", 10, level=Level.ERROR),
        said(rank, f"failure detected by watchdog at work sequence id: {seq} {status}", 10, level=Level.ERROR),
    ]


@pytest.mark.parametrize(
    "odd", [(802, 802, 801), (811, 803, 803), (811, 812, 810, "BROADCAST")], ids=["behind", "idle", "other operation"]
)
def test_counters_of_collectives(odd: tuple[int, int, int]) -> None:
    lines = steps(EIGHT, 9) + [x for r in EIGHT for x in watchdog(r, *(odd if r == 6 else (811, 815, 810)))]
    assert accused(lines) == [6]


def test_the_minority_fingerprint() -> None:
    def mismatch(rank: int, op: str, other: int, other_op: str) -> list[Said]:
        one, two = (f"CollectiveFingerPrint(SequenceNumber=12, OpType={o}, TensorShape=[1])" for o in (op, other_op))
        head = "RuntimeError: Detected mismatch between collectives on ranks. Rank"
        return raised(
            rank, f"{head} {rank} is running collective: {one}, but Rank {other} is running collective: {two}.", 10
        )

    lines = steps(EIGHT, 9) + [x for r in (0, 1, 2) for x in mismatch(r, "ALLGATHER", 6, "REDUCE")]
    assert accused(lines) == [6]


def test_nan_on_one_rank_before_all() -> None:
    lines = steps(EIGHT, 9)
    lines += [
        said(r, f"step 10 local loss {'nan' if r == 2 else '2.51'} data 3.1 forward 40.1", 10, marked=True)
        for r in EIGHT
    ]
    lines += [said(r, "step 11 local loss nan data 3.1 forward 40.1", 11, marked=True) for r in EIGHT]
    found = told(lines)
    assert found.blame.accused == (2,) and found.verdict.cause == "numerics" and found.verdict.iteration == 10


def test_nan_on_all_ranks_at_once_accuses_nobody() -> None:
    lines = steps(EIGHT, 9)
    lines += [said(r, "step 10 local loss nan data 3.1 forward 40.1", 10, marked=True) for r in EIGHT]
    found = told(lines)
    assert found.blame.scope == "job" and not found.blame.ranks


def test_a_loss_that_jumps_accuses_nobody() -> None:
    def loss(step: int) -> float:
        return 2.5 + 0.01 * (step % 3) if step < 20 else 300.0 + step

    lines = [said(0, f"step {n}/40 | loss {loss(n):.4f} | lr 0.1", n, marked=True) for n in range(1, 30)]
    found = told(lines)
    assert found.blame.scope == "job" and abs(found.verdict.iteration - 20) <= 1


def test_a_straggler_is_slow_before_the_collective() -> None:
    lines = []
    for n in range(1, 40):
        for r in EIGHT:
            slow = r == 5 and n >= 25
            waits = r != 5 and n >= 25
            times = f"data {4 + n * r % 3}.0 forward {520 if slow else 110}.5 backward {650 if waits else 240}.1"
            lines.append(said(r, f"step {n} loss 2.5, times ms: {times}", n, marked=True))
    found = told(lines)
    assert found.blame.accused == (5,) and found.verdict.iteration == 25 and found.verdict.cause == "straggler"


def test_a_version_that_only_one_node_warns_of() -> None:
    warn = "fused_attn 2.4.0 is installed but this build expects 2.6.1, falling back to the eager path"
    lines = [said(r, "building model", stage="model_build") for r in EIGHT]
    lines += [said(r, warn, stage="model_build", level=Level.WARNING) for r in (4, 5, 6, 7)]
    lines += [*steps(EIGHT, 9), said(0, "training completed: 9 steps", 9, stage="teardown")]
    found = told(lines)
    assert found.blame.accused == (4, 5, 6, 7) and (found.verdict.stage, found.verdict.cause) == (
        "model_build",
        "version",
    )


def test_retries_of_one_node() -> None:
    lines = steps(EIGHT, 9)
    for n in range(10, 20):
        lines += [
            said(r, f"GET s_{n}.bin failed with status 503 (attempt 2/5), retrying", n, level=Level.WARNING)
            for r in (4, 5, 6, 7)
        ]
        lines += steps(EIGHT, n, first=n)
    found = told(lines)
    assert found.blame.accused == (4, 5, 6, 7) and abs(found.verdict.iteration - 10) <= 1


def test_one_noisy_rank_is_innocent() -> None:
    lines = []
    for n in range(1, 30):
        lines += steps(EIGHT, n, first=n)
        lines += [
            said(
                2, f"failed to read power sensor {n % 4}: [Errno 5] Input/output error, ignoring", n, level=Level.ERROR
            )
        ]
    assert told(lines).blame.scope == "none"


def test_votes_for_a_peer_and_a_port_event_on_it() -> None:
    lines = [said(r, f"NCCL INFO Bootstrap : Using eth0:10.0.0.{r // 4}<0>", stage="init") for r in EIGHT]
    lines += [
        *steps(EIGHT, 9),
        said(5, "NCCL WARN NET/IB : mlx5_0:1 Got async event : port error", 10, level=Level.WARNING),
    ]
    text = (
        "NCCL WARN NET/IB : Got completion from peer 10.0.0.1<4000> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    )
    lines += [said(r, text, 10, level=Level.WARNING) for r in (0, 1, 2, 3)]
    found = told(lines)
    assert found.blame.accused == (5,) and found.blame.nodes[0].node == "n1"


def test_a_node_that_never_joined() -> None:
    text = "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 4/8 clients joined."
    lines = [said(r, "initializing distributed", stage="init") for r in range(4)]
    lines += [x for r in range(4) for x in raised(r, text, stage="init")]
    found = told(lines)
    assert found.blame.accused == (4, 5, 6, 7) and found.verdict.stage == "init"


def test_a_node_whose_log_just_stops() -> None:
    lines = steps(range(12), 9) + [x for r in range(8) for x in closed(r, 10)]
    lines += [launcher(f"failed (exitcode: 1) local_rank: 0 (pid: {n})", node=f"n{n}") for n in (0, 1)]
    assert accused(lines, 12) == [8, 9, 10, 11]


def test_whose_first_words_are_that_it_gave_up_had_waited() -> None:
    """In one file of all ranks the first to give up stands before what others say of the same."""
    hello = [said(r, f"initializing distributed: rank {r} of 8", stage="init") for r in range(3)]
    text = "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined."
    gave_up = [said(r, text, stage="init", level=Level.ERROR) for r in range(7)]
    assert accused([*hello, *gave_up], 8) == [7]
