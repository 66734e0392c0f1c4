"""Records: what belongs together, lane by lane, and the same however the input is cut into blocks."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.formats import Dialect, Parser
from l4tui.engine.model import LineClass
from l4tui.engine.records import RecordCarry, assemble, classify, is_progress

PARSER = Parser(Dialect())


def class_of(line: str) -> LineClass:
    """Class one line as the mapper does."""
    raw = line.encode()
    parse = PARSER.parse(raw)
    return classify(raw[parse.text_at :], parse)


def grouped(text: str) -> list[list[str]]:
    """Return the records of a text; a lane stands in front of each line ("a|text"), or everything is one lane."""
    lines = text.strip("\n").split("\n")
    lanes = [ord(line[0]) - 97 if line[1:2] == "|" else 0 for line in lines]
    bodies = [line[2:] if line[1:2] == "|" else line for line in lines]
    classes = np.array([class_of(body) for body in bodies])
    heads = assemble(np.array(lanes), classes, RecordCarry())
    out: dict[int, list[str]] = {}
    for head, body in zip(heads.tolist(), bodies, strict=True):
        out.setdefault(head, []).append(body)
    return list(out.values())


def sizes(text: str) -> list[int]:
    """Return how many lines each record has."""
    return [len(record) for record in grouped(text)]


TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
    ^^^^^^
ValueError: bad shard 7"""
CHAINED = f"""{TRACEBACK}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 14, in <module>
    raise RuntimeError("x") from e
RuntimeError: x"""
TABLE = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_15:29:34
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 3446)
============================================================"""
GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 3, in <module>
  |     raise ExceptionGroup("many", errors)
  | ExceptionGroup: many (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    | ValueError: one
    +---------------- 2 ----------------
    | KeyError: 'two'
    +------------------------------------"""
CPP = """terminate called after throwing an instance of 'c10::DistBackendError'
  what():  [PG ID 0 Rank 3] Process group watchdog thread terminated
Exception raised from ncclCommWatchdog at /src/ProcessGroupNCCL.cpp:1418 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f0a in libc10.so)
frame #1: <unknown function> + 0x8609 (0x7f in libpthread.so.0)
"""
FATAL = """Fatal Python error: Aborted

Thread 0x00007f0a (most recent call first):
  File "threading.py", line 320 in wait

Current thread 0x00007f0b (most recent call first):
  File "train.py", line 44 in step"""
RICH = """╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ train.py:12 in <module>                                                      │
│ ❱ 12 main()                                                                  │
╰──────────────────────────────────────────────────────────────────────────────╯
ValueError: bad"""
REMOTE = '''multiprocessing.pool.RemoteTraceback:
"""
Traceback (most recent call last):
  File "pool.py", line 125, in worker
KeyError: 3
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "x.py", line 1, in f
KeyError: 3'''
LOADER = """Traceback (most recent call last):
  File "train.py", line 3, in main
RuntimeError: Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "worker.py", line 309, in _worker_loop
ValueError: truncated"""
CUDA = """Traceback (most recent call last):
  File "train.py", line 3, in main
RuntimeError: CUDA error: an illegal memory access was encountered
CUDA kernel errors might be asynchronously reported at some other API call.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."""
BANNER = "-" * 74
STAMPED = """2024-10-29 08:40:00.100
Traceback (most recent call last):
2024-10-29 08:40:00.200
  File "x.py", line 1, in f
2024-10-29 08:40:00.300
KeyError: 3"""
ONE_RECORD = {
    "traceback": TRACEBACK, "chain": CHAINED, "table": TABLE, "group": GROUP, "cpp": CPP.strip(), "faulthandler": FATAL,
    "rich": RICH, "remote": REMOTE, "loader": LOADER, "cuda": CUDA, "stamps": STAMPED,
    "json": '2026-11-29 15:01:30,018 - main - INFO - config {\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}',
    "help": f"{BANNER}\nPrimary job terminated\nand more.\n{BANNER}",
    "thread": f"Exception in thread Thread-3 (pin):\n{TRACEBACK}",
    "logged": f"2026-11-29 15:01:30,018 - main - ERROR - step failed\n{TRACEBACK}",
    "stamp": "2024-10-29 08:40:00.100\nsome text",
    "ascend": "EI0006: Getting socket times out. Reason: peer.\n        Solution: 1. check.\n        TraceBack:",
    "warning": "/a/b.py:3: UserWarning: old\n  warnings.warn(text)",
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_RECORD)
def test_one_record(name: str) -> None:
    before, after = "2026-11-29 15:01:29,000 - main - INFO - before", "2026-11-29 15:01:31,000 - main - INFO - after"
    text = ONE_RECORD[name]
    assert sizes(f"{before}\n{text}\n{after}") == [1, text.count("\n") + 1, 1]


@pytest.mark.parametrize("name", ONE_RECORD)
def test_continuation_follows_its_lane(name: str) -> None:
    text = ONE_RECORD[name]
    lines = [f"a|{line}\nb|step 12 loss {k}.5" for k, line in enumerate(text.split("\n"))]
    found = grouped("\n".join(lines))
    assert found[0] == text.split("\n")
    assert [len(record) for record in found[1:]] == [1] * (text.count("\n") + 1)


