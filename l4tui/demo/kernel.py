"""Kernel logs collected from all nodes, with what healthy machines say too."""

from __future__ import annotations

import numpy as np

from l4tui.demo.ink import SECOND
from l4tui.demo.job import DMESG, Job

HARMLESS = (
    "mlx5_core 0000:4{n}:00.0: firmware version: 28.39.1002",
    "nvidia-nvswitch{n}: open (major=510)",
    "perf: interrupt took too long (252{n} > 2500), lowering kernel.perf_event_max_sample_rate to 79000",
    "IPv6: ADDRCONF(NETDEV_CHANGE): bond0: link becomes ready",
    "nvidia-peermem: loaded, using legacy client",
    "mlx5_core 0000:4{n}:00.0: Port module event: module {n}, Cable plugged",
)


def say(job: Job, node: int, time: int, text: str) -> None:
    """Write a line into a node's kernel log; each node has its own uptime."""
    booted = 40_000 + (job.spec.seed * 7919 + node * 104_729) % 900_000  # s before the job's start
    job.raw(DMESG - node, time, f"[{booted + (time - job.spec.start) / SECOND:12.6f}] {text}")


def boot(job: Job) -> None:
    """Write what every node's kernel log holds before anything goes wrong."""
    rng = np.random.default_rng([job.spec.seed, 0x5E])
    for node in range(job.nodes):
        chosen = rng.choice(len(HARMLESS), 3, replace=False)
        for i, which in enumerate(chosen):
            text = HARMLESS[which].format(n=int(rng.integers(0, 8)))
            say(job, node, job.spec.start + int(rng.integers(1, 5)) * SECOND + i * SECOND, text)
