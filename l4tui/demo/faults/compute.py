"""Faults of one process or its GPU."""

from __future__ import annotations

from l4tui.demo import kernel, launchers
from l4tui.demo.faults.base import Fault, Scenario
from l4tui.demo.ink import SECOND
from l4tui.demo.job import Job
from l4tui.demo.launchers import Death
from l4tui.demo.stages import bus_of
from l4tui.demo.steps import MS, Step
from l4tui.demo.tracebacks import BACKWARD, FIT, FORWARD, LIB, TRAIN, Frame, traceback


class Dies(Fault):
    """Base of faults that kill one rank in the forward or backward pass."""

    stage, scope, ends, outcome = "train", "ranks", True, "failed"
    code = 1

    def prepare(self) -> None:
        self.blame_rank()
        self.told()

    def told(self) -> None:
        """Set the patterns."""

    def strike(self, step: Step | None) -> None:
        assert step is not None
        rank = self.ranks[0]
        now = int(step.fetched[rank]) + int(self.rng.uniform(120, 380)) * MS
        self.speak(rank, now)
        self.lost([Death(rank, now + SECOND // 4, self.code)])

    def speak(self, rank: int, now: int) -> None:
        """Say the culprit's last words."""


class GpuMemory(Dies):
    """One rank runs out of GPU memory after its use crept up."""

    def told(self) -> None:
        self.patterns, self.scopes = (
            (rf"\[rank{self.ranks[0]}\]: torch\.OutOfMemoryError: CUDA out of memory",),
            ("culprit",),
        )

    def shape(self, step: Step) -> None:
        step.memory[self.ranks[0]] += min(15.0, 15.0 * step.number / self.at)

    def speak(self, rank: int, now: int) -> None:
        free = self.rng.uniform(0.1, 0.9)
        error = (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU "
            f"{self.job.local(rank)} has a total "
            f"capacity of 79.11 GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has "
            f"{79.11 - free:.2f} GiB memory in use. Of the allocated memory 70.42 GiB is allocated by "
            "PyTorch, and 5.38 GiB is "
            "reserved by PyTorch but unallocated."
        )
        frames: list[Frame] = [*FORWARD, (f"{TRAIN}/layers.py", 97, "forward", "scores = torch.matmul(query, key)")]
        self.job.raise_on(rank, now, traceback(frames, error))


class ForwardException(Dies):
    """One rank meets a token id outside the vocabulary."""

    def told(self) -> None:
        self.patterns, self.scopes = (
            (rf"\[rank{self.ranks[0]}\]: IndexError: index out of range in self",),
            ("culprit",),
        )

    def speak(self, rank: int, now: int) -> None:
        frames: list[Frame] = [
            *FORWARD,
            (f"{LIB}/torch/nn/functional.py", 2551, "embedding", "return torch.embedding(weight, input, padding_idx)"),
        ]
        self.job.raise_on(rank, now, traceback(frames, "IndexError: index out of range in self"))


def _end_told(job: Job, rank: int, signal: int, name: str, words: str) -> tuple[str, ...]:
    """Return what the launcher writes of a rank that a signal ended; words is a regex of mpirun's and srun's."""
    pid = job.pids[rank]
    if launchers.uses_agents(job):
        ended = rf"failed \(exitcode: -{signal}\) local_rank: \d+ \(pid: {pid}\)"
        return (ended, rf"\({name}\) received by PID {pid}\b")
    if job.spec.layout == "mpirun":
        return (rf"process rank {rank} with PID {pid} .*\(({words})\)",)
    return (rf"task {rank}: ({words})",)


class Killed(Dies):
    """The kernel kills one rank for host memory; the rank itself says nothing."""

    code = -9
    kernel_logs = True

    def told(self) -> None:
        job, rank = self.job, self.ranks[0]
        pid = job.pids[rank]
        self.patterns = _end_told(job, rank, 9, "SIGKILL", "Killed|Out Of Memory")
        self.patterns += (rf"invoked oom-killer|[Oo]ut of memory: Killed process {pid} |oom-kill:.*pid={pid}\b",)
        self.scopes = tuple("agent" for _ in self.patterns)
        if job.spec.layout in ("srun", "ranks"):
            self.patterns, self.scopes = (r"Detected 1 oom_kill event", *self.patterns), ("any", *self.scopes)

    def speak(self, rank: int, now: int) -> None:
        job, node = self.job, self.job.node_of(rank)
        pid = job.pids[rank]
        kernel.say(job, node, now, "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0")
        text = f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,task=python3,pid={pid},uid=1003"
        kernel.say(job, node, now + 10_000, text)
        text = f"Memory cgroup out of memory: Killed process {pid} (python3) total-vm:238812432kB, anon-rss:201123344kB"
        kernel.say(job, node, now + 20_000, text)
        if job.spec.layout in ("srun", "ranks"):
            text = f"slurmstepd-{job.hosts[node]}: error: Detected 1 oom_kill event in StepId={job.number}.0. "
            job.raw(-1 - node, now + SECOND, text + "Some of the step tasks have been OOM Killed.", True)


class Segfault(Dies):
    """One rank crashes in native code."""

    code = -11

    def told(self) -> None:
        self.patterns = _end_told(self.job, self.ranks[0], 11, "SIGSEGV", "Segmentation fault")
        self.scopes = tuple("agent" for _ in self.patterns)
        self.patterns += (r"Fatal Python error: Segmentation fault",)  # what the launcher tells of the same end counts
        self.scopes += ("any",)

    def speak(self, rank: int, now: int) -> None:
        thread = f"0x{int(self.rng.integers(1 << 44, 1 << 46)):016x}"
        frames = [*reversed(BACKWARD)]
        stack = "\n".join(f'  File "{file}", line {line} in {name}' for file, line, name, _ in frames)
        text = f"Fatal Python error: Segmentation fault\n\nCurrent thread {thread} (most recent call first):\n{stack}\n"
        self.job.raw(rank, now, text.rstrip("\n"), True)


class EccError(Dies):
    """A GPU has an uncorrectable memory error; the kernel log of its node has the Xid."""

    code = -6
    kernel_logs = True

    def told(self) -> None:
        self.patterns = (
            rf"\[rank{self.ranks[0]}\]: .*uncorrectable ECC error encountered",
            r"NVRM: Xid \(PCI:[0-9a-f:]+\): (48|94),",
        )
        self.scopes = ("culprit", "agent")

    def speak(self, rank: int, now: int) -> None:
        job, node = self.job, self.job.node_of(rank)
        text = f"pid={job.pids[rank]}, name=python3, DBE (double bit error) ECC error at SM0, contained: no"
        kernel.say(job, node, now - 40 * MS, f"NVRM: Xid (PCI:{bus_of(job.local(rank))}): 48, {text}")
        for other in range(min(2, job.per_node)):
            text = f"pid={job.pids[node * job.per_node + other]}, name=python3, Ch 00000008"
            kernel.say(job, node, now + SECOND, f"NVRM: Xid (PCI:{bus_of(other)}): 45, {text}")
        frames: list[Frame] = [*FIT, (f"{TRAIN}/trainer.py", 212, "train_step", "self.optimizer.step()")]
        error = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered\nCUDA kernel errors might be "
        error += "asynchronously reported at some other API call, so the stacktrace below might be incorrect."
        job.raise_on(rank, now, traceback(frames, error))


class OffBus(Dies):
    """A GPU falls off the bus and takes its node with it."""

    code = -6
    kernel_logs = True

    def told(self) -> None:
        self.patterns = (
            rf"\[rank{self.ranks[0]}\]: .*CUDA error: unknown error",
            r"Xid \(PCI:[0-9a-f:]+\): 79,|fallen off the bus",
        )
        self.scopes = ("culprit", "agent")

    def speak(self, rank: int, now: int) -> None:
        job, node = self.job, self.job.node_of(rank)
        bus = bus_of(job.local(rank))
        lost = f"NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', GPU has fallen off the bus."
        kernel.say(job, node, now - 9 * MS, lost)
        kernel.say(job, node, now - 8 * MS, f"NVRM: GPU {bus}.0: GPU has fallen off the bus.")
        job.raise_on(rank, now, traceback(FORWARD, "torch.AcceleratorError: CUDA error: unknown error"))


class ElasticRestart(Dies):
    """A rank dies on the same record in both attempts: the launcher restarts the job once, then gives up."""

    def told(self) -> None:
        self.patterns = (rf"\[rank{self.ranks[0]}\]: ValueError: record \d+ of shard_\d+: checksum mismatch",)
        self.scopes = ("culprit",)
        self.job.restarts_left = 1

    def speak(self, rank: int, now: int) -> None:
        frames: list[Frame] = [*FIT, (f"{TRAIN}/data.py", 148, "decode", "raise ValueError(text)")]
        error = (
            f"ValueError: record {1711 + rank} of shard_{rank + 204:05}: checksum mismatch, stored "
            "9f31c2aa, computed 9f31c2ab"
        )
        self.job.raise_on(rank, now, traceback(frames, error))


class Recovers(Killed):
    """The kernel kills one rank; the job is restarted from its checkpoint and ends well."""

    outcome = "completed"

    def told(self) -> None:
        super().told()
        self.job.restarts_left = 1
        if launchers.uses_agents(self.job):  # an agent that restarts prints no table
            self.patterns = (self.patterns[0], self.patterns[-1])
            self.scopes = ("agent", "agent")

    def breaks(self, stage: str, number: int = 0) -> bool:
        return super().breaks(stage, number) and not self.job.attempt


SCENARIOS = (
    Scenario("oom-gpu", "one rank runs out of GPU memory", "oom_gpu", GpuMemory),
    Scenario("rank-exception", "one rank raises in the forward pass", "code", ForwardException),
    Scenario("rank-killed", "the kernel kills one rank for host memory", "oom_host", Killed),
    Scenario("segfault", "one rank crashes in native code", "crash", Segfault),
    Scenario("ecc-error", "uncorrectable memory error of one GPU, Xid in dmesg", "gpu", EccError),
    Scenario("gpu-off-bus", "a GPU falls off the bus, Xid 79 in dmesg", "gpu", OffBus),
    Scenario("elastic-restart", "the same rank fails in two attempts", "data", ElasticRestart),
    Scenario("restart-recovers", "a rank is killed, the restarted job ends well", "oom_host", Recovers),
)
