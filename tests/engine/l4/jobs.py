"""Small jobs of our own making, as journals."""

from __future__ import annotations

from collections.abc import Iterable

from l4tui.engine.evidence.case import Baseline, Case
from l4tui.engine.evidence.record import Journal, Said, journal_of
from l4tui.engine.model import Level

SECOND = 10**9


def healthy(ranks: int = 8, iterations: int = 20, *, per_node: int = 4, host: str = "n", step_s: int = 2) -> list[Said]:
    """A job in which all ranks do the same; rank 0 alone reports the steps."""
    said = []

    def say(text: str, rank: int, at: float, **more: object) -> None:
        node = f"{host}{rank // per_node}"
        said.append(Said(text, rank, int(at * SECOND), node=node, **more))  # type: ignore[arg-type]

    for rank in range(ranks):
        say(f"initialised rank {rank} of {ranks} on {host}{rank // per_node}", rank, 0, stage=1)
        say(f"reading /data/{host}/shard-{rank}.bin", rank, 0, stage=2)
    for i in range(1, iterations + 1):
        for rank in range(ranks):
            say(f"forward took {i % 7}.{rank} ms", rank, i * step_s, iteration=i, stage=4)
            say(f"backward took {i % 5}.{rank} ms", rank, i * step_s, iteration=i, stage=4)
        say(f"step {i} loss {100 - i}.5", 0, i * step_s, iteration=i, stage=4, marked=True, level=Level.INFO)
        if i % 5 == 0:
            say(f"saved checkpoint {i}", 0, i * step_s, iteration=i, stage=5)
    return said


def planted(text: str, rank: int, iteration: int, times: int = 6, per_node: int = 4, **more: object) -> list[Said]:
    """Lines that one rank alone writes in one iteration."""
    node = f"n{rank // per_node}"
    at = iteration * 2 * SECOND
    return [Said(text, rank, at, iteration=iteration, stage=4, node=node, **more) for _ in range(times)]  # type: ignore[arg-type]


def merged(*parts: Iterable[Said]) -> Journal:
    """Lines in the order of their times."""
    said = sorted((s for part in parts for s in part), key=lambda s: s.time)
    ranks = sorted({s.rank for s in said})
    nodes: dict[str, list[int]] = {}
    for rank in ranks:
        name = next(str(s.node) for s in said if s.rank == rank)
        nodes.setdefault(name, []).append(rank)
    return journal_of(said, world_size=len(ranks), node_ranks=nodes)


def case_of(journal: Journal, baseline: Baseline | None = None, attempt: int = 0) -> Case:
    return Case(journal=journal, sightings=(), attempt=attempt, baseline=baseline)
