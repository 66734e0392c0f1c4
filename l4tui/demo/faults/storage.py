"""Faults of data and disks."""

from __future__ import annotations

from l4tui.demo.cascade import PATTERNS
from l4tui.demo.faults.base import Fault, Scenario
from l4tui.demo.faults.compute import Dies
from l4tui.demo.ink import SECOND
from l4tui.demo.launchers import DYING, Death
from l4tui.demo.stages import checkpoint
from l4tui.demo.steps import MS, Step
from l4tui.demo.tracebacks import FIT, LIB, MAIN, NEXT, SAVE, TRAIN, Frame, traceback


class DiskFull(Fault):
    """The disk of one node is full when a checkpoint is written."""

    stage, scope, ends, outcome = "checkpoint", "nodes", True, "failed"

    def prepare(self) -> None:
        self.at = max(1, self.job.iterations * 2 // 3 // self.job.ckpt_every) * self.job.ckpt_every
        self.blame_node()
        self.patterns = (r"OSError: \[Errno 28\] No space left on device", r"PytorchStreamWriter failed writing file")
        self.scopes = ("culprit", "culprit")

    def strike(self, step: Step | None) -> None:
        job, began = self.job, self.job.now
        checkpoint(job, self.at, frozenset(self.ranks))
        deaths, path = [], f"/ckpt/iter_{self.at:07}"
        frames: list[Frame] = [
            *SAVE,
            (f"{LIB}/torch/serialization.py", 784, "__exit__", "self.file_like.write_end_of_file()"),
        ]
        for rank in self.ranks:
            now = began + int(self.rng.uniform(0.6, 1.1) * SECOND)
            text = f"could not write {path}/rank_{rank:05}.pt: OSError: [Errno 28] No space left on device"
            job.say(rank, now, "checkpoint.py:69:write", text, "ERROR")
            error = "RuntimeError: [enforce fail at inline_container.cc:664] . PytorchStreamWriter failed writing file "
            error += f"data/{int(self.rng.integers(3, 90))}: file write failed"
            job.raise_on(rank, now + 20 * MS, traceback(frames, error))
            deaths.append(Death(rank, now + DYING, 1))
        job.wait(1)
        self.lost(deaths)


class LoaderBus(Dies):
    """A data loader worker of one rank dies of a bus error: shared memory is full."""

    def told(self) -> None:
        self.patterns = (
            rf"\[rank{self.ranks[0]}\]: RuntimeError: DataLoader worker \(pid \d+\) is killed by signal: Bus error",
        )
        self.scopes = ("culprit",)

    def speak(self, rank: int, now: int) -> None:
        text = (
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
            "shared memory (shm)."
        )
        self.job.raw(rank, now - 20 * MS, text, True)
        error = (
            f"RuntimeError: DataLoader worker (pid {self.job.pids[rank] + 313}) is killed by signal: "
            "Bus error. It is possible "
        )
        error += "that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
        frames: list[Frame] = [
            *NEXT,
            (f"{LIB}/torch/utils/data/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()"),
        ]
        self.job.raise_on(rank, now, traceback(frames, error))


class Retries(Fault):
    """The object store refuses one node until its retries are used up."""

    stage, scope, ends, outcome = "train", "nodes", True, "failed"
    TRIES = 5

    def prepare(self) -> None:
        self.blame_node()
        self.patterns = (
            r"giving up on shard_\d+\.bin after 5 attempts",
            r"GET shard_\d+\.bin failed with status 503, attempt",
        )
        self.scopes = ("culprit", "any")  # the last error tells how often it was tried

    def strike(self, step: Step | None) -> None:
        job, deaths = self.job, []
        frames: list[Frame] = [*MAIN, (f"{TRAIN}/storage.py", 101, "get", "raise ConnectionError(text)")]
        for rank in self.ranks:
            shard, now = int(self.rng.integers(0, 4096)), job.now
            for attempt in range(1, self.TRIES + 1):
                now += int(self.rng.uniform(0.9, 1.1) * 2**attempt * SECOND) // 2
                text = f"GET shard_{shard:05}.bin failed with status 503, attempt {attempt} of {self.TRIES}"
                job.say(rank, now, "storage.py:88:get", text, "WARNING")
            error = f"ConnectionError: giving up on shard_{shard:05}.bin after {self.TRIES} attempts: 503 Slow Down"
            job.raise_on(rank, now + 50 * MS, traceback(frames, error))
            deaths.append(Death(rank, now + DYING, 1))
        self.lost(deaths)


class BadShard(Fault):
    """The local copy of an evaluation shard is cut short on one node."""

    stage, scope, ends, outcome = "eval", "nodes", True, "failed"
    cascade = PATTERNS

    def prepare(self) -> None:
        self.at = max(1, self.job.iterations * 2 // 3 // self.job.eval_every) * self.job.eval_every
        self.blame_node()
        self.patterns, self.scopes = (r"EOFError: shard eval_\d+\.bin is truncated",), ("culprit",)

    def strike(self, step: Step | None) -> None:
        job, deaths = self.job, []
        job.say(
            0, job.now, "evaluate.py:33:run", f"starting evaluation at iteration {self.at} on {job.ranks * 16} samples"
        )
        frames: list[Frame] = [*FIT, (f"{TRAIN}/evaluate.py", 51, "run", "batch = shard.read()")]
        size = int(self.rng.integers(1 << 20, 1 << 26))
        for rank, now in job.jitter(self.ranks, 0.4):
            error = f"EOFError: shard eval_00007.bin is truncated: {size} bytes on disk, 67108864 in the index"
            job.raise_on(rank, now + SECOND // 2, traceback(frames, error))
            deaths.append(Death(rank, now + DYING, 1))
        job.wait(1)
        self.lost(deaths)


class MissingMount(Fault):
    """The data folder is not mounted on one node."""

    stage, scope, ends, outcome = "data", "nodes", True, "failed"

    def prepare(self) -> None:
        self.blame_node()
        self.patterns = (r"FileNotFoundError: \[Errno 2\] No such file or directory: '/data/corpus",)
        self.scopes = ("culprit",)

    def strike(self, step: Step | None) -> None:
        job, deaths = self.job, []
        job.wait(1)
        job.say(0, job.now, "data.py:52:build", "reading index of 4096 shards from /data/corpus")
        frames: list[Frame] = [*MAIN[:1], (f"{TRAIN}/data.py", 55, "build", "with open(path) as index:")]
        error = "FileNotFoundError: [Errno 2] No such file or directory: '/data/corpus/index.json'"
        for rank, now in job.jitter(range(job.ranks), 0.8):
            if rank in self.ranks:
                job.raise_on(rank, now, traceback(frames, error))
                deaths.append(Death(rank, now + DYING, 1))
            else:
                job.say(rank, now + SECOND, "data.py:77:build", "dataset ready, 4096 shards, 8 loader workers")
        job.wait(2)
        self.lost(deaths)


SCENARIOS = (
    Scenario("ckpt-enospc", "the disk of one node is full at a checkpoint", "storage", DiskFull),
    Scenario("loader-bus", "a data loader worker dies of a bus error", "data", LoaderBus),
    Scenario("node-retries", "one node's reads of the object store are refused", "storage", Retries),
    Scenario("eval-truncated", "an evaluation shard is cut short on one node", "data", BadShard),
    Scenario("data-missing", "the data folder is missing on one node", "storage", MissingMount),
)
