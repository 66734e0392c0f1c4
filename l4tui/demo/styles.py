"""How programs write their log records: one class a style, registered by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from l4tui.demo.ink import Ink

if TYPE_CHECKING:
    from l4tui.demo.job import Job
    from l4tui.demo.steps import Step


class Style:
    """Python logging: time, logger, level, call site, message."""

    def __init__(self, ink: Ink) -> None:
        self.ink = ink

    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        """Return one log record, which may have several lines."""
        file, line, _ = site.split(":")
        stamp = f"{self.ink.date(time)} {self.ink.clock(time, ',', 3)}"
        return f"{stamp} - {file.removesuffix('.py')} - {level} - {file}:{line} - {self.named(job, rank, message)}"

    def named(self, job: Job, rank: int, message: str) -> str:
        """Put the rank into the message where no launcher tells it."""
        return f"[rank {rank}] {message}" if job.spec.layout == "plain" else message

    def begin(self, job: Job, step: Step, rank: int) -> None:
        """Say what a rank says while an iteration is under way."""
        fetched = f"batch {self.ink.step(step.number)} ready in {self.ink.number(step.data[rank], '.2f', 2)} ms"
        job.say(rank, int(step.fetched[rank]), "data.py:131:__next__", fetched, "DEBUG")

    def step(self, job: Job, step: Step, rank: int) -> None:
        """Say what a rank says at the end of an iteration."""
        now = int(step.done[rank])
        job.say(rank, now, "trainer.py:214:train_step", self.timing(step, rank))
        if rank == job.ranks - 1:
            job.say(rank, now + 400_000, "trainer.py:241:log_metrics", self.metrics(job, step))

    def timing(self, step: Step, rank: int) -> str:
        num, ms = self.ink.number, step.parts(rank)
        return (
            f"step {self.ink.step(step.number)} local loss {num(step.loss[rank], '.4f')} forward {num(ms[0], '.1f')} "
            f"backward {num(ms[1], '.1f')} comm wait {num(ms[2], '.1f')} optimizer {num(ms[3], '.1f')} ms"
        )

    def metrics(self, job: Job, step: Step) -> str:
        num = self.ink.number
        return (
            f"iteration {self.ink.step(step.number)}/{job.iterations} loss {num(step.mean, '.4f')} "
            f"grad norm {num(step.norm, '.3f')} lr {step.rate:.3e} "
            f"samples/s {num(1000 * job.batch / step.elapsed, '.1f')} time {num(step.elapsed, '.1f')} ms"
        )


class Megatron(Style):
    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        if level == "INFO":
            return self.named(job, rank, message)
        return f"{level}:{site.split(':')[0].removesuffix('.py')}:{self.named(job, rank, message)}"

    def begin(self, job: Job, step: Step, rank: int) -> None:
        return None  # quiet until the step is done

    def step(self, job: Job, step: Step, rank: int) -> None:
        num, n, now = self.ink.number, self.ink.step(step.number), int(step.done[rank])
        ms = step.parts(rank)
        timers = (
            f"[Rank {rank}] (after {n} iterations) timers (ms) | forward-compute: {num(ms[0], '.2f', 2)} | "
            f"backward-compute: {num(ms[1], '.2f', 2)} | grads-all-reduce: {num(ms[2], '.2f', 2)} | "
            f"optimizer: {num(ms[3], '.2f', 2)} | local lm loss: {num(step.loss[rank], '.6f')}"
        )
        job.raw(rank, now, timers)
        if rank == job.ranks - 1:
            job.raw(rank, now + 300_000, self.iteration(job, step))

    def iteration(self, job: Job, step: Step) -> str:
        ink, num, done = self.ink, self.ink.number, step.time + int(step.elapsed * 1e6)
        nan = step.mean != step.mean
        loss = "" if nan else f" lm loss: {num(step.mean, '.6E', 0)} |"
        return (
            f" [{ink.date(done)} {ink.clock(done, '.', 6)}] iteration {ink.step(step.number, 8)}/{job.iterations:8d} | "
            f"consumed samples: {ink.total(step.number * job.batch, 12)} | elapsed time per iteration (ms): "
            f"{num(step.elapsed, '.1f')} | throughput per GPU (TFLOP/s/GPU): {num(4.2e5 / step.elapsed, '.1f')} | "
            f"learning rate: {step.rate:.6E} | global batch size: {job.batch:5d} |{loss} loss scale: 1.0 | "
            f"grad norm: {num(step.norm, '.3f')} | number of skipped iterations: {0:3d} | "
            f"number of nan iterations: {int(nan):3d} |"
        )


class Titan(Style):
    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        stamp = f"{self.ink.date(time)} {self.ink.clock(time, ',', 3)}"
        return f"[titan] {stamp} - root - {level} - {self.named(job, rank, message)}"

    def begin(self, job: Job, step: Step, rank: int) -> None:
        return None  # quiet until the step is done

    def step(self, job: Job, step: Step, rank: int) -> None:
        num, ms = self.ink.number, step.parts(rank)
        text = (
            f"\x1b[31mstep: {self.ink.step(step.number, 2)}  \x1b[32mloss: {num(step.loss[rank], '8.5f', 4)}  "
            f"\x1b[38;2;180;60;0mgrad_norm: {num(step.norm, '7.4f')}  \x1b[38;2;54;234;195mmemory: "
            f"{num(step.memory[rank], '5.2f', 2)}GiB({num(step.memory[rank] / 0.8, '.2f', 2)}%)  \x1b[34mtps: "
            f"{num(8.2e6 / step.elapsed, ',.0f')}  \x1b[36mtflops: {num(4.2e5 / step.elapsed, '.2f', 2)}  "
            f"\x1b[35mmfu: {num(4.2e4 / step.elapsed, '.2f', 2)}%\x1b[39m"
        )
        job.say(rank, int(step.done[rank]), "metrics.py:402:log", text)
        if step.number % 5 == 0:
            parts = f"step {self.ink.step(step.number)} forward {num(ms[0], '.1f')} backward {num(ms[1], '.1f')}"
            parts += f" reduce {num(ms[2], '.1f')} optimizer {num(ms[3], '.1f')} ms"
            job.say(rank, int(step.done[rank]) + 100_000, "metrics.py:418:log", parts)


class Nemo(Style):
    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        file, line, _ = site.split(":")
        body = self.named(job, rank, message).replace("\n", "\n    ")
        stamp = f"{self.ink.date(time)} {self.ink.clock(time)}"
        return f"[NeMo {level[0]} {stamp} {file.removesuffix('.py')}:{line}] {body}"


class JsonLines(Style):
    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        text = json.dumps(message) if not self.ink.marked else f'"{message}"'
        return self.entry(job, rank, time, level, site, text, "")

    def entry(self, job: Job, rank: int, time: int, level: str, site: str, text: str, fields: str) -> str:
        """Return one object; `text` is quoted, `fields` are JSON members."""
        file, line, function = site.split(":")
        stamp = f"{self.ink.date(time)}T{self.ink.clock(time, '.', 3)}Z"
        own = f', "rank": {rank}' if job.spec.layout == "plain" else ""
        head = f'{{"ts": "{stamp}", "level": "{level}"{own}, "caller": "{file}:{line}:{function}"'
        return f'{head}, "msg": {text}{fields}}}'

    def step(self, job: Job, step: Step, rank: int) -> None:
        num, ms, now = self.ink.number, step.parts(rank), int(step.done[rank])
        fields = (
            f', "step": {self.ink.step(step.number)}, "local_loss": {number_or_nan(num(step.loss[rank], ".4f"))}, '
            f'"forward_ms": {num(ms[0], ".1f")}, "backward_ms": {num(ms[1], ".1f")}, "wait_ms": {num(ms[2], ".1f")}, '
            f'"optimizer_ms": {num(ms[3], ".1f")}'
        )
        self.emit(job, rank, now, "trainer.py:214:train_step", '"step done"', fields)
        if rank == job.ranks - 1:
            fields = (
                f', "iteration": {self.ink.step(step.number)}, "loss": {number_or_nan(num(step.mean, ".4f"))}, '
                f'"grad_norm": {number_or_nan(num(step.norm, ".3f"))}, "lr": {step.rate:.3e}'
            )
            self.emit(job, rank, now + 400_000, "trainer.py:241:log_metrics", '"metrics"', fields)

    def emit(self, job: Job, rank: int, time: int, site: str, text: str, fields: str) -> None:
        shown = time + int(job.skew[job.node_of(rank)])
        job.raw(rank, time, self.entry(job, rank, shown, "INFO", site, text, fields), True)


def number_or_nan(text: str) -> str:
    """Write NaN the way Python's json module does."""
    return "NaN" if text == "nan" else text


