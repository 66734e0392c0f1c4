"""Training iterations: what each rank computes, how long it takes, when it has to wait for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from l4tui.demo.ink import SECOND

if TYPE_CHECKING:
    from l4tui.demo.job import Job

MS = 1_000_000  # ns


class Step:
    """One iteration of all ranks; arrays have one value a rank, times of parts are in ms."""

    def __init__(self, job: Job, number: int) -> None:
        rng, n = job.rng, job.ranks
        self.number, self.time = number, job.now
        self.data = rng.gamma(6.0, 0.6, n)
        self.forward = 180.0 * job.speed * rng.normal(1, 0.006, n)
        self.backward = 360.0 * job.speed * rng.normal(1, 0.006, n)
        self.optimizer = rng.normal(46, 0.7, n)
        self.base = 1.9 + 8.5 * np.exp(-number / 90) + 0.4 / (1 + number / 300)
        self.loss = self.base + rng.normal(0, 0.02, n)
        self.norm = float(1.1 + 4 * np.exp(-number / 60) + abs(rng.normal(0, 0.08)))
        self.memory = 61 + job.speed * 2 + rng.normal(0, 0.01, n)
        warmup = min(1.0, number / 40)
        self.rate = 3e-4 * warmup * float(0.55 + 0.45 * np.cos(np.pi * min(1.0, number / (4 * job.iterations))))
        self.settle(rng)

    def settle(self, rng: np.random.Generator) -> None:
        """Derive waiting and end times; called again after a fault changed the parts."""
        ready = self.data + self.forward + self.backward
        slowest = float(ready.max())
        self.comm = slowest - ready + rng.normal(21, 0.4, len(ready)).clip(18)
        self.mean = float(self.loss.mean())
        total = ready + self.comm + self.optimizer
        self.elapsed = float(total.max())
        self.fetched = self.time + (self.data * MS).astype(np.int64)
        late = rng.gamma(2.0, 0.8, len(ready))
        self.done = self.time + ((total + late) * MS).astype(np.int64)

    def parts(self, rank: int) -> tuple[float, float, float, float]:
        """Return forward, backward, waiting and optimizer time of a rank in ms."""
        return self.forward[rank], self.backward[rank], self.comm[rank], self.optimizer[rank]


def habits(job: Job, step: Step) -> None:
    """Say what only some ranks say, in every healthy job too."""
    if step.number % 10 == 0:
        for node in range(job.nodes):
            rank = node * job.per_node
            watts = job.rng.normal(655, 12, job.per_node).round().astype(int)
            heat = job.rng.normal(66, 3, job.per_node).round().astype(int)
            told = ", ".join(f"gpu{i} {heat[i]}C {watts[i]}W" for i in range(job.per_node))
            job.say(
                rank, int(step.done[rank]) + 2 * MS, "telemetry.py:58:sample", f"{job.hosts[node]}: {told}", "DEBUG"
            )
    if step.number % 25 == 0:
        for rank in range(job.ranks):
            objects = int(job.rng.integers(3, 60))
            text = f"periodic gc, {objects} objects collected"
            job.say(rank, int(step.done[rank]) + 3 * MS, "trainer.py:188:collect_garbage", text, "DEBUG")


DECOYS = (
    ("data.py:177:read", "WARNING", "read of shard_{n:05}.bin took {k}.4 s, prefetch queue was empty"),
    ("storage.py:88:get", "ERROR", "GET shard_{n:05}.bin failed: connection reset by peer, attempt 1 of 5"),
    ("trainer.py:203:clip", "WARNING", "gradient norm of bucket {k} clipped from 1{k}.2"),
    ("telemetry.py:71:sample", "WARNING", "clock of gpu reduced for {k}00 ms (power cap), back to normal"),
)


def noise(job: Job, step: Step, decoys: list[int]) -> None:
    """Let innocent ranks complain about what they recover from."""
    for rank in decoys:
        if job.rng.random() > 0.06:
            continue
        site, level, text = DECOYS[int(job.rng.integers(len(DECOYS)))]
        n, k = int(job.rng.integers(0, 4096)), int(job.rng.integers(2, 9))
        now = int(step.fetched[rank]) + 5 * MS
        job.say(rank, now, site, text.format(n=n, k=k), level)
        if level == "ERROR":
            job.say(rank, now + 80 * MS, "storage.py:96:get", f"GET shard_{n:05}.bin succeeded at attempt 2 of 5")


def finish(job: Job, step: Step) -> None:
    """Move the clock to the start of the next iteration."""
    job.now = max(int(step.done.max()), job.now) + SECOND // 200
