"""Faults at the start, and ends that come from outside."""

from __future__ import annotations

import time

from l4tui.demo import cascade, launchers
from l4tui.demo.faults.base import Fault, Scenario
from l4tui.demo.ink import SECOND, utc
from l4tui.demo.job import LAUNCHER
from l4tui.demo.launchers import DYING, Death, agent_stamp, uses_agents
from l4tui.demo.steps import MS, Step
from l4tui.demo.tracebacks import BUILD, MAIN, Frame, traceback

TORCH = "/usr/local/lib/python3.11/dist-packages/torch/distributed"


class OddVersion(Fault):
    """One node has an older NCCL: the process group cannot be built."""

    stage, scope, ends, outcome = "init", "nodes", True, "failed"
    OLD, NEW = "2.21.5", "2.25.1"
    cascade = (*cascade.PATTERNS, r"ncclInvalidUsage", r"DistBackendError: NCCL error")

    def prepare(self) -> None:
        self.blame_node()
        self.patterns = (
            rf"NCCL version {self.OLD}\+cuda",
            rf"Mismatched NCCL version detected : rank \d+ version {self.NEW} rank \d+ version {self.OLD}",
            r"package versions differ from the lock file",
        )
        self.scopes = ("any", "any", "culprit")

    def strike(self, step: Step | None) -> None:
        job, head = self.job, self.ranks[0]
        job.wait(1)
        for rank, now in job.jitter(range(job.ranks), 1.5):
            where = f"host {job.host(rank)} local_rank {job.local(rank)} pid {job.pids[rank]}"
            job.say(rank, now, "comm.py:37:init", f"initializing distributed: rank {rank} of {job.ranks}, {where}")
        warning = f"package versions differ from the lock file: nvidia-nccl {self.OLD} != {self.NEW}"
        job.say(head, job.now + SECOND, "pretrain.py:29:check_packages", warning, "WARNING")
        job.wait(2)
        job.raw(0 if head else job.per_node, job.now, f"NCCL version {self.NEW}+cuda12.8")
        job.raw(head, job.now + 30 * MS, f"NCCL version {self.OLD}+cuda12.4")
        job.wait(1)
        deaths = []
        frames: list[Frame] = [
            *MAIN[:1],
            (f"{TORCH}/distributed_c10d.py", 4164, "barrier", "work = group.barrier(opts=opts)"),
        ]
        error = (
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, invalid usage, NCCL version "
        )
        error += f"{self.NEW}\nncclInvalidUsage: This usually reflects invalid usage of NCCL library."
        for rank, now in job.jitter((r for r in range(job.ranks) if r not in self.ranks), 1.0):
            text = f"Mismatched NCCL version detected : rank {rank} version {self.NEW} rank {head} version {self.OLD}"
            cascade.warn(job, rank, now, "init.cc:1041", text)
            job.raise_on(rank, now + 40 * MS, traceback(frames, error))
            deaths.append(Death(rank, now + DYING, 1))
        job.wait(2)
        launchers.fail(job, deaths)
        job.wait(2)


class BadConfig(Fault):
    """Every rank refuses the configuration: nobody in particular is to blame."""

    stage, scope, ends, outcome = "model_build", "job", True, "failed"

    def prepare(self) -> None:
        self.patterns, self.scopes = (r"ValueError: hidden_size 4096 is not divisible by num_heads 48",), ("culprit",)

    def strike(self, step: Step | None) -> None:
        job, deaths = self.job, []
        job.wait(0.5)
        job.say(0, job.now, "model.py:112:build", "building model: 32 layers, hidden 4096, 48 heads")
        error = "ValueError: hidden_size 4096 is not divisible by num_heads 48"
        for rank, now in job.jitter(range(job.ranks), 0.6):
            job.raise_on(rank, now, traceback(BUILD, error))
            deaths.append(Death(rank, now + DYING, 1))
        job.wait(1)
        launchers.fail(job, deaths)
        job.wait(2)


