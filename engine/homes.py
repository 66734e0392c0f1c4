"""Which node a rank or an address belongs to and which rank a process is, where lines of the log tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from l4tui.engine.evidence.record import Journal
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

BESIDE = 6  # rows between two lines of one block


@dataclass(frozen=True, slots=True)
class Homes:
    """What matched lines tell of places."""

    node: dict[int, str] = field(default_factory=dict)  # by rank
    address: dict[str, str] = field(default_factory=dict)  # address → node
    rank: dict[int, int] = field(default_factory=dict)  # by pid
    sole: str | None = None  # the only host that is named anywhere


def find_homes(journal: Journal, sightings: Sequence[Sighting]) -> Homes:
    """Read addresses, hosts and processes from facts, the agent's tables and launchers' blocks."""
    node: dict[int, str] = {}
    address: dict[str, str] = {}
    pids: dict[int, int] = dict(journal.pids)
    told: dict[int, set[str]] = {}
    hosts: set[str] = set(journal.nodes) | set(journal.node_ranks)
    host, host_row = "", -BESIDE
    named, named_row = UNKNOWN, -BESIDE
    for s in sightings:
        name, g = s.pattern.id, s.groups
        if name == "fact.rank-pid":
            pids[int(g.get("pid", g.get("pid2", "0")))] = int(g.get("rank", g.get("rank2", "0")))
        elif name == "fact.rank-server":
            node.setdefault(int(g["rank"]), g["host"])
        elif name == "fact.node-address" and (own := _node(journal, s)):
            address.setdefault(g["ip"], own)
        elif name == "elastic.table-host":
            host, host_row = g["host"], s.row
        elif name == "elastic.table-rank" and s.row - host_row < BESIDE:
            node.setdefault(int(g["rank"]), host)
        elif name == "ray.actor-died" and g.get("node_index") == "0":
            named, named_row = int(g["local_rank"]), s.row
        elif name == "ray.actor-address" and s.row - named_row < BESIDE:
            node.setdefault(named, g["host"])
        elif name == "fact.rank-host":
            told.setdefault(int(g["rank"]), set()).add(g["host"])
        if name in ("elastic.table-host", "fact.host-name"):
            hosts.add(g["host"])
    _settle(node, told, hosts)
    return Homes(node, address, pids, next(iter(hosts)) if len(hosts) == 1 else None)


def _settle(node: dict[int, str], told: dict[int, set[str]], hosts: set[str]) -> None:
    """Take up "rank N on HOST" where ranks name hosts that are known, or that several ranks share or part."""
    named = {h for names in told.values() for h in names}
    if not (named & hosts or len(told) > 1):
        return
    for rank, names in told.items():
        if len(names) == 1:
            node.setdefault(rank, next(iter(names)))
            hosts |= names


def _node(journal: Journal, s: Sighting) -> str | None:
    if journal.node[s.row] >= 0:
        return journal.nodes[int(journal.node[s.row])]
    return journal.node_of.get(s.rank)
