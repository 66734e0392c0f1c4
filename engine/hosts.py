"""Hosts: the node that the whole of a source comes from, and what the text calls it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from l4tui.engine.claims import Evidence
from l4tui.engine.model import SourceName
from l4tui.engine.seats import host, in_tree

_NO_HOSTS: set[str] = set()


class Places(NamedTuple):
    """Nodes of whole sources."""

    node_of: Mapping[int, str]  # source → node that all of it comes from
    alias: Mapping[str, str]  # a node's name in paths → its name in the text


def nodes_of_sources(evidence: Evidence) -> Places:
    """Find the sources that come from one node: by their path, by the one process they are of, by their script."""
    told: dict[int | str, set[str]] = defaultdict(set)
    for hosts_of in (evidence.hosts, evidence.banners):
        for source, hosts in hosts_of.items():
            if hosts and source in evidence.names and (hosts_of is evidence.hosts or not evidence.hosts.get(source)):
                told[together(source, evidence.names[source])] |= hosts
    node_of: dict[int, str] = {}
    named: dict[str, set[str]] = defaultdict(set)
    for source, name in evidence.names.items():
        hosts = told.get(together(source, name), _NO_HOSTS)
        path_node = host(name.node) if name.node is not None else None
        if path_node is not None:
            node_of[source] = path_node
            named[path_node] |= hosts
        elif len(hosts) == 1 and (in_tree(name) or name.rank >= 0):
            node_of[source] = next(iter(hosts))
    single = {path: next(iter(hosts)) for path, hosts in named.items() if len(hosts) == 1}
    claimed = list(single.values())
    alias = {path: text for path, text in single.items() if path != text and claimed.count(text) == 1}
    node_of = {source: alias.get(node, node) for source, node in node_of.items()}
    return Places(_by_banners(evidence) | node_of, alias)


def _by_banners(evidence: Evidence) -> dict[int, str]:
    """Take each source for its script's node where every source that shows local ranks has its own script's banner."""
    banners = {source: next(iter(hosts)) for source, hosts in evidence.banners.items() if len(hosts) == 1}
    tagged = {seat.source for seat in evidence.seats} if len(banners) > 1 else set()
    whole = len(banners) > 1 and len(set(banners.values())) == len(banners) and tagged <= set(banners)
    return banners if whole else {}


def is_one_node(evidence: Evidence, sources: set[int], era: int, firsts: Sequence[set[int]]) -> bool:
    """Say whether sources that no node is named for hold one: each of its local ranks tells one rank.

    All nodes run one program, so another node's ranks would tell theirs too, unless only the first node's do, or only
    some. `firsts`: for each local rank, what its ranks say that local rank 0 is.
    """
    telling = [one for one in firsts if one]
    if len(telling) < 2 or any(len(one) != 1 or one != telling[0] for one in telling):
        return False
    launchers = {pid for source in sources for pid in evidence.agents.get((source, era), ())}
    hosts = {name for source in sources for name in evidence.hosts.get(source, ())}
    if len(launchers) > 1 or len(hosts) > 1:
        return False
    named = len(launchers) == 1 and len(hosts) == 1
    if len(telling) < len(firsts):  # who was ended before it could report tells nothing
        return named and 2 * len(telling) >= len(firsts)
    return telling[0] != {0} or named


def together(source: int, name: SourceName | None) -> int | str:
    """Return what the two streams of one writer, or the files of one run folder, have in common."""
    return name.group if name is not None and name.group is not None else source


def recounted(evidence: Evidence, places: Places) -> frozenset[int]:
    """Return the sources of nodes that show the same ranks, 0 among them: each node counts its own."""
    told: dict[str, set[int]] = defaultdict(set)
    of_node: dict[str, set[int]] = defaultdict(set)
    shown = [(source, rank) for rank, sources in evidence.shown_in.items() for source in sources]
    shown += [(key.source, key.number) for key in evidence.numbers if key.in_label]
    for source, rank in shown:
        node = places.node_of.get(source)
        if node is not None:
            told[node].add(rank)
            of_node[node].add(source)
    alike: dict[frozenset[int], list[str]] = defaultdict(list)
    for node, ranks in told.items():
        if len(ranks) > 1 and 0 in ranks:
            alike[frozenset(ranks)].append(node)
    return frozenset(
        source for nodes in alike.values() if len(nodes) > 1 for node in nodes for source in of_node[node]
    )
