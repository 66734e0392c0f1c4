"""Words about others: what a line says of a rank or node, what takes it back, how a launcher tells an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4tui.demo.writing import write
from l4tui.engine.appraisal import appraise
from l4tui.engine.diagnosis import diagnose
from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.homes import spell
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import LIBRARY, accused, closed, launcher, raised, said, steps, timed_out, told
from tests.engine.small_jobs import read

EIGHT = range(8)
UNOWNED = [
    Said(t)
    for t in ("Traceback (most recent call last):", '  File "/w/t.py", line 3, in f', "    f()", "ValueError: bad")
]


@pytest.mark.parametrize(
    "text",
    [
        "monitor: rank 5 has not responded for 300 s",
        "supervisor: task 5 was marked dead",
        "agent: failure detected on rank 5",
    ],
)
def test_what_a_line_says_of_a_rank_counts_where_nobody_else_is_accused(text: str) -> None:
    lines = [*steps(EIGHT, 9), *closed(2, 10), *closed(7, 10), launcher(text)]
    assert accused(lines) == [5]


def test_what_a_rank_raised_itself_weighs_more_than_what_is_said_of_another() -> None:
    lines = steps(EIGHT, 9)
    lines += [said(3, "ValueError: record 7 is cut short", 10, level=Level.ERROR)]
    lines += [launcher("agent: rank 1 is not responding")]
    assert accused(lines) == [3]


def test_a_rank_that_went_on_was_not_lost() -> None:
    lines = [*steps(EIGHT, 9), launcher("monitor: rank 5 is not responding"), *steps(EIGHT, 20, first=10)]
    assert told(lines).blame.scope == "none"


def test_a_line_that_takes_itself_back_accuses_nobody() -> None:
    lines = [*steps(EIGHT, 9), launcher("monitor: rank 5 is not reachable, retrying in 5 s")]
    assert told(lines).blame.scope == "none"


def test_a_slow_card_ends_no_job() -> None:
    lines = [*steps(EIGHT, 9), said(3, "nvml: clocks throttled, thermal", 9, level=Level.WARNING)]
    assert told([*lines, *steps(EIGHT, 12, first=10)]).outcome == "running"


def block(rank: int, end: str) -> list[Said]:
    head = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
    return [launcher(t) for t in (head, f"=   RANK {rank} PID 80{rank} RUNNING AT n{rank // 4}", f"=   {end}")]


def test_mpiexec_tells_a_signal_below_the_process() -> None:
    lines = steps(EIGHT, 9) + block(6, "KILLED BY SIGNAL: 9 (Killed)") + block(0, "KILLED BY SIGNAL: 15 (Terminated)")
    assert accused(lines) == [6]


def test_whom_mpiexec_killed_beside_a_crash_is_innocent() -> None:
    lines = steps(EIGHT, 9)
    for rank in EIGHT[:4]:
        lines += block(
            rank, "KILLED BY SIGNAL: 11 (Segmentation fault)" if rank == 2 else "KILLED BY SIGNAL: 9 (Killed)"
        )
    assert accused(lines) == [2]


def test_an_exit_that_mpiexec_tells_is_no_signal() -> None:
    lines = steps(EIGHT, 9) + block(6, "EXIT CODE: 1")
    assert accused(lines) != [6] or told(lines).verdict.cause != "killed"


def test_an_error_that_no_entry_knows_counts_where_it_is_a_ranks_last_word() -> None:
    lines = [*steps(EIGHT, 9), said(5, "cannot make sense of sample 812", 10, level=Level.ERROR)]
    lines += [*closed(2, 10), *closed(7, 10), *closed(0, 10)]
    assert accused(lines) == [5]


def test_an_error_after_which_the_rank_went_on_is_nobodys_last_word() -> None:
    lines = [*steps(EIGHT, 9), said(5, "cannot make sense of sample 812", 10, level=Level.ERROR)]
    lines += [*steps(EIGHT, 14, first=10), *closed(2, 15), *closed(7, 15), *closed(0, 15)]
    assert 5 not in accused(lines)


def test_the_one_that_ended_by_an_error_raised_what_no_rank_owns() -> None:
    lines = [*steps(EIGHT, 9), *closed(0, 10), *closed(1, 10), launcher("Rank 5 crashed with exit code 1")]
    assert accused([*lines, *UNOWNED]) == [5]


def test_of_two_that_ended_by_errors_none_is_known_to_have_raised() -> None:
    ends = [launcher(f"Rank {r} crashed with exit code 1") for r in (5, 6)]
    lines = [*steps(EIGHT, 9), *closed(0, 10), *closed(4, 10)]
    assert accused([*lines, *ends, *UNOWNED]) == []


def test_the_machine_explains_what_its_rank_did_last() -> None:
    lines = [*steps(EIGHT, 9), said(5, "prefetch depth 2", 10)]
    lines += [x for r in EIGHT if r != 5 for x in timed_out(r, 10)]
    lines += [Said("NVRM: Xid (PCI:0000:ab:00): 79, pid=5, GPU has fallen off the bus", node="n1", level=Level.ERROR)]
    found = told(lines)
    starts = [lines[row].text for e in found.events if e.role == "initiating" for row in e.rows]
    assert found.blame.accused == (5,) and [t[:4] for t in starts] == ["NVRM"]


def test_a_node_that_never_came_has_the_ranks_of_its_place_in_the_list() -> None:
    lines = [Said("SLURM_JOB_NODELIST=n[0-3]", launcher=True)]
    lines += [launcher("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", f"n{k}") for k in (0, 1, 3)]
    found = diagnose(journal_of(lines, world_size=16), LIBRARY)
    assert [c.node for c in found.blame.nodes] == ["n2"] and [c.rank for c in found.blame.ranks] == [8, 9, 10, 11]


def test_names_of_nodes_as_schedulers_write_them() -> None:
    assert spell("gpu[01-03,7],cn4 n5.local") == ("gpu01", "gpu02", "gpu03", "gpu7", "cn4", "n5.local")


def test_a_node_called_unhealthy_while_the_job_goes_on_is_well() -> None:
    lines = [*steps(EIGHT, 9), launcher("node n7 reported unhealthy by the old probe"), *steps(EIGHT, 20, first=10)]
    assert told(lines).blame.scope == "none"


def test_a_node_called_unhealthy_at_the_end_is_accused() -> None:
    lines = [*steps(EIGHT, 9), launcher("operator: node n1 is unreachable"), *closed(0, 10), *closed(2, 10)]
    assert accused(lines) == [4, 5, 6, 7]


def test_where_a_rank_waited_is_told_by_the_file_in_which_it_says_so() -> None:
    lines = steps(EIGHT, 9)
    for r in EIGHT:
        lines += [x._replace(source=f"{r}.err") for x in timed_out(r, 10)] if r != 5 else []
    frames = ("trainer.py:143 in noise",)
    lines += [x._replace(source="2.out") for x in raised(2, "OSError: profile not written", 3, frames=frames)]
    assert 2 not in accused(lines)


COLLECTIVE = ("train.py:61 in main", "venv/torch/distributed/distributed_c10d.py:2501 in all_reduce")


def test_an_unknown_error_inside_a_collective_weighs_less_than_one_outside() -> None:
    lines = steps(EIGHT, 9)
    for r in (0, 2):
        lines += raised(r, "XcclError: operation ended with status 7", 10, frames=COLLECTIVE)
    assert accused([*lines, *raised(5, "IndexError: list index out of range", 10)]) == [5]


def test_the_odd_one_of_errors_that_no_entry_knows_is_told_though_most_ranks_raised() -> None:
    lines = steps(EIGHT, 9)
    for r in EIGHT:
        error = "MeshError: member left the mesh" if r != 5 else "KeyError: 'image'"
        lines += raised(r, error, 10)
    assert accused(lines) == [5]


def test_one_error_in_several_wordings_is_everybodys() -> None:
    lines = steps(EIGHT, 9)
    for r in EIGHT:
        lines += raised(r, f"KeyError: {'one' if r != 5 else 'an other'}", 10)
    assert told(lines).blame.scope == "job"


def test_an_error_inside_a_collective_counts_where_there_is_no_other() -> None:
    lines = [*steps(EIGHT, 9), *closed(2, 10), *closed(7, 10)]
    assert accused([*lines, *raised(5, "ValueError: tensors differ in size", 10, frames=COLLECTIVE)]) == [5]


def test_who_left_an_epoch_for_its_evaluation_was_at_its_end() -> None:
    def marks(world: int) -> list[Said]:
        every = range(10, 41, 10)
        ends = {r: 44 if r == 2 else 60 for r in range(world)}
        return [said(r, f"train {n}/{ends[r]} loss 2.{r}", n, marked=True) for n in every for r in range(world)]

    lines = [*marks(4), said(2, "Validate epoch: 1", 40, stage="eval")]
    case = told(lines, 4).case
    assert (case.iteration_of(2), case.iteration_of(1)) == (44, 41)


CALLED, STATUS = "subprocess.CalledProcessError", "returned non-zero exit status 255."


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: Using hostfile at /job/hostfile but host=n7 was not reachable via ssh. Set up ssh first.",
        f"{CALLED}: Command 'ssh -o PasswordAuthentication=no n7 hostname' {STATUS}",
        f"{CALLED}: Command '['ssh', '-p', '22', 'n7', 'hostname']' {STATUS}",
    ],
)
def test_a_host_that_no_login_reaches_is_accused(text: str) -> None:
    found = told([Said("starting", launcher=True), Said(text, launcher=True, level=Level.ERROR)])
    assert [c.node for c in found.blame.nodes] == ["n7"]


def test_nodes_are_compared_where_ranks_only_introduced_themselves() -> None:
    nodes = {f"h{k}": [k] for k in range(4)}
    lines = [Said(f"rank {k}/4 listens", k, node=f"h{k}") for k in range(4)]
    lines += [Said(f"step {n} loss 2.{k}", node=f"h{k}", iteration=n, marked=True) for n in range(9) for k in range(4)]
    lost = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.9]:1936."
    lines += [Said(lost, node=f"h{k}", level=Level.ERROR) for k in (0, 1, 3)]
    found = diagnose(journal_of(lines, world_size=4, node_ranks=nodes), LIBRARY)
    assert [c.node for c in found.blame.nodes] == ["h2"] and [c.rank for c in found.blame.ranks] == [2]


def test_who_is_told_to_be_behind_is_not_joined_by_those_that_were_ended_before_they_warned(tmp_path: Path) -> None:
    write(tmp_path / "job", "hang-collective", ranks=64, nodes=8, seed=7)
    found = appraise(read(tmp_path / "job").snapshot(), LIBRARY)
    assert found.ranks[0].rank == 9
    assert "silence" not in {reason.kind for suspect in found.ranks for reason in suspect.reasons}
