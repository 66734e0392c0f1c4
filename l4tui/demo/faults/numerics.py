"""Healthy jobs, bad numbers, slow ranks: faults that end no job by themselves."""

from __future__ import annotations

import numpy as np

from l4tui.demo import launchers
from l4tui.demo.cascade import PATTERNS
from l4tui.demo.faults.base import Fault, Scenario
from l4tui.demo.launchers import DYING, Death
from l4tui.demo.steps import MS, Step
from l4tui.demo.tracebacks import FIT, TRAIN, traceback


class Silent(Fault):
    """One rank stops printing; the job goes on to its end."""

    stage, scope = "train", "ranks"

    def prepare(self) -> None:
        self.blame_rank()
        if self.ranks == [self.job.ranks - 1] and self.job.ranks > 1:  # the rank with the metrics would be too easy
            self.ranks = [self.job.ranks - 2]
            self.nodes = [self.job.node_of(self.ranks[0])]

    def shape(self, step: Step) -> None:
        if step.number == self.at + 1:
            self.job.muted.add(self.ranks[0])


class Straggler(Fault):
    """The forward pass of one rank gets slow; all others wait for it."""

    stage, scope = "train", "ranks"

    def prepare(self) -> None:
        self.blame_rank()

    def shape(self, step: Step) -> None:
        if step.number >= self.at:
            step.forward[self.ranks[0]] *= self.rng.uniform(3.0, 3.6)


class NanRank(Fault):
    """The local loss of one rank is NaN; a step later it is NaN everywhere, and the program gives up."""

    stage, scope, outcome = "train", "ranks", "failed"
    cascade = (*PATTERNS, r"loss has been nan for \d+ steps")

    def prepare(self) -> None:
        rank = self.blame_rank()
        self.patterns = (rf"found NaN in local forward loss calculation.*rank {rank}\b",)
        self.scopes = ("culprit",)

    def shape(self, step: Step) -> None:
        if step.number == self.at:
            step.loss[self.ranks[0]] = np.nan
            step.norm = float("nan")
        elif step.number > self.at:
            step.loss[:] = np.nan
            step.norm = float("nan")

    def during(self, step: Step) -> None:
        if step.number == self.at:
            rank = self.ranks[0]
            text = (
                f"found NaN in local forward loss calculation, iteration {self.at}, rank {rank}, "
                f"device {self.job.local(rank)}"
            )
            self.job.say(rank, int(step.done[rank]) - 30 * MS, "trainer.py:219:check", text, "WARNING")

    def breaks(self, stage: str, number: int = 0) -> bool:
        return stage == "train" and number == self.at + 9

    def strike(self, step: Step | None) -> None:
        job = self.job
        frames = [*FIT, (f"{TRAIN}/trainer.py", 226, "check", "raise FloatingPointError(text)")]
        deaths = []
        for rank, now in job.jitter(range(job.ranks), 0.3):
            job.raise_on(rank, now, traceback(frames, "FloatingPointError: loss has been nan for 8 steps"))
            deaths.append(Death(rank, now + DYING, 1))
        launchers.fail(job, deaths)


class LossSpike(Fault):
    """The loss of all ranks jumps and comes down slowly: nobody's fault."""

    stage, scope = "train", "job"

    def shape(self, step: Step) -> None:
        if step.number >= self.at:
            rise = 6.5 * float(np.exp(-(step.number - self.at) / 9))
            step.loss += rise
            step.norm *= 1 + 9 * float(np.exp(-(step.number - self.at) / 5))


SCENARIOS = (
    Scenario("healthy", "nothing goes wrong", "", Fault),
    Scenario("silent-rank", "one rank stops printing, the job goes on", "hang", Silent),
    Scenario("straggler", "one rank's forward pass gets slow, all others wait", "straggler", Straggler),
    Scenario("nan-rank", "NaN on one rank spreads to all", "numerics", NanRank),
    Scenario("loss-spike", "the loss of the whole job jumps", "numerics", LossSpike),
)
