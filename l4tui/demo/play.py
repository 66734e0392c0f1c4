"""Run a job from launch to its end: batches of lines, one a stage or an iteration."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from l4tui.demo import kernel, stages
from l4tui.demo.faults import Fault, scenario_named
from l4tui.demo.job import Job, Line, Spec
from l4tui.demo.steps import Step, finish, habits, noise
from l4tui.demo.styles import style_named


class Batch(NamedTuple):
    """Lines in order of time; `iteration` is 0 outside training."""

    stage: str
    iteration: int
    lines: list[Line]


SETUP: tuple[tuple[str, Callable[[Job], None]], ...] = (
    ("launch", stages.launch),
    ("init", stages.init),
    ("data", stages.data),
    ("model_build", stages.model_build),
)


def prepare(spec: Spec) -> tuple[Job, Fault]:
    """Set up a job and its fault.

    Raises:
        ValueError: an unknown scenario or style, or a job too small for the scenario.
    """
    scenario = scenario_named(spec.scenario)
    if spec.ranks < scenario.least_ranks or spec.nodes < scenario.least_nodes:
        needs = f"{scenario.least_ranks} ranks on {scenario.least_nodes} nodes"
        raise ValueError(f"scenario {spec.scenario} needs at least {needs}")
    job = Job(spec, style_named(spec.style))
    job.npu = scenario.npu
    return job, scenario.fault(job)


def play(job: Job, fault: Fault, stretch: Callable[[int], int] | None = None) -> Iterator[Batch]:
    """Yield the whole job.

    `stretch` may write iterations of its own before the first: it gets that one's number and returns the next's.
    """
    first = 1
    while True:
        for name, stage in SETUP:
            if fault.breaks(name):
                fault.strike(None)
                yield Batch(name, 0, job.flush())
                return
            if name == "launch" and fault.kernel_logs and not job.attempt:
                kernel.boot(job)
            stage(job)
            fault.after(name)
            yield Batch(name, 0, job.flush())
        if stretch and not job.attempt:
            first = stretch(first)
        ended = yield from train(job, fault, first)
        if ended or job.restarts_left <= 0:
            return
        job.restarts_left -= 1
        restart(job, fault)
        first = job.resumed + 1


def restart(job: Job, fault: Fault) -> None:
    """Begin the next attempt: new processes, same launcher."""
    fault.between()
    job.attempt += 1
    job.resumed = fault.at - fault.at % job.ckpt_every
    job.renew_pids()
    job.wait(20)


def train(job: Job, fault: Fault, first: int) -> Generator[Batch, None, bool]:
    """Yield the training iterations with checkpoints and evaluations; return True when the job reached its end."""
    for number in range(first, job.iterations + 1):
        step = begin(job, fault, number)
        if fault.breaks("train", number):
            fault.strike(step)
            yield Batch("train", number, job.flush())
            return False
        end(job, fault, step)
        yield Batch("train", number, job.flush())
        for name, every, stage in (
            ("checkpoint", job.ckpt_every, stages.checkpoint),
            ("eval", job.eval_every, stages.evaluate),
        ):
            if number % every == 0:
                if fault.breaks(name, number):
                    fault.strike(step)
                    yield Batch(name, number, job.flush())
                    return False
                stage(job, number)
                yield Batch(name, number, job.flush())
    stages.teardown(job)
    yield Batch("teardown", 0, job.flush())
    return True


def begin(job: Job, fault: Fault, number: int) -> Step:
    """Start an iteration: what ranks say before they wait for each other."""
    step = Step(job, number)
    fault.shape(step)
    step.settle(job.rng)
    for rank in range(job.ranks):
        job.style.begin(job, step, rank)
    return step


def end(job: Job, fault: Fault, step: Step) -> None:
    """End an iteration: what ranks say when it is done."""
    for rank in range(job.ranks):
        job.style.step(job, step, rank)
    habits(job, step)
    noise(job, step, fault.decoys)
    fault.during(step)
    finish(job, step)
