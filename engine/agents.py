"""Agents: what starts and numbers the processes of a node, and which numbers mean the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from l4tui.engine.claims import Evidence
from l4tui.engine.hosts import Places, together
from l4tui.engine.seats import Seat, in_tree


class Agent(NamedTuple):
    """What starts and numbers the processes of a node: kind is host, number, group or source."""

    kind: str
    name: str | int
    era: int


def family(evidence: Evidence, source: int, in_label: bool) -> tuple[bool, int | str]:
    """Return the set of numbers that mean the same: a step's labels, or all names of files."""
    if not in_label:
        return (False, 0)
    name = evidence.names.get(source)
    return (True, (name.group if name is not None and name.group is not None else source))


def agent_of(seat: Seat, evidence: Evidence, places: Places) -> Agent:
    """Return the agent that a seat belongs to: by host, else by number, else by run folder, else by source."""
    node = seat.node or places.node_of.get(seat.source)
    if node is not None:
        return Agent("host", places.alias.get(node, node), seat.era)
    if seat.number >= 0:
        return Agent("number", seat.number, seat.era)
    name = evidence.names.get(seat.source)
    if name is not None and in_tree(name) and name.group is not None:
        return Agent("group", name.group, seat.era)
    if seat.source in evidence.consoles:
        groups = {one.group for one in evidence.names.values() if in_tree(one)}
        if len(groups) == 1:
            return Agent("group", str(next(iter(groups))), seat.era)
    return Agent("source", together(seat.source, name), seat.era)


def fillers(firsts: Mapping[Agent, Mapping[int, set[int]]], world: int) -> set[Agent]:
    """Return the agents that hold all ranks of the job between them, each told once, and every one where it should be.

    Args:
        firsts: of each agent and local rank, what its lines say that local rank 0 is.
        world: how many ranks the job has.
    """
    ranks: dict[int, list[int]] = defaultdict(list)  # by attempt
    for agent, told in firsts.items():
        bases = set().union(*told.values())
        if len(bases) != 1 or not all(told.values()):
            return set()
        ranks[agent.era] += [next(iter(bases)) + local for local in told]
    whole = {era for era, found in ranks.items() if sorted(found) == list(range(world))}
    return {agent for agent in firsts if agent.era in whole}
