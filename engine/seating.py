"""Seating: which ranks are on each node, those that have not spoken included; a pure function of claims and layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from l4tui.engine.agents import family
from l4tui.engine.claims import Evidence
from l4tui.engine.layout import Layout, Told, only
from l4tui.engine.seats import Seat


def seat(
    spoken: Mapping[str, Collection[int]], evidence: Evidence, layout: Layout, told: Told
) -> dict[str, list[int]]:
    """Return node → ranks, ascending; what two nodes claim stays where it has spoken, else nowhere.

    Args:
        spoken: node → ranks that wrote there.
    """
    claims: dict[int, set[str]] = defaultdict(set)
    for node, ranks in _told(evidence, layout, told):
        for rank in ranks:
            if rank >= 0 and (layout.world < 0 or rank < layout.world):
                claims[rank].add(layout.places.alias.get(node, node))
    out = {node: set(ranks) for node, ranks in spoken.items()}
    known = {rank for ranks in out.values() for rank in ranks}
    for rank, nodes in claims.items():
        if rank not in known and len(nodes) == 1:
            out.setdefault(next(iter(nodes)), set()).add(rank)
    _fill_the_last(out, layout.world)
    return {node: sorted(ranks) for node, ranks in out.items()}


def _told(evidence: Evidence, layout: Layout, told: Told) -> Iterable[tuple[str, Iterable[int]]]:
    """Yield what launchers and frameworks say: whole layouts, places of ranks and tasks, nodes by their number."""
    yield from evidence.layout.items()
    for rank, nodes in evidence.rank_nodes.items():
        yield from ((node, (rank,)) for node in nodes)
    for (source, _, task), nodes in evidence.number_nodes.items():
        if family(evidence, source, True) in layout.global_numbers:
            yield from ((node, (task,)) for node in nodes)
    for key, claimed in evidence.claims.items():
        node = key.node or layout.places.node_of.get(key.source) if isinstance(key, Seat) else None
        if node is not None and len(claimed.strong) == 1:
            yield node, claimed.strong
    per_node = told.ranks_per_node or only(evidence.per_node)
    if per_node <= 0:
        return
    for agent, base in layout.bases.items():
        if agent.kind == "host" and base % per_node == 0:
            yield str(agent.name), range(base, base + per_node)
    for node, indices in _indices(evidence, layout).items():
        if len(indices) == 1:
            first = next(iter(indices)) * per_node
            yield node, range(first, first + per_node)


def _indices(evidence: Evidence, layout: Layout) -> dict[str, set[int]]:
    """Return the numbers that launchers gave the nodes."""
    out: dict[str, set[int]] = defaultdict(set)
    for node, indices in evidence.host_index.items():
        out[node] |= indices
    for source, indices in evidence.node_index.items():
        if source in layout.places.node_of:
            out[layout.places.node_of[source]] |= indices
    return out


def _fill_the_last(out: dict[str, set[int]], world: int) -> None:
    """Give the one node without ranks the ranks that are left, where all others hold as many in one run."""
    empty = [node for node, ranks in out.items() if not ranks]
    runs = {len(ranks) for ranks in out.values() if ranks}
    if world <= 0 or len(empty) != 1 or len(runs) != 1 or next(iter(runs)) * len(out) != world:
        return
    run = next(iter(runs))
    if any(max(ranks) - min(ranks) != run - 1 or min(ranks) % run for ranks in out.values() if ranks):
        return
    out[empty[0]] |= set(range(world)) - {rank for ranks in out.values() for rank in ranks}
