"""Which node a rank or an address belongs to and which rank a process is, where lines of the log tell it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from l4tui.engine.evidence.record import Journal
from l4tui.engine.library.pattern import Blames
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting
from l4tui.engine.smallids import present, stable_order

PLACES = ("slurm.task-died", "mpirun.rank-died", "hydra.terminated", "pals.rank-ended")  # ends of tasks on a node
BESIDE = 6  # rows between two lines of one block
_RANKS = re.compile(r"(\d+)(?:-(\d+))?")
_HOSTS = re.compile(r"([\w.\-]+)(?:\[([\d,\-]+)\]([\w.\-]*))?")


class Bus(NamedTuple):
    """Where a GPU sits in its machine."""

    domain: int
    bus: int
    device: int


@dataclass(frozen=True, slots=True)
class Homes:
    """What matched lines tell of places."""

    node: dict[int, str] = field(default_factory=dict)  # by rank
    address: dict[str, str] = field(default_factory=dict)  # address → node
    rank: dict[int, int] = field(default_factory=dict)  # by pid
    sole: str | None = None  # the only host that is named anywhere
    listed: tuple[str, ...] = ()  # the nodes that the job was given, in the launcher's order
    users: dict[Bus, set[int]] = field(default_factory=dict)  # by GPU: the ranks that use one at this address


class _Told:
    """What sightings tell of places, taken up one after the other."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.node: dict[int, str] = {}
        self.address: dict[str, str] = {}
        self.pids: dict[int, int] = dict(journal.pids)
        self.told: dict[int, set[str]] = {}
        self.placed: dict[int, str] = {}  # by launchers, whose numbers are tasks: ranks only where each rank is a task
        self.hosts: set[str] = set(journal.nodes) | set(journal.node_ranks)
        self.listed: tuple[str, ...] = ()
        self.users: dict[Bus, set[int]] = defaultdict(set)
        self.seats: dict[int, set[Bus]] = defaultdict(set)
        self._host, self._host_row = "", -BESIDE
        self._named, self._named_row = UNKNOWN, -BESIDE

    def take(self, s: Sighting) -> None:
        if s.pattern.id.startswith("fact."):
            self._fact(s.pattern.id, s.groups, s)
        else:
            self._launcher(s.pattern.id, s.groups, s.row)
        if "own" in s.groups and (own := _node(self._journal, s)):
            self.address.setdefault(plain_address(s.groups["own"]), own)
        self.hosts |= _hosts(s)

    def _fact(self, name: str, g: Mapping[str, str], s: Sighting) -> None:
        """Take up what a program says of itself."""
        if name == "fact.rank-pid":
            self.pids[int(g.get("pid", g.get("pid2", "0")))] = int(g.get("rank", g.get("rank2", "0")))
        elif name == "fact.rank-server":
            self.node.setdefault(int(g["rank"]), g["host"])
        elif name == "fact.node-address" and (own := _node(self._journal, s)):
            self.address.setdefault(plain_address(g["ip"]), own)
        elif name == "fact.rank-device" and s.rank >= 0:
            self.users[nccl_bus(g["bus"])].add(s.rank)
        elif name == "fact.rank-bus" and (at := pci_bus(g["pci"])):
            self.seats[int(g.get("rank", s.rank))].add(at)
        elif name == "fact.node-list":
            self.listed = self.listed or spell(g["hosts"])
        elif name == "fact.rank-host":
            self.told.setdefault(int(g["rank"]), set()).add(g["host"])

    def _launcher(self, name: str, g: Mapping[str, str], row: int) -> None:
        """Take up what agents and launchers say of the ends of processes."""
        if name == "elastic.table-host":
            self._host, self._host_row = g["host"], row
        elif name == "elastic.table-rank" and row - self._host_row < BESIDE:
            self.node.setdefault(int(g["rank"]), self._host)
        elif name == "ray.actor-died" and g.get("node_index") == "0":
            self._named, self._named_row = int(g["local_rank"]), row
        elif name == "ray.actor-address" and row - self._named_row < BESIDE:
            self.node.setdefault(self._named, g["host"])
        elif name in PLACES and "node" in g:
            self.placed |= dict.fromkeys(spread(g.get("ranks", g.get("rank", ""))), g["node"])


