"""How a rank ends by itself: aborts that nobody else caused, exceptions inside records, errors that no rank owns."""

from __future__ import annotations

from l4tui.engine.diagnosis import diagnose
from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.library.matching import raised_in
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import LIBRARY, accused, closed, launcher, said, steps, timed_out, told

EIGHT = range(8)
MISMATCH = "  what():  [enforce fail at gloo/pair.cc:456] op.preamble.length <= op.nbytes. 5208 vs 4. Received data"


def table(rank: int, code: int, pid: int, node: str) -> list[Said]:
    """Write what torchrun's agent says of the rank that failed first on its node."""
    signal = f"Signal {-code} (SIGABRT) received by PID {pid}" if code < 0 else "To enable traceback see: https://x"
    lines = [
        f"failed (exitcode: {code}) local_rank: {rank % 4} (pid: {pid}) of binary: /usr/bin/python",
        "Root Cause (first observed failure):",
        "[0]:",
        f"  host      : {node}",
        f"  rank      : {rank} (local_rank: {rank % 4})",
        f"  exitcode  : {code} (pid: {pid})",
        f"  traceback : {signal}",
    ]
    return [launcher(line, node) for line in lines]


def test_an_abort_without_a_word_why_is_the_ranks_own() -> None:
    lines = [*steps(EIGHT, 30), *(x for r in EIGHT if r != 5 for x in closed(r, 30))]
    found = told([*lines, *table(5, -6, 905, "n1"), *table(0, 1, 900, "n0")])
    assert found.blame.accused == (5,)
    assert found.verdict.cause == "crash"


def test_who_tells_of_lost_peers_before_it_aborts_is_a_victim() -> None:
    lines = [x for x in steps(EIGHT, 30) if x.rank != 2 or x.iteration < 26]
    lines += [x for r in EIGHT if r != 2 for x in timed_out(r, 30)]
    assert accused([*lines, *table(5, -6, 905, "n1"), *table(0, 1, 900, "n0")]) == [2]


def test_an_untagged_report_is_of_the_one_rank_of_the_node_that_aborted() -> None:
    """The culprit ran one collective ahead: it told its step when nobody else did."""
    lines = [*steps(EIGHT, 30), *steps([2], 31, first=31)]
    lines += [x for r in EIGHT if r != 5 for x in closed(r, 30)]
    lines += [Said(MISMATCH, node="n1", source="n1.log", level=Level.ERROR, stage=4, iteration=30)]
    assert accused([*lines, *table(5, -6, 905, "n1"), *table(0, 1, 900, "n0")]) == [2]


def test_an_error_of_its_own_explains_an_abort() -> None:
    lines = [*steps(EIGHT, 30), *(x for r in EIGHT if r != 5 for x in closed(r, 30))]
    lines.append(said(5, "CUDA error: uncorrectable ECC error encountered", 30, level=Level.ERROR))
    found = told([*lines, *table(5, -6, 905, "n1")])
    assert found.blame.accused == (5,)
    assert found.blame.lead is not None and found.blame.lead.kind != "explicit_blame"


HEAD = "Traceback (most recent call last):\\n"
FRAME = '  File \\"/srv/t.py\\", line 9, in evaluate\\n    x = self.read(k)\\n'
RECORD = f'uncaught", "host": "n1", "exception": "{HEAD}{FRAME}ValueError: record \\"k7\\": checksum differs"}}'


def test_the_exception_of_a_traceback_in_a_field() -> None:
    assert raised_in(RECORD) == 'ValueError: record "k7": checksum differs'
    chained = "\\nDuring handling of the above exception, another exception occurred:\\n\\n"
    text = f'at", "exc": "{HEAD}{FRAME}KeyError: 1\\n{chained}{HEAD}{FRAME}OSError: 2", "x": 1'
    assert raised_in(text) == "OSError: 2"
    assert raised_in("Traceback (most recent call last):") == raised_in("step 3") == ""


def test_a_record_that_holds_the_traceback_accuses_its_writer() -> None:
    lines = [*steps(EIGHT, 30), said(5, RECORD, 30, level=Level.FATAL)]
    found = told([*lines, *(x for r in EIGHT if r != 5 for x in closed(r, 30))])
    assert found.blame.accused == (5,)
    assert found.verdict.stage == "eval"
    assert "checksum differs" in found.verdict.summary


