"""Texts of several processes in one stream: told from each other, named where something names them, else unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4tui.engine.model import Kind
from l4tui.engine.snapshot import Snapshot
from tests.engine.reading import files_ranks, ranks_of
from tests.engine.small_jobs import Growing, read

TB = "Traceback (most recent call last):"
WHO = [f"rank={r} world_size=3 pid={70 + r} starts" for r in range(3)]


def frame(line: int) -> str:
    return f'  File "/srv/t.py", line {line}, in f{line}'


def code(line: int) -> str:
    return f"    call_{'abcdefghij'[line]}(x)"


def error(rank: int) -> str:
    return f"torch.distributed.DistBackendError: NCCL communicator was aborted on rank {rank}. "


def woven(tmp_path: Path, lines: list[str]) -> list[int | None]:
    return ranks_of(tmp_path, [*WHO, *lines])[len(WHO) :]


def test_one_traceback_is_its_errors(tmp_path: Path) -> None:
    assert woven(tmp_path, [TB, frame(1), code(1), error(2)]) == [2, 2, 2, 2]


def test_a_traceback_whose_end_names_nobody_is_unknown(tmp_path: Path) -> None:
    assert woven(tmp_path, [TB, frame(1), code(1), "ValueError: bad"]) == [None] * 4


def test_the_error_of_another_time_names_no_other_traceback(tmp_path: Path) -> None:
    lines = [TB, frame(1), code(1), "ValueError: bad", error(1), TB, frame(1), code(1), error(2)]
    assert woven(tmp_path, lines) == [None] * 4 + [1, 2, 2, 2, 2]


def test_lines_that_only_one_traceback_waits_for(tmp_path: Path) -> None:
    lines = [TB, frame(1), code(1), frame(2), TB, code(2), error(2), frame(1), code(1), error(1)]
    assert woven(tmp_path, lines) == [2, 2, 2, 2, 1, 2, 2, 1, 1, 1]


def test_lines_that_both_wait_for_are_unknown_until_it_is_settled(tmp_path: Path) -> None:
    lines = [TB, TB, frame(1), frame(1), code(1), code(1), error(1), error(2)]
    got = woven(tmp_path, lines)
    assert got[:4] == [None] * 4 and got[6:] == [1, 2]
    assert None in got[4:6] or got[4:6] == [1, 2]


def test_after_a_muddle_the_line_behind_a_frame_is_its_own(tmp_path: Path) -> None:
    lines = [TB, TB, frame(1), code(1), frame(1), code(1), frame(2), frame(3), code(2), error(2), code(3), error(1)]
    got = woven(tmp_path, lines)
    assert (got[0] is None and got[8:] == [None, 2, 1, 1]) or got[8:] == [2, 2, 1, 1]


def test_a_source_line_stands_under_its_own_frame(tmp_path: Path) -> None:
    first = [TB, frame(1), code(1), frame(2), code(2), error(0)]  # teaches which line is whose
    lines = [*first, TB, frame(1), code(1), frame(2), TB, frame(1), code(2), error(2), code(1), error(1)]
    assert woven(tmp_path, lines) == [0] * 6 + [2, 2, 2, 2, 1, 1, 2, 2, 1, 1]


def test_a_statement_of_several_lines_is_not_anothers(tmp_path: Path) -> None:
    lines = [TB, frame(1), TB, frame(2), "    call_c(x,", "           y)", error(1), error(2)]
    got = woven(tmp_path, lines)
    assert got[4:] == [None, None, 1, 2]


def logged(rank: int, text: str, level: str = "ERROR") -> str:
    return f"2026-03-01 10:00:0{rank},000 - {level} - [Rank {rank}] {text}"


def test_the_traceback_below_a_logged_exception(tmp_path: Path) -> None:
    lines = [logged(1, "Unhandled exception, leaving"), TB, frame(1), code(1), "ValueError: bad"]
    assert woven(tmp_path, lines) == [1] * 5
    lines = [logged(2, "trace export failed, continuing"), TB, frame(1), code(1), "OSError: bad", logged(0, "step 4")]
    assert woven(tmp_path, lines) == [2] * 5 + [0]


def test_an_error_that_promises_no_traceback_names_none(tmp_path: Path) -> None:
    lines = [logged(1, "loss is nan"), TB, frame(1), code(1), "ValueError: bad"]
    assert woven(tmp_path, lines) == [1] + [None] * 4
    lines = [logged(1, "Unhandled exception"), logged(2, "step 4"), TB, frame(1), code(1), "ValueError: bad"]
    assert woven(tmp_path, lines) == [1, 2] + [None] * 4


def test_two_logged_exceptions_woven_into_each_other(tmp_path: Path) -> None:
    first, second = logged(1, "Unhandled exception"), logged(2, "Unhandled exception")
    lines = [first, TB, frame(1), second, TB, code(1), frame(2), frame(1), code(1), "ValueError: bad"]
    got = woven(tmp_path, lines)
    assert got[:6] == [1, 1, 1, 2, 2, 1]
    assert all(rank in (wanted, None) for rank, wanted in zip(got[6:], [1, 2, 2, 2], strict=True))


def test_values_drawn_below_the_source_lines(tmp_path: Path) -> None:
    drawn = ["    │     └ 3", "    └ tensor([[1.0, 2.0,", "              [3.0, 4.0]])", ""]
    lines = [logged(1, "Unhandled exception"), TB, "", '> File "/srv/t.py", line 1, in f1', code(1), *drawn]
    lines += [frame(2), code(2), *drawn, "ValueError: bad"]
    got = woven(tmp_path, lines)
    assert [rank for line, rank in zip(lines, got, strict=True) if line] == [1] * sum(line != "" for line in lines)


def test_a_logged_exception_of_a_process(tmp_path: Path) -> None:
    lines = [f"E0301 10:00:01.000000 {70 + r} t.py:5] uncaught exception" for r in (1, 2)]
    text = [TB, frame(1), code(1), "ValueError: bad"]
    told = [f"rank {r} starts on n1, local rank {r}, pid {70 + r}, restart 0" for r in range(3)]
    assert ranks_of(tmp_path, [*told, lines[0], *text, lines[1], *text])[3:] == [1] * 5 + [2] * 5


def head(rank: int, text: str) -> str:
    return f"[rank{rank}]:[E314 12:03:04.794018139 ProcessGroupNCCL.cpp:1899] [PG ID 1 PG GUID 1 Rank {rank}] {text}"


def dying(rank: int) -> str:
    return f"Process group watchdog thread terminated with exception: [Rank {rank}] Watchdog caught a timeout"


RAISED = "Exception raised from checkTimeout at /src/ProcessGroupNCCL.cpp:635 (most recent call first):"
TERMINATE = "terminate called after throwing an instance of 'c10::DistBackendError'"


def frames(n: int) -> list[str]:
    return [f"frame #{k}: c10d::f{'abcdef'[k]}() + 0x9d (0x7f00 in /lib/libtorch.so)" for k in range(n)]


def test_what_repeats_the_tagged_message(tmp_path: Path) -> None:
    what = f"  what():  [PG ID 1 PG GUID 1 Rank 2] {dying(2)}"
    lines = [head(2, dying(2)), RAISED, *frames(2), "", head(1, dying(1)), TERMINATE, what, "text"]
    got = ranks_of(tmp_path, lines)
    assert got[:5] == [2] * 5 and got[5] == 1 and got[7:] == [2, None]


def test_what_that_two_ranks_logged_names_nobody(tmp_path: Path) -> None:
    same = "Process group watchdog thread terminated with exception: CUDA error"
    lines = [head(1, same), head(2, same), TERMINATE, f"  what():  [PG ID 1 PG GUID 1 Rank 2] {same}"]
    assert ranks_of(tmp_path, lines)[3] is None


def test_frames_of_three_ranks_by_their_numbers(tmp_path: Path) -> None:
    a, b = frames(3), frames(3)
    lines = [head(1, dying(1)), RAISED, a[0], a[1], head(2, dying(2)), RAISED, b[0], a[2], b[1], b[2], "", TERMINATE]
    assert ranks_of(tmp_path, lines) == [1, 1, 1, 1, 2, 2, 2, 1, 2, 2, None, None]


def test_a_warning_with_frames_does_not_terminate(tmp_path: Path) -> None:
    warning = "[rank1]:[W314 12:03:04.79 TCPStore.cpp:115] recvVector failed on SocketImpl(fd=60)"
    assert ranks_of(tmp_path, [warning, RAISED, *frames(2), "", TERMINATE]) == [1, 1, 1, 1, 1, None]


def test_an_abort_in_the_lines_of_one_seat(tmp_path: Path) -> None:
    init = [f"[default{r % 2}]:| distributed init (rank {r}): env://, gpu {r % 2}" for r in range(4)]
    last = ("Fatal Python error: Aborted", "Thread 0x00007f96 (most recent call first):", "  <no Python frame>")
    died = [f"[default1]:{line}" for line in (TERMINATE, *last)]
    lines = [*init, f"[default1]:{head(3, 'timeout')}", *died]
    assert ranks_of(tmp_path, lines)[4:] == [3] * 5
    lines = [*init, f"[default1]:{head(3, 'timeout')}", f"[default1]:{head(1, 'timeout')}", *died]
    assert ranks_of(tmp_path, lines)[6:] == [None] * 4


ASSERT = "../aten/src/ATen/native/cuda/Indexing.cu:1308: f: block: [7,0,0], thread: [{},0,0] Assertion `i < n` failed."
SEEN = "[rank{}]: RuntimeError: CUDA error: device-side assert triggered"


def test_assertions_of_a_device_are_the_one_that_fails_by_them(tmp_path: Path) -> None:
    flood = [ASSERT.format(k) for k in range(3)]
    tags = [f"[rank{r}]: ready" for r in range(4)] * 4
    assert ranks_of(tmp_path, [*tags, *flood, SEEN.format(2)])[16:] == [2] * 4
    assert ranks_of(tmp_path, [*tags, *flood, SEEN.format(2), SEEN.format(1)])[16:19] == [None] * 3
    assert ranks_of(tmp_path, [*tags, *flood])[16:] == [None] * 3


def test_the_rest_of_an_ascend_error(tmp_path: Path) -> None:
    told = [
        f"[INFO] HCCL({80 + r},python3):2026-10-09-18:20:00.664.491 [op_base.cc:211] [{80 + r}][HcclGetRootInfo] "
        f"rank[{r}] nRanks[2] device[{r}] server[172.30.20.77]"
        for r in range(2)
    ]
    block = ["EI0006: [PID: 81] 2026-10-09-18:24:31.444.436 Getting socket times out.", "        Solution: 1. Check."]
    block.append("        TraceBack (most recent call last):")
    assert ranks_of(tmp_path, [*told, *block, "text"]) == [0, 1, 1, 1, 1, None]


def test_a_time_alone_is_of_the_next_line(tmp_path: Path) -> None:
    lines = ["2026-10-29 08:40:00.100", head(1, "a"), head(0, "b"), "2026-10-29 08:40:00.200", "text"]
    assert ranks_of(tmp_path, lines) == [1, 1, 0, None, None]


def test_an_exception_whose_process_is_named_at_its_end(tmp_path: Path) -> None:
    who = [f"Hostname n-7, rank {r} / size 2, local rank {r}, pid {50 + r}" for r in range(2)]
    end = "Unhandled exception <class 'RuntimeError'> in proc 51."
    lines = ["RuntimeError: bad", "Module call stack:", "(Layer) a.b", end]
    assert ranks_of(tmp_path, [*who, "text", *lines])[2:] == [None, 1, 1, 1, 1]
    torn = [lines[0], "[rank0]:[E ProcessGroupNCCL.cpp:475] [Rank 0] timeout", *lines[1:]]
    assert ranks_of(tmp_path, [*who, *torn])[2:] == [None, 0, None, None, 1]


LAUNCH = "LAUNCH INFO 2026-01-17 05:10:01,223 "
JOB = LAUNCH + "Job: default, mode collective, replicas 1[1:1], elastic False"
POD = [JOB, LAUNCH + "Run Pod: kqm, replicas 2, status ready"]
STEP = "[01/17 05:11:00] ppdet.engine INFO: Epoch: [0] [  0/420] loss: 0.0041"


def test_paddles_console_shows_worker_0_then_the_one_that_failed(tmp_path: Path) -> None:
    lines = [
        *POD, STEP, LAUNCH + "Pod failed", "LAUNCH ERROR 2026-01-17 05:15:54,385 Container failed !!!",
        "Container rank 1 status failed cmd ['python3'] code 1 log log/workerlog.1", "env {'A': '1'}",
        LAUNCH + "------- ERROR LOG DETAIL -------", "OSError: bad", LAUNCH + "Exit code 1", "text",
    ]  # fmt: skip
    got = ranks_of(tmp_path, lines)
    assert got == [None, None, 0, None, None, None, None, None, 1, None, None]


def test_without_a_pod_nothing_is_shown(tmp_path: Path) -> None:
    assert ranks_of(tmp_path, [LAUNCH + "Job: default, mode collective, replicas 1[1:1]", STEP]) == [None, None]


def test_workers_of_two_pods_are_on_two_nodes(tmp_path: Path) -> None:
    pod = [POD[0].replace("replicas 1[1:1]", "replicas 2[2:2]"), POD[1], STEP]
    got = files_ranks(tmp_path, {"a/console.txt": pod, "b/console.txt": pod})
    assert [ranks[2] for ranks in got.values()] == [None, None]


AGENT = """\
W1129 15:21:29.100000 700 torch/distributed/elastic/api.py:900] Sending process 71 closing signal SIGTERM
E1129 15:21:29.200000 700 torch/distributed/elastic/api.py:881] failed (exitcode: 1) local_rank: 0 (pid: 70)
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
    sys.exit(main())
             ^^^^^^
  File "/lib/torch/distributed/launcher/api.py", line 264, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-29_15:21:29
  host      : n1
  rank      : 1 (local_rank: 1)
  exitcode  : -15 (pid: 71)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 71
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_15:21:28
  host      : n1
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 70)
  error_file: /tmp/e.json
  traceback : Traceback (most recent call last):
    File "train.py", line 3, in main
      fit()
  ValueError: bad

