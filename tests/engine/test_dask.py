"""A real scheduler and real workers on loopback map what one process maps, one of them killed in the middle."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4tui.engine import ranges, reading
from l4tui.engine.discovery import discover
from l4tui.engine.job import Job, Options
from tests.engine.test_parallel import line, same

distributed = pytest.importorskip("distributed", reason="the extra l4tui[cluster] is not installed")
pytestmark = pytest.mark.slow


class Cluster:
    """Processes as `dask scheduler` and `dask worker` start them."""

    def __init__(self, workers: int, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        until(file.exists)
        with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
            self.address = client.scheduler.address
            for _ in range(workers):
                self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", self.address)
            client.wait_for_workers(workers, timeout=60)

    def _start(self, kind: str, *words: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words]
        log = (self.folder / f"{kind}-{len(self.processes)}.out").open("wb")
        self.processes.append(subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=dict(os.environ)))

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait(10)


def until(reached: object, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    made = Cluster(2, folder)
    yield made
    made.stop()


def test_a_killed_worker_loses_nothing(tmp_path, cluster, monkeypatch):
    logs = tmp_path / "logs"
    logs.mkdir()
    for node in range(2):
        (logs / f"node-{node}.log").write_text("\n".join(line(node, k) for k in range(12_000)))
    monkeypatch.setattr(reading, "WORTHWHILE", 1)
    monkeypatch.setattr(ranges, "SMALLEST_TASK", 40_000)
    killed = []

    def progress(done: int, total: int) -> None:
        if done > total // 4 and not killed:
            cluster.processes[1].send_signal(signal.SIGKILL)
            killed.append(done)

    together = Job(discover([str(logs)]).choose(0).sources, Options(dask=cluster.address))
    together.read_all(threading.Event(), progress)
    together.close()
    alone = Job(discover([str(logs)]).choose(0).sources)
    alone.read_all()
    assert killed
    same(alone.snapshot(), together.snapshot())


def test_no_scheduler_is_said_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "WORTHWHILE", 1)
    (tmp_path / "job.log").write_text("[rank0]: one\n" * 1000)
    job = Job(discover([str(tmp_path)]).choose(0).sources, Options(dask="tcp://127.0.0.1:9"))
    job.read_all()
    assert job.snapshot().counts().lines == 1000
    assert "tcp://127.0.0.1:9" in job.remarks[0]