def test_what_a_rank_says_of_its_own_values_is_shown() -> None:
    lines = []
    for n in range(1, 40):
        for r in EIGHT:
            bad = r == 5 and n >= 20
            if bad:
                lines.append(said(5, f"non-finite loss at step {n}, gradient dropped", n, level=Level.WARNING))
            lines.append(said(r, f"step {n} loss {'nan' if bad else f'2.{n:03d}'} lr 0.1", n, marked=True))
    found = told(lines)
    assert found.blame.accused == (5,)
    shown = [e for e in found.events if e.role == "initiating"]
    assert any(e.count == 20 for e in shown)


def test_an_error_without_an_owner_is_of_the_one_that_reported_nothing() -> None:
    lines = [*steps(EIGHT, 30), Said("Exception in thread prefetch:", source="job"), Said("OSError: 11", source="job")]
    found = told([*lines, *(x for r in EIGHT if r != 5 for x in timed_out(r, 30))])
    assert found.blame.accused == (5,)
    assert any(e.role == "initiating" and e.pattern == "python.exception" for e in found.events)


def test_who_was_killed_ended_in_the_iteration_that_nobody_finished() -> None:
    lines = [said(r, "process up, reading the corpus", -1) for r in EIGHT]
    bars = [said(0, f" 10%|#  | {n}/90 [00:01<00:05, 9.1it/s]", n, marked=True) for n in range(1, 34)]
    end = launcher("srun: error: n1: task 5: Killed", "n1")
    late = bars[29:]
    found = told([*lines, *bars[:29], *(x for r in (0, 1, 6) for x in closed(r, 29)), end, *late])
    assert found.blame.accused == (5,)
    assert found.verdict.iteration == 34


def test_the_rank_that_the_launcher_saw_fail_met_its_nodes_error() -> None:
    """Nobody owns the error; the scheduler's tasks are the two nodes' launchers."""
    error = "ModuleNotFoundError: No module named 'kernels'"
    text = ("Traceback (most recent call last):", '  File "t.py", line 3, in main', error)
    lines = [Said(x, node="n0", stage=0) for x in text]
    lines += [*table(2, 1, 902, "n0"), *table(4, 1, 904, "n1")]
    lines += [launcher(f"srun: error: n{k}: task {k}: Exited with exit code 1", f"n{k}") for k in (0, 1)]
    found = told(lines)
    assert [c.rank for c in found.blame.ranks] == [2]
    assert found.blame.nodes[0].node == "n0"


def test_a_rank_that_nobody_places_is_beside_those_of_its_source() -> None:
    lines = [x for x in steps(EIGHT, 30) if x.rank != 2 or x.iteration < 26]
    lines = [x._replace(node=None, source=f"run-{'ab'[x.rank // 4]}") for x in lines]
    lines += [x._replace(node=None) for r in EIGHT if r != 2 for x in timed_out(r, 30)]
    for r in (0, 5):
        lines += [x._replace(node=None) for x in table(r, 1, 900 + r, f"n{r // 4}")]
    found = diagnose(journal_of(lines, world_size=8), LIBRARY)
    assert found.blame.accused == (2,)
    assert found.blame.nodes[0].node == "n0"


def test_a_feeder_that_takes_long_is_work() -> None:
    lines = []
    for n in range(1, 40):
        for r in EIGHT:
            feed = (130 if r == 3 and n >= 15 else 5) + (n * 7 + r) % 3
            text = f"Iteration {n}, loss = 2.1, feed {feed}.0 ms, sync {140 - feed}.0 ms"
            lines.append(said(r, text, n, marked=True))
    assert accused(lines) == [3]


def test_tasks_that_the_scheduler_terminated_were_told_to_stop() -> None:
    end = ["slurmstepd: error: *** STEP 91.0 ON n0 CANCELLED AT 2026-01-19T07:42:44 ***"]
    end += ["srun: error: n0: tasks 0,1,2,3: Terminated", "srun: error: n1: tasks 4,5,6,7: Terminated"]
    found = told([*steps(EIGHT, 30), *map(launcher, end)])
    assert found.blame.accused == ()
    assert (found.verdict.cause, found.verdict.stage, found.verdict.iteration) == ("scheduler", "train", 31)
    first = [end[1].replace("tasks 0,1,2,3: Terminated", "task 2: Exited with exit code 3"), end[0], end[2]]
    assert told([*steps(EIGHT, 30), *map(launcher, first)]).verdict.cause != "scheduler"