============================================================
  an indented line of somebody else
=====
""".splitlines()
WORK = ["[rank0]: step 1", "[rank1]: step 1", "  some text", "=" * 20]


def kinds_of(snap: Snapshot) -> list[int]:
    return snap.ranks.kind[snap.speaker].tolist()


@pytest.mark.parametrize("cut", [0, 7, 12, 14, 20, 31])
def test_an_agents_own_traceback_and_table_are_the_launchers(tmp_path: Path, cut: int) -> None:
    if cut:
        growing = Growing(tmp_path)
        for part in ([*WORK, *AGENT[: cut - len(WORK)]], AGENT[cut - len(WORK) :]):
            growing.add("".join(f"{line}\n" for line in part))
        kinds = kinds_of(growing.job.snapshot())[1:]
    else:
        kinds = kinds_of(read(tmp_path / "job.log", [*WORK, *AGENT]).snapshot())
    inside = len(AGENT) - 2
    assert kinds[len(WORK) : len(WORK) + inside] == [Kind.LAUNCHER] * inside
    assert kinds[2:4] + kinds[-2:] == [Kind.UNKNOWN] * 4


def test_an_agents_exception_without_a_table_takes_nothing(tmp_path: Path) -> None:
    lines = [*WORK, AGENT[8], "  some text", "=" * 20, "  more text", "=" * 20]
    assert kinds_of(read(tmp_path / "job.log", lines).snapshot())[-4:] == [Kind.UNKNOWN] * 4
