"""What was taken back is no failure: a file server that answers again, a rank that always writes now and then."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4tui.engine.discovery import discover
from l4tui.engine.evidence.from_snapshot import journal_from
from l4tui.engine.evidence.record import Said
from l4tui.engine.job import Job
from l4tui.engine.library.matching import scan
from l4tui.engine.library.pattern import Role
from l4tui.engine.model import Level
from l4tui.engine.roles import sight
from tests.engine.evidence.jobs import LIBRARY, accused, launcher, said, steps, told


def roles_in(folder: Path, text: str) -> set[Role]:
    """Read a log; return the roles of the errors that rank 3 raised."""
    (folder / "job.log").write_text(text)
    job = Job(discover([str(folder / "job.log")]).whole().sources)
    job.read_all()
    journal = journal_from(job.snapshot())
    found = {s.role for s in sight(journal, scan(journal, LIBRARY).hits) if s.rank == 3}
    job.close()
    return found


TRACEBACK = """[rank3]: Traceback (most recent call last):
[rank3]:   File "/w/train.py", line 45, in train_step
[rank3]:     os.replace(a, b)
[rank3]: FileNotFoundError: [Errno 2] No such file or directory: '/home/u/.cache/x.tmp'
"""


@pytest.mark.parametrize(("seconds", "role"), [(0, Role.CONTEXT), (44, Role.INITIATING)])
def test_what_a_logger_calls_survived_is_the_traceback_that_it_prints(
    tmp_path: Path, seconds: int, role: Role
) -> None:
    head = "".join(f"[rank{r}]: 2026-05-02 10:00:0{r},100 INFO step 1 loss 2.5\n" for r in range(4))
    head += "[rank3]: 2026-05-02 10:00:10,100 ERROR config 3 failed, falling back to the next one\n"
    others = f"[rank0]: 2026-05-02 10:00:{10 + seconds},100 INFO step 2 loss 2.4\n" if seconds else ""
    assert roles_in(tmp_path, head + others + TRACEBACK) == {role}


def test_a_file_server_that_answers_again_failed_nothing() -> None:
    asked = said(5, "nfs: server nas1 not responding, still trying", 8, level=Level.WARNING)
    answers = said(5, "nfs: server nas1 OK", 8)
    assert told([*steps(range(8), 20), asked, answers]).outcome == "running"
    assert told([*steps(range(8), 20), asked]).outcome == "failed"


@pytest.mark.parametrize(("last", "ranks"), [(32, []), (12, [5])])
def test_who_writes_now_and_then_is_missed_after_a_longer_time(last: int, ranks: list[int]) -> None:
    lines = [x for x in steps(range(8), 40) if x.rank != 5 or (x.iteration <= last and x.iteration % 10 < 3)]
    assert accused(lines) == ranks


@pytest.mark.parametrize(("gap", "ranks"), [(0, []), (60, [5])], ids=["it may be about to", "silent since long"])
def test_who_lacks_a_warning_that_others_write_just_now(gap: int, ranks: list[int]) -> None:
    lines = [said(r, f"device of rank {r} is ready", 1) for r in range(8)]
    warned = [said(r, "guessing the device of the barrier", 1 + gap, level=Level.WARNING) for r in range(8) if r != 5]
    assert accused([*lines, *warned]) == ranks


def test_one_crash_whose_rank_a_launcher_names_is_not_the_whole_job() -> None:
    crash = Said("*** SIGSEGV (@0x10) received by PID 11 (TID 11) on cpu 3; stack trace: ***", level=Level.ERROR)
    assert accused([crash, launcher("task 0 failed: exit 139 (SIGSEGV)")]) == [0]
    assert told([crash]).blame.scope == "job"
