"""Many processes read what one reads: the same columns, also when a worker dies or the reading is stopped."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import backlog, ranges, reading
from l4tui.engine.clock import ClockContext
from l4tui.engine.discovery import discover
from l4tui.engine.formats import Dialect
from l4tui.engine.job import Job, Options
from l4tui.engine.parallel import Workers
from l4tui.engine.snapshot import Snapshot


def line(node: int, k: int) -> str:
    rank, step = node * 4 + k % 4, k // 4
    stamp = f"2026-03-01 10:{step // 60 % 60:02d}:{step % 60:02d},{k % 1000:03d}"
    if k == 5:
        return f"[default{k % 4}]:n{node}:4{k}0:{k} [{k % 4}] NCCL INFO comm 0x5d rank {rank} nranks 8 - Init COMPLETE"
    if k % 97 == 0:
        return f"[default{k % 4}]:Traceback (most recent call last):\n[default{k % 4}]:  File \"a.py\", line {k}, in f"
    if k % 53 == 0:
        return f"[default{k % 4}]:object at 0x7f{k:08x} id {k * 7919:032x} was freed"
    if k % 31 == 0:
        return f"plain words {k}"
    return f"[default{k % 4}]:{stamp} INFO train.py:{100 + k % 9}: iteration {step}/9000 | loss: {1 / (k + 1):.6f}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for node in range(2):
        text = "\n".join(line(node, k) for k in range(6000))
        (tmp_path / f"node-{node}.log").write_text(text)  # no newline at the end
    monkeypatch.setattr(reading, "WORTHWHILE", 1)
    monkeypatch.setattr(ranges, "SMALLEST_TASK", 60_000)
    return tmp_path


def read(folder: Path, **options: object) -> Job:
    job = Job(discover([str(folder)]).choose(0).sources, Options(**options))  # type: ignore[arg-type]
    job.read_all()
    return job


def same(one: Snapshot, other: Snapshot) -> None:
    assert one.length == other.length
    every = np.arange(one.length)
    for name in ("clock", "record", "iteration", "stage", "flags", "plan", "speaker"):
        assert np.array_equal(one.columns[name], other.columns[name]), name
    for name in ("rank", "event", "level", "site"):
        assert np.array_equal(getattr(one, name)(), getattr(other, name)()), name
    assert list(one.templates) == list(other.templates)
    assert list(one.sites) == list(other.sites)
    assert one.counts() == other.counts()
    assert one.places(every[::501]) == other.places(every[::501])
    assert one.raws(every[::7]) == other.raws(every[::7])
    assert one.node_ranks == other.node_ranks


def test_two_processes_read_what_one_reads(folder):
    alone, together = read(folder), read(folder, jobs=2)
    assert len(together.store.blocks().first) > len(alone.store.blocks().first)  # it was cut
    same(alone.snapshot(), together.snapshot())


def die_or_map(task: ranges.Task) -> bytes:
    if threading.current_thread() is threading.main_thread() and os.environ["L4TUI_TEST_PARENT"] != str(os.getpid()):
        os._exit(9)
    return ranges.map_task(task)


def test_dying_workers_lose_nothing(folder, monkeypatch):
    monkeypatch.setenv("L4TUI_TEST_PARENT", str(os.getpid()))
    monkeypatch.setattr(reading, "map_task", die_or_map)
    same(read(folder).snapshot(), read(folder, jobs=2).snapshot())


def half(number: int) -> float:
    if number == 3:
        raise ValueError("three")
    return number / 2


def test_results_come_in_order_and_errors_with_them():
    workers = Workers(2)
    got = []
    with pytest.raises(ValueError, match="three"):
        for result in workers.run(half, range(9), threading.Event()):
            got.append(result)
    workers.close()
    assert got == [0.0, 0.5, 1.0]


def test_stopped_reading_keeps_a_whole_beginning(folder):
    stop = threading.Event()
    job = Job(discover([str(folder)]).choose(0).sources, Options(jobs=2))
    job.read_all(stop, lambda done, total: stop.set())
    first = job.snapshot()
    assert 0 < first.length < 12_000
    job.read_all()  # goes on from there
    assert job.snapshot().counts().lines == read(folder).snapshot().counts().lines


def slept(seconds: float) -> str:
    time.sleep(seconds)
    return "done"


def test_workers_end_at_once_when_nobody_wants_their_result() -> None:
    workers = Workers(1)
    running = workers.run(slept, [0.0, 3600.0], threading.Event())
    next(running)
    processes = list(workers._executor._processes.values())
    workers.close()
    for process in processes:
        process.join(60)
        assert process.exitcode is not None


def test_two_processes_catch_up_with_what_was_written_meanwhile(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(backlog, "TURN", 300_000)
    monkeypatch.setattr(backlog, "SHARE", 100_000)
    whole = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    alone = read(folder)
    for path, text in whole.items():
        path.write_bytes(text[: len(text) // 3])  # within a line
    found = discover([str(folder)])
    job = Job(found.choose(0).sources, Options(jobs=2), found=found, follow=True)
    job.read_all(final=False)
    mapped: list[int] = []
    monkeypatch.setattr(reading, "unpack", lambda packed: mapped.append(len(packed)) or ranges.unpack(packed))
    for path, text in whole.items():
        path.write_bytes(text + b"\n")
    while (job.poll() or job.behind or not mapped) and job.wait(60.0):
        pass
    snap, all_ = job.snapshot(), alone.snapshot()
    assert mapped
    assert (snap.length, snap.counts()) == (all_.length, all_.counts())
    # which file came first differs, so the order of entries does; what the files hold does not
    for source in range(2):
        one, other = (s.raws(np.flatnonzero(s.source_of(np.arange(s.length)) == source)) for s in (snap, all_))
        assert one == other
    job.close()


def test_a_file_that_is_cut_while_it_is_parted_is_handed_over_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(ranges, "SMALLEST_TASK", 1000)
    path = tmp_path / "job.log"
    path.write_text("a line\n" * 2000)
    source = discover([str(path)]).choose(0).sources[0]
    end = source.size()
    assert source.live.file is not None
    source.continue_with(source.live.file, end, torn=False, lost=True)
    one = ranges.Range(source, 0, end, Dialect(), ClockContext(), final=False)
    (task,) = ranges.tasks_of([one], end, 2, ())
    assert task.ranges == (one,)
    assert list(ranges.mapped(task)) == []  # stepped over: whoever follows the file has told of it


OWNER = """
import os, sys, threading
from l4tui.engine.parallel import Workers
from tests.engine.test_parallel import slept
if __name__ == "__main__":
    workers = Workers(1)
    running = workers.run(slept, [0.0, 3600.0], threading.Event())
    next(running)
    print(*workers._executor._processes, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_workers_end_though_their_owner_was_killed(tmp_path: Path) -> None:
    script = tmp_path / "owner.py"
    script.write_text(OWNER)
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    # ends when all who hold the pipe have: the owner, and the workers that it has left behind
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, env=env, timeout=120)
    assert done.returncode == -9
    assert done.stdout.split()
