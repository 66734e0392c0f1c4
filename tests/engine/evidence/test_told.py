"""Words about others: what a line says of a rank or node, what takes it back, how a launcher tells an end."""

from __future__ import annotations

import pytest

from l4tui.engine.evidence.record import Said
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import accused, closed, launcher, said, steps, told

EIGHT = range(8)


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
