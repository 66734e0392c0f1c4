"""The state of one simulated job: who runs where, what time it is, what has been said since the last batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from l4tui.demo.ink import SECOND

if TYPE_CHECKING:
    from l4tui.demo.styles import Style

LAUNCHER = -1_000_000  # writer: scheduler or launcher as a whole
DMESG = -2_000_000  # writer DMESG - n: kernel log of node n
MINUTE = 60 * SECOND
START = 1_772_442_000 * SECOND  # 2026-03-02 09:00:00 UTC


class Line(NamedTuple):
    """Text of one writer at one time; it may hold newlines."""

    time: int  # ns UTC
    order: int  # ties keep the order of writing
    writer: int  # rank; -1-n: agent of node n; LAUNCHER
    text: str
    stderr: bool


@dataclass(frozen=True, slots=True)
class Spec:
    """What to simulate; the same values give the same bytes."""

    scenario: str = "healthy"
    ranks: int = 64
    nodes: int = 8
    seed: int = 0
    style: str = "python"
    layout: str = "torchrun"
    iterations: int = 120
    start: int = START
    ckpt_every: int = 0  # iterations; 0: a sixth of the job

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= self.ranks or self.ranks % self.nodes:
            raise ValueError(f"{self.ranks} ranks do not divide over {self.nodes} nodes")
        if self.iterations < 10:
            raise ValueError("a job needs at least 10 iterations")


def host_names(rng: np.random.Generator, nodes: int) -> list[str]:
    """Return host names of one cluster's fashion."""
    first = int(rng.integers(1, 60))
    forms: list[Callable[[int], str]] = [
        lambda n: f"gpu-a{first + n:03}",
        lambda n: f"nid{5000 + first + n:06}",
        lambda n: f"ip-10-0-{20 + n // 200}-{17 + first + n % 200}",
        lambda n: f"trn{first + n}",
        lambda n: f"node{first + n:04}",
    ]
    form = forms[int(rng.integers(len(forms)))]
    return [form(n) for n in range(nodes)]


class Job:
    """Says lines on behalf of ranks, agents and launcher; `flush` hands them over in order of time."""

    def __init__(self, spec: Spec, style: Style) -> None:
        self.spec, self.style, self.ink = spec, style, style.ink
        self.rng = np.random.default_rng([spec.seed, 0x14])
        self.ranks, self.nodes = spec.ranks, spec.nodes
        self.per_node = spec.ranks // spec.nodes
        self.hosts = host_names(self.rng, spec.nodes)
        self.number = int(self.rng.integers(200_000, 900_000))  # scheduler's job id
        self.attempt = 0
        self.restarts_left = 0
        self.resumed = 0  # iteration of the checkpoint an attempt starts from
        self.now = spec.start
        self.renew_pids()
        self.agent_pids = [int(p) for p in self.rng.integers(2000, 9000, spec.nodes)]
        speed = self.rng.normal(1.0, 0.008, spec.ranks)
        self.speed = speed  # habitual factor of each rank's compute time
        self.skew = self.rng.normal(0, 2e6, spec.nodes).astype(np.int64)  # ns: clock error of each node
        self.batch = 4 * spec.ranks  # samples an iteration
        self.muted: set[int] = set()
        self.iterations = spec.iterations
        self.ckpt_every = spec.ckpt_every or max(5, spec.iterations // 6)
        self.eval_every = 2 * self.ckpt_every
        self.npu = False
        self.torn_records = spec.layout in ("srun", "mpirun", "plain")  # lines of records interleave with others' lines
        self._said: list[Line] = []
        self._ends: dict[int, int] = {}  # rank: time after which its process says nothing
        self._order = 0

    def renew_pids(self) -> None:
        """Give every rank a new process."""
        self._ends = {}
        base = self.rng.integers(10_000, 40_000, self.nodes)
        steps = self.rng.integers(1, 9, self.ranks).reshape(self.nodes, -1).cumsum(axis=1)
        self.pids = [int(p) for p in (base[:, None] + steps).ravel()]

    def node_of(self, rank: int) -> int:
        return rank // self.per_node

    def local(self, rank: int) -> int:
        return rank % self.per_node

    def host(self, rank: int) -> str:
        return self.hosts[self.node_of(rank)]

    def ranks_of(self, node: int) -> range:
        return range(node * self.per_node, (node + 1) * self.per_node)

    def address(self, node: int) -> str:
        return f"10.4.{node // 200}.{11 + node % 200}"

    def raw(self, writer: int, time: int, text: str, stderr: bool = False) -> None:
        """Write text as it is, on behalf of a rank (≥ 0), an agent (-1-node) or the launcher."""
        if writer >= 0:
            if writer in self.muted:
                return
            time += int(self.skew[self.node_of(writer)])
        if writer >= 0 and self.torn_records and "\n" in text:
            for i, part in enumerate(text.split("\n")):
                self._append(time + i * 90_000, writer, part, stderr)
            return
        self._append(time, writer, text, stderr)

    def _append(self, time: int, writer: int, text: str, stderr: bool) -> None:
        self._order += 1
        self._said.append(Line(time, self._order, writer, text, stderr))

    def say(self, rank: int, time: int, site: str, message: str, level: str = "INFO") -> None:
        """Log a message in the job's style; `site` is "file.py:line:function"."""
        if rank not in self.muted:
            shown = time + int(self.skew[self.node_of(rank)])
            self.raw(rank, time, self.style.record(self, rank, shown, level, site, message), True)

    def everyone(self, time: int, site: str, message: str, spread: float = 0.2, level: str = "INFO") -> None:
        """Let every rank say the same within `spread` seconds."""
        for rank, late in enumerate(self.rng.uniform(0, spread, self.ranks)):
            self.say(rank, time + int(late * SECOND), site, message, level)

    def raise_on(self, rank: int, time: int, text: str) -> None:
        """Print an uncaught exception the way torch's hook does: each line names the rank."""
        lines = text.split("\n")
        self.raw(rank, time, "\n".join(f"[rank{rank}]: {line}" if line else "" for line in lines), True)

    def end(self, rank: int, time: int) -> None:
        """End a rank's process: what it would say later is never said."""
        time += int(self.skew[self.node_of(rank)])
        self._ends[rank] = min(time, self._ends.get(rank, time))

    def wait(self, seconds: float) -> int:
        """Let time pass and return the new time."""
        self.now += int(seconds * SECOND)
        return self.now

    def jitter(self, ranks: Iterable[int], seconds: float) -> list[tuple[int, int]]:
        """Pair each rank with a time within `seconds` from now."""
        chosen = list(ranks)
        late = self.rng.uniform(0, seconds, len(chosen))
        return [(rank, self.now + int(s * SECOND)) for rank, s in zip(chosen, late, strict=True)]

    def flush(self) -> list[Line]:
        """Return what was said since the last call, in order of time."""
        said, self._said = self._said, []
        if self._ends:
            never = 1 << 62
            said = [line for line in said if line.time <= self._ends.get(line.writer, never)]
        said.sort()
        return said
