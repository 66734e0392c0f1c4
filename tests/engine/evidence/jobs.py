"""Small jobs of our own making for the tests of diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from l4tui.engine.diagnosis import Diagnosis, diagnose
from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.library import load
from l4tui.engine.model import Level

LIBRARY = load()
SECOND = 10**9
STAGES = ("launch", "init", "data", "model_build", "train", "checkpoint", "eval", "teardown")
TRAIN = STAGES.index("train")


def steps(ranks: Iterable[int], upto: int, *, first: int = 1, skip: dict[int, int] | None = None) -> list[Said]:
    """Write a step line per rank and iteration; a rank of `skip` writes none from that iteration on."""
    out = []
    for step in range(first, upto + 1):
        for rank in ranks:
            if skip and step >= skip.get(rank, upto + 1):
                continue
            text = f"step {step} local loss {2.5 + 0.01 * ((step * 7 + rank * 3) % 10):.4f} data 3.{rank} forward 40.1"
            out.append(said(rank, text, step, marked=True))
    return out


def said(
    rank: int, text: str, step: int = -1, *, stage: str = "train", level: Level = Level.INFO, **more: object
) -> Said:
    """Write one line of a rank at a time that follows from its step."""
    time = (1_800_000_000 + max(step, 0)) * SECOND + rank * 10**6
    fields: dict[str, object] = {"time": time, "iteration": step, "stage": STAGES.index(stage), "level": level}
    return Said(text, rank, node=f"n{rank // 4}", local_rank=rank % 4, **(fields | more))  # type: ignore[arg-type]


def raised(
    rank: int,
    error: str,
    step: int = -1,
    *,
    frames: Sequence[str] = ("train.py:61 in main", "trainer.py:215 in fit"),
    stage: str = "train",
) -> list[Said]:
    """Write a traceback that ends in an error; lines have no time of their own."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        file, _, rest = frame.partition(":")
        line, _, name = rest.partition(" in ")
        lines += [f'  File "/home/x/{file}", line {line}, in {name}', f"    self.{name}(x)"]
    text = STAGES.index(stage)
    return [
        Said(t, rank, iteration=step, stage=text, node=f"n{rank // 4}", local_rank=rank % 4) for t in [*lines, error]
    ]


def launcher(text: str, node: str = "n0", level: Level = Level.ERROR) -> Said:
    """Write a line of the launcher."""
    return Said(text, node=node, launcher=True, level=level, stage=TRAIN)


def closed(rank: int, step: int) -> list[Said]:
    """Write what a rank says whose peer died."""
    return raised(
        rank, "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.9]:1936.", step
    )


def timed_out(rank: int, step: int, **more: object) -> list[Said]:
    """Write what a rank says that waited in vain."""
    error = "RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete"
    return raised(rank, error, step, **more)  # type: ignore[arg-type]


def told(lines: Sequence[Said], world: int = 8) -> Diagnosis:
    """Diagnose a job."""
    nodes = {f"n{n}": list(range(4 * n, 4 * n + 4)) for n in range(world // 4)}
    return diagnose(journal_of(lines, world_size=world, node_ranks=nodes), LIBRARY)


def accused(lines: Sequence[Said], world: int = 8) -> list[int]:
    """Diagnose a job and return whom it accuses together."""
    return list(told(lines, world).blame.accused)
