"""What every scenario has: who is to blame, when it happens, which lines prove it."""

from __future__ import annotations

from dataclasses import dataclass

from l4tui.demo import cascade, launchers
from l4tui.demo.job import LAUNCHER, Job
from l4tui.demo.launchers import Death
from l4tui.demo.steps import Step


class Fault:
    """A fault of one run; the base class is the healthy job.

    `patterns` are regular expressions that match the lines of the root failure, each with its scope in `scopes`:
    "culprit", "agent" (a launcher says it) or "any" (victims say it when the culprit is silent).
    """

    stage: str | None = None  # the stage it strikes in
    ends = False  # the job ends with it
    outcome = "completed"
    kernel_logs = False  # the nodes' kernel logs stand beside the job's
    scope = "none"
    patterns: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    cascade: tuple[str, ...] = cascade.PATTERNS

    def __init__(self, job: Job) -> None:
        self.job = job
        self.rng = job.rng
        self.ranks: list[int] = []
        self.nodes: list[int] = []
        self.also: list[int] = []  # peers that look the same from the log
        self.at = self.middle()
        self.decoys = sorted({int(r) for r in self.rng.integers(0, job.ranks, 1 + job.ranks // 12)})
        self.prepare()

    def middle(self) -> int:
        """Choose an iteration in the later half, not next to a checkpoint or an evaluation."""
        job = self.job
        last = job.spec.iterations
        at = int(last * self.rng.uniform(0.62, 0.82))
        while any(n % job.ckpt_every == 0 or n % job.eval_every == 0 for n in (at - 1, at, at + 1)):
            at -= 1
            if at < 4:
                return max(3, last // 2)
        return at

    def prepare(self) -> None:
        """Choose culprits."""

    def blame_rank(self) -> int:
        """Choose one rank as the culprit and return it."""
        rank = int(self.rng.integers(self.job.ranks))
        self.ranks, self.nodes = [rank], [self.job.node_of(rank)]
        self.decoys = [r for r in self.decoys if r != rank]
        return rank

    def blame_node(self) -> int:
        """Choose one node with all its ranks as culprit and return it."""
        node = int(self.rng.integers(self.job.nodes))
        self.ranks, self.nodes = list(self.job.ranks_of(node)), [node]
        self.decoys = [r for r in self.decoys if r not in self.ranks]
        return node

    def shape(self, step: Step) -> None:
        """Change an iteration before it is written."""

    def during(self, step: Step) -> None:
        """Say more in an iteration."""

    def after(self, stage: str) -> None:
        """Say more after one of the stages before training."""

    def breaks(self, stage: str, number: int = 0) -> bool:
        """Tell whether the job ends in this stage (in training: in this iteration)."""
        return self.ends and stage == self.stage and number in (0, self.at)

    def strike(self, step: Step | None) -> None:
        """Write the end of a job that fails."""

    def between(self) -> None:
        """Say what stands between two attempts where no agent restarts the ranks."""
        job = self.job
        if not launchers.uses_agents(job):
            job.raw(LAUNCHER, job.wait(5), f"+ restarting job {job.number}, attempt {job.attempt + 1}")

    def lost(self, deaths: list[Death]) -> None:
        """End the job after ranks died by themselves: their neighbours notice, the launcher ends the rest."""
        when = min(death.time for death in deaths)
        launchers.fail(self.job, deaths + cascade.peers_lost(self.job, [death.rank for death in deaths], when))
        self.job.wait(2)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the list of scenarios."""

    name: str
    summary: str  # one line for people
    cause: str  # as in a report's verdict; "" when healthy
    fault: type[Fault]
    npu: bool = False
    least_ranks: int = 1
    least_nodes: int = 1