def test_neighbours_stay_apart() -> None:
    assert sizes("plain one\nplain two\n\n  indented\nplain three") == [1, 3, 1]
    assert sizes(f"2026-11-29 15:01:30 INFO step 3\n{TRACEBACK}") == [1, 5]
    assert sizes(f"{TRACEBACK}\n{TRACEBACK}") == [5, 5]
    assert sizes(f"{TRACEBACK}\nnext line of the program") == [5, 1]
    assert sizes("====================\ntitle\n====================") == [1, 1, 1]
    assert sizes(f"{BANNER}\nhelp\n{BANNER}\n{BANNER}\nmore\n{BANNER}") == [3, 3]


def test_a_launcher_interrupts_nothing() -> None:
    head, *frames = TRACEBACK.split("\n")
    agent = "W1129 14:56:52.730000 31215 torch/distributed/run.py:906] Sending process 2 closing signal"
    found = grouped("\n".join([head, agent, *frames, agent]))
    assert sorted(map(len, found)) == [1, 1, 5]


def test_deaths_of_several_processes_stay_apart() -> None:
    death = "terminate called after throwing an instance of 'c10::DistBackendError'"
    assert sizes(f"{death}\n{death}\n  what():  [Rank 3] x\n{death}") == [1, 2, 1]


def test_bars_stand_alone_and_break_nothing() -> None:
    bar = " 12%|#2        | 12/100 [00:01<00:08, 10.1it/s]"
    head, *frames = TRACEBACK.split("\n")
    found = grouped("\n".join([head, bar, *frames, bar]))
    assert sorted(map(len, found)) == [1, 1, 5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  1%|          | 12/2064 [00:28<1:21:50,  2.80s/it]", True),
        ("Epoch 0: 48%|███| 48/96 [00:06<00:07, 11.2it/s, v_num=4]", True),
        ("train: 100%|##########| 5/5 [00:00<00:00]", True),
        ("1234it [00:05, 240.1it/s]", True),
        ("   ━━━━━━━━━━━━━━━━━━━━ 1.2/3.4 MB 5.0 MB/s eta 0:00:01", True),
        ("12/100 [==>...........] - ETA: 1:00 - loss: 2.1", True),
        ("model.bin: 45%[========>           ] 1.20G", True),
        ("Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01]", True),
        ("disk usage is 31% of 252G", False),
        ("/dev/vda        252G   32G   70G  32% /mnt/data", False),
        ("step 12/80 | loss 2.3 | 10.1 it/s", False),
        ("═══ Summary ═══", False),
    ],
)
def test_progress(text: str, expected: bool) -> None:
    assert is_progress(text.encode()) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory.", LineClass.RAISED),
        ("KeyboardInterrupt", LineClass.RAISED),
        ("ray.exceptions.RayTaskError(RuntimeError): ray::f()", LineClass.RAISED),
        (" iteration   12/  80 | consumed samples: 5 |", LineClass.PLAIN),
        ("ERROR: bad", LineClass.FAILED),
        ("2026-11-29 15:01:30 INFO ok", LineClass.HEAD),
        ("2026-11-29 15:01:30", LineClass.STAMP),
        ("   ", LineClass.BLANK),
        ("| epoch 001 | loss 4779.209 | wall 60", LineClass.PLAIN),
        ("| distributed init (rank 0): env://", LineClass.PLAIN),
        ("srun: error: n1: task 3: Killed", LineClass.ASIDE),
    ],
)
def test_classes(line: str, expected: LineClass) -> None:
    assert class_of(line) is expected


CLASSES = st.sampled_from(sorted(LineClass))


@given(st.lists(st.tuples(st.integers(0, 4), CLASSES), max_size=80), st.lists(st.integers(1, 9), max_size=80))
def test_any_cut_gives_the_same_records(rows: list[tuple[int, LineClass]], cuts: list[int]) -> None:
    lane = np.array([row[0] for row in rows], np.int64)
    cls = np.array([row[1] for row in rows], np.int64)
    whole = assemble(lane, cls, RecordCarry())
    carry, at, parts = RecordCarry(), 0, [np.zeros(0, np.int64)]
    for size in [*cuts, len(rows)]:
        parts.append(assemble(lane[at : at + size], cls[at : at + size], carry, at))
        carry = pickle.loads(pickle.dumps(carry))
        at += size
    assert np.concatenate(parts).tolist() == whole.tolist()


@given(st.lists(st.tuples(st.integers(0, 4), CLASSES), min_size=1, max_size=80))
def test_records_keep_to_their_lane(rows: list[tuple[int, LineClass]]) -> None:
    lane = np.array([row[0] for row in rows], np.int64)
    heads = assemble(lane, np.array([row[1] for row in rows], np.int64), RecordCarry())
    assert (lane[heads] == lane).all()
    assert (heads <= np.arange(len(rows))).all()
    assert (heads[heads] == heads).all()


@given(st.binary(max_size=200))
def test_any_bytes_have_a_class(text: bytes) -> None:
    assert classify(text, PARSER.parse(text)) in LineClass