class TimeLimit(Fault):
    """The scheduler's time limit ends a healthy job."""

    stage, scope, ends, outcome = "train", "job", True, "failed"

    def prepare(self) -> None:
        self.patterns, self.scopes = (r"CANCELLED AT \S+ DUE TO TIME LIMIT",), ("agent",)
        self.cascade = (
            *(p for p in cascade.PATTERNS if "slurmstepd" not in p),
            r"death signal",
            r"SignalException",
        )

    def strike(self, step: Step | None) -> None:
        assert step is not None
        job, now = self.job, int(step.fetched.max()) + 200 * MS
        at = time.strftime("%Y-%m-%dT%H:%M:%S", utc(now // SECOND))
        text = f"*** STEP {job.number}.0 ON {job.hosts[0]} CANCELLED AT {at} DUE TO TIME LIMIT ***"
        job.raw(LAUNCHER, now, f"slurmstepd: error: {text.replace('STEP', 'JOB').replace('.0 ', ' ')}", True)
        job.raw(LAUNCHER, now + MS, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", True)
        if uses_agents(job):
            for node in range(job.nodes):
                self.agent_stops(node, now + int(self.rng.uniform(2, 60)) * MS)
            return
        if job.spec.layout == "srun":
            for node, host in enumerate(job.hosts):
                job.raw(-1 - node, now + 2 * MS, f"slurmstepd-{host}: error: {text}", True)
        for node, host in enumerate(job.hosts):
            ranks = launchers.task_list(list(job.ranks_of(node)))
            job.raw(LAUNCHER, now + SECOND + node * MS, f"srun: error: {host}: {ranks}: Terminated", True)
        job.now = now + 2 * SECOND

    def agent_stops(self, node: int, now: int) -> None:
        job, agent = self.job, -1 - node
        where = "torch/distributed/elastic/agent/server/api.py:719"
        job.raw(agent, now, agent_stamp(job, node, "W", now, where) + "Received 15 death signal, shutting down workers")
        for rank in job.ranks_of(node):
            now += 800_000
            head = agent_stamp(job, node, "W", now, "torch/distributed/elastic/multiprocessing/api.py:906")
            job.raw(agent, now, f"{head}Sending process {job.pids[rank]} closing signal SIGTERM")
        error = (
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process "
            f"{job.agent_pids[node]} got signal: 15"
        )
        frames: list[Frame] = [("/usr/local/bin/torchrun", 8, "<module>", "sys.exit(main())")]
        job.raw(agent, now + SECOND, traceback(frames, error), True)
        job.now = max(job.now, now + SECOND)


class PortInUse(Fault):
    """The rendezvous port on the first node is taken by a process of an earlier job."""

    stage, scope, ends, outcome = "launch", "nodes", True, "failed"
    cascade = (r"Rendezvous(Connection|Timeout)Error", r"client socket has timed out", r"failed to connect")

    def prepare(self) -> None:
        self.nodes = [0]
        self.also = list(self.job.ranks_of(0))
        self.patterns, self.scopes = (r"EADDRINUSE",), ("agent",)

    def strike(self, step: Step | None) -> None:
        job = self.job
        launchers.start(job)
        job.wait(4)
        error = (
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
            "network address. port: "
            "29500, useIpv6: 0, code: -98, name: EADDRINUSE, message: address already in use"
        )
        if not uses_agents(job):
            store: list[Frame] = [*MAIN[:1], (f"{TORCH}/rendezvous.py", 189, "_create_c10d_store", "return TCPStore(")]
            job.raw(0, job.now, traceback(store, error), True)
            launchers.fail(job, [Death(0, job.now + SECOND, 1)])
            return
        launch = "launch_agent(self._config, self._entrypoint, list(args))"
        frames: list[Frame] = [
            ("/usr/local/bin/torchrun", 8, "<module>", "sys.exit(main())"),
            (f"{TORCH}/launcher/api.py", 138, "__call__", launch),
            (f"{TORCH}/elastic/rendezvous/c10d_rendezvous_backend.py", 166, "_create_tcp_store", "store = TCPStore("),
        ]
        job.raw(-1, job.now, traceback(frames, error), True)
        job.wait(60)
        lost = (
            "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to "
            "the C10d store has failed. "
        )
        for node in range(1, job.nodes):
            now = job.now + int(self.rng.uniform(0, 2) * SECOND)
            text = (
                f"TCP client failed to connect/validate to host {job.hosts[0]}:29500 - retrying "
                "(try=0, timeout=60000ms, "
            )
            text += "delay=41234ms): Connection refused"
            tried = now - 50 * SECOND
            stamp = f"{job.ink.date(tried, '%m%d').lstrip('0')} {job.ink.clock(tried, '.', 9)}"
            job.raw(-1 - node, tried, f"[W{stamp} socket.cpp:460] [c10d] {text}", True)
            job.raw(-1 - node, now, traceback(frames[:2], lost + "See inner exception for details."), True)
        job.wait(3)


class MissingNode(Fault):
    """One node never joins: its agent starts no ranks, all others wait for it in vain."""

    stage, scope, ends, outcome = "init", "nodes", True, "failed"

    def prepare(self) -> None:
        node = 1 + int(self.rng.integers(self.job.nodes - 1))
        self.ranks, self.nodes = list(self.job.ranks_of(node)), [node]
        self.patterns, self.scopes = (
            (r"Timed out after \d+ seconds waiting for clients\. \d+/\d+ clients joined",),
            ("any",),
        )

    def strike(self, step: Step | None) -> None:
        job, deaths = self.job, []
        job.wait(1)
        here = [rank for rank in range(job.ranks) if rank not in self.ranks]
        for rank, now in job.jitter(here, 1.5):
            where = f"host {job.host(rank)} local_rank {job.local(rank)} pid {job.pids[rank]}"
            job.say(rank, now, "comm.py:37:init", f"initializing distributed: rank {rank} of {job.ranks}, {where}")
        job.wait(301)
        frames: list[Frame] = [*MAIN[:1], (f"{TORCH}/rendezvous.py", 189, "_create_c10d_store", "return TCPStore(")]
        error = "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. "
        for rank, now in job.jitter(here, 0.9):
            text = f"{error}{len(here)}/{job.ranks} clients joined."
            job.raw(rank, now, traceback(frames, text), True)
            deaths.append(Death(rank, now + DYING, 1))
        launchers.fail(job, deaths)
        job.wait(2)


SCENARIOS = (
    Scenario(
        "node-missing",
        "one node never joins, all others wait in vain",
        "hang",
        MissingNode,
        least_ranks=2,
        least_nodes=2,
    ),
    Scenario(
        "version-mismatch", "one node has another NCCL version", "version", OddVersion, least_ranks=2, least_nodes=2
    ),
    Scenario("config-error", "all ranks refuse the configuration", "config", BadConfig),
    Scenario("time-limit", "the scheduler's time limit ends the job", "scheduler", TimeLimit),
    Scenario("port-in-use", "the rendezvous port is taken on the first node", "config", PortInUse),
)