class HuggingFace(Style):
    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        file, line, _ = site.split(":")
        stamp = f"{self.ink.date(time)} {self.ink.clock(time, ',', 3)}"
        return f"[{level}|{file}:{line}] {stamp} >> {self.named(job, rank, message)}"

    def begin(self, job: Job, step: Step, rank: int) -> None:
        return None  # quiet until the step is done

    def step(self, job: Job, step: Step, rank: int) -> None:
        num, now = self.ink.number, int(step.done[rank])
        job.say(rank, now, "trainer.py:2548:_inner_training_loop", self.timing(step, rank))
        if rank:
            return
        if step.number % 5 == 0:
            entry = f"{{'loss': {num(step.mean, '.4f')}, 'grad_norm': {num(step.norm, '.4f')}"
            job.raw(0, now + 500_000, entry + f", 'learning_rate': {step.rate:.6e}, 'epoch': {step.number / 400:.2f}}}")
        share, total = step.number / job.iterations, job.iterations
        bar = "█" * int(share * 20) + "▌" + " " * (20 - int(share * 20))
        rate = num(step.elapsed / 1000, ".2f", 2)
        text = f"\r{100 * share:3.0f}%|{bar}| {self.ink.step(step.number)}/{total} [{self.ink.clock(now)}, {rate}s/it]"
        job.raw(0, now + 700_000, text, True)


class Glog(Style):
    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        file, line, _ = site.split(":")
        stamp = f"{self.ink.date(time, '%m%d')} {self.ink.clock(time, '.', 6)}"
        head = f"{level[0]}{stamp} {job.pids[rank]:5d} {file}:{line}] "
        return "\n".join(head + part for part in self.named(job, rank, message).split("\n"))


class DeepSpeed(Style):
    def record(self, job: Job, rank: int, time: int, level: str, site: str, message: str) -> str:
        stamp = f"{self.ink.date(time)} {self.ink.clock(time, ',', 3)}"
        return f"[{stamp}] [{level}] [{site}] [Rank {rank}] {message}"


_STYLES: dict[str, type[Style]] = {
    "python": Style,
    "megatron": Megatron,
    "titan": Titan,
    "nemo": Nemo,
    "json": JsonLines,
    "hf": HuggingFace,
    "glog": Glog,
    "deepspeed": DeepSpeed,
}


def style_named(name: str) -> Style:
    """Return a new style.

    Raises:
        ValueError: no style has that name.
    """
    if name not in _STYLES:
        raise ValueError(f"unknown style {name!r}; one of {', '.join(_STYLES)}")
    return _STYLES[name](Ink())