def find_homes(journal: Journal, sightings: Sequence[Sighting]) -> Homes:
    """Read addresses, hosts and processes from facts, the agent's tables and launchers' blocks."""
    found = _Told(journal)
    for s in sightings:
        found.take(s)
    for rank, buses in found.seats.items():
        if rank >= 0 and len(buses) == 1:  # who lists several tells of the machine, not of its own
            found.users[next(iter(buses))].add(rank)
    _settle(found.node, found.told, found.hosts)
    _seat(journal, found.node, found.placed)
    sole = next(iter(found.hosts)) if len(found.hosts) == 1 else None
    return Homes(found.node, found.address, found.pids, sole, found.listed, dict(found.users))


def plain_address(text: str) -> str:
    """Return an address without the form that IPv6 gives those of IPv4."""
    return text.removeprefix("::ffff:")


def nccl_bus(number: str) -> Bus:
    """Read NCCL's busId: domain, bus, device and function in one hexadecimal number (nccl: src/misc/utils.cc)."""
    value = int(number, 16)
    return Bus(value >> 20, value >> 12 & 0xFF, value >> 4 & 0xFF)


def pci_bus(address: str) -> Bus | None:
    """Read an address as drivers write it, 0000:3b:00.0 or 3b:00; None where it is none."""
    parts = address.partition(".")[0].split(":")
    try:
        domain, bus, device = (int(part, 16) for part in ["0", *parts][-3:])
    except ValueError:
        return None
    return Bus(domain, bus, device)


def _hosts(s: Sighting) -> set[str]:
    """Return the hosts that a line names as the job's; a node that is lost says nothing itself."""
    keys: tuple[str, ...] = ("host",) if s.pattern.id in ("elastic.table-host", "fact.host-name") else ()
    keys = ("node", "node2") if s.pattern.blames is Blames.NODE else keys
    return {s.groups[key] for key in keys if key in s.groups}


def _seat(journal: Journal, node: dict[int, str], placed: dict[int, str]) -> None:
    """Place ranks by what launchers say of tasks, then beside their mates."""
    _seat_tasks(journal, node, placed)
    _seat_mates(journal, node)


def _seat_tasks(journal: Journal, node: dict[int, str], placed: dict[int, str]) -> None:
    """Take tasks for ranks where no other rank is known and no node of a rank is known otherwise."""
    if max(journal.world_size - 1, *journal.ranks[-1:], 0) > max(placed, default=0):
        return
    if all(journal.node_of.get(rank, name) == name for rank, name in placed.items()):
        for rank, name in placed.items():
            node.setdefault(rank, name)


def _seat_mates(journal: Journal, node: dict[int, str]) -> None:
    """Ranks of a source that holds one process of each local rank are mates: the node of some is that of all."""
    known = {**node, **journal.node_of}
    lost = [int(rank) for rank in journal.ranks if int(rank) not in known]
    if not lost or not known:
        return
    order = stable_order(journal.source)
    bounds = np.searchsorted(journal.source[order], np.arange(len(journal.sources) + 1))
    for source in sorted({int(one) for rank in lost for one in present(journal.source[journal.rows_of(rank)])}):
        rows = order[bounds[source] : bounds[source + 1]]
        rows = rows[journal.rank[rows] >= 0]
        mates, at = np.unique(journal.rank[rows], return_index=True)
        seats = journal.local_rank[rows[at]]
        places = {known[rank] for rank in mates.tolist() if rank in known}
        if len(places) == 1 and (seats >= 0).all() and len(np.unique(seats)) == len(mates) > 1:
            for rank in mates.tolist():
                node.setdefault(rank, next(iter(places)))


def spread(words: str) -> list[int]:
    """Read "0-3,7 9" as ranks; at most 65,536 a range."""
    out: list[int] = []
    for first, last in _RANKS.findall(words):
        end = int(last or first)
        out += range(int(first), min(end, int(first) + 65_536) + 1)
    return out


def spell(words: str) -> tuple[str, ...]:
    """Read "n1, n2" or Slurm's "gpu[01-03,7],cn4" as names; at most 65,536 a bracket."""
    out: list[str] = []
    for name, inside, rest in _HOSTS.findall(words):
        for first, last in _RANKS.findall(inside):
            end = min(int(last or first), int(first) + 65_536)
            out += [f"{name}{at:0{len(first)}d}{rest}" for at in range(int(first), end + 1)]
        out += [name] if not inside and name else []
    return tuple(dict.fromkeys(out))


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
