"""Faults of links between nodes."""

from __future__ import annotations

import time

from l4tui.demo import cascade, kernel, launchers
from l4tui.demo.faults.base import Fault, Scenario
from l4tui.demo.ink import SECOND, utc
from l4tui.demo.job import LAUNCHER
from l4tui.demo.launchers import Death
from l4tui.demo.steps import MS, Step


class LinkFlap(Fault):
    """The port of one rank's adapter goes down: its peers on other nodes cannot send to it any more."""

    stage, scope, ends, outcome = "train", "ranks", True, "failed"
    kernel_logs = True
    cascade = (*cascade.PATTERNS, r"IBV_WC_WR_FLUSH_ERR")

    def prepare(self) -> None:
        job, rank = self.job, self.blame_rank()
        address = job.address(job.node_of(rank)).replace(".", r"\.")
        self.patterns = (
            rf"NET/IB : mlx5_{job.local(rank)}:1 async fatal event",
            rf"Got completion from peer {address}<\d+> with status=12",
            r"mlx5_core .*Link down",
        )
        self.scopes = ("culprit", "any", "agent")

    def strike(self, step: Step | None) -> None:
        assert step is not None
        job, rank = self.job, self.ranks[0]
        node, local = job.node_of(rank), job.local(rank)
        now = int(step.fetched[rank]) + 350 * MS
        kernel.say(job, node, now, f"mlx5_core 0000:{0x40 + local:02x}:00.0 ib{local}: Link down")
        cascade.warn(
            job, rank, now + 5 * MS, "transport/net_ib.cc:144", f"NET/IB : mlx5_{local}:1 async fatal event: port error"
        )
        peers = [n * job.per_node + local for n in range(job.nodes) if n != node]
        deaths = []
        for peer in peers:
            at = now + int(self.rng.uniform(5, 5.6) * SECOND)
            port = int(self.rng.integers(33_000, 60_000))
            text = (
                f"NET/IB : Got completion from peer {job.address(node)}<{port}> with status=12 "
                "opcode=129 len=32768 vendor "
            )
            text += (
                f"err 129 (Send) localGid fe80::{0x5A + job.node_of(peer):x} remoteGids "
                f"fe80::{0x5A + node:x} hca mlx5_{local}"
            )
            cascade.warn(job, peer, at, "transport/net_ib.cc:2117", text)
            deaths.append(self.abort(peer, at + 200 * MS))
        at = now + 5_800 * MS
        for other in (peers or [rank])[:2]:
            text = (
                f"NET/IB : Got completion from peer {job.address(job.node_of(other))}<{40_000 + other}> with status=5 "
            )
            text += f"opcode=129 len=0 vendor err 249 (Recv) hca mlx5_{local}"
            cascade.warn(job, rank, at, "transport/net_ib.cc:2117", text)
        deaths.append(self.abort(rank, at + 100 * MS))
        launchers.fail(job, deaths)
        job.wait(2)

    def abort(self, rank: int, now: int) -> Death:
        job = self.job
        group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        words = (
            "Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a "
        )
        words += (
            "network error, NCCL version 2.25.1\nncclRemoteError: A call failed possibly due to a network error or a "
        )
        words += "remote process exiting prematurely."
        cascade.c10(job, rank, now, "E", "ProcessGroupNCCL.cpp:1895", group + words)
        return Death(rank, now + SECOND, -6)


class NodeDown(Fault):
    """A node goes down; the scheduler says so and cancels the step."""

    stage, scope, ends, outcome = "train", "nodes", True, "failed"

    def prepare(self) -> None:
        node = self.blame_node()
        host = self.job.hosts[node]
        self.patterns = (rf"srun: error: Node failure on {host}\b", r"CANCELLED AT \S+ DUE TO NODE FAILURE")
        self.scopes = ("agent", "agent")
        self.cascade = (*(p for p in cascade.PATTERNS if "slurmstepd" not in p), r"srun: error: .*: Killed")

    def strike(self, step: Step | None) -> None:
        assert step is not None
        job, node = self.job, self.nodes[0]
        now = int(step.fetched.max()) + 150 * MS
        for rank in self.ranks:
            job.end(rank, now)
        cascade.peers_lost(job, self.ranks[:1], now)
        now += 4 * SECOND
        at = time.strftime("%Y-%m-%dT%H:%M:%S", utc(now // SECOND))
        job.raw(LAUNCHER, now, f"srun: error: Node failure on {job.hosts[node]}", True)
        text = f"*** STEP {job.number}.0 ON {job.hosts[0]} CANCELLED AT {at} DUE TO NODE FAILURE, "
        job.raw(LAUNCHER, now + MS, f"slurmstepd: error: {text}SEE SLURMCTLD LOG FOR DETAILS ***", True)
        for other, host in enumerate(job.hosts):
            ranks = list(job.ranks_of(other))
            for rank in ranks:
                job.end(rank, now + 2 * MS)
            how = "Killed" if other == node else "Terminated"
            text = f"srun: error: {host}: {launchers.task_list(ranks)}: {how}"
            job.raw(LAUNCHER, now + SECOND + other * MS, text, True)
        job.now = now + 2 * SECOND


SCENARIOS = (
    Scenario(
        "ib-flap", "a network port goes down, its peers report it", "network", LinkFlap, least_ranks=2, least_nodes=2
    ),
    Scenario(
        "node-down", "a node goes down, the scheduler cancels the step", "crash", NodeDown, least_ranks=2, least_nodes=2
    ),
)
