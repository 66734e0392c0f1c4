"""Layout: which rank sits where, concluded from all claims; a pure function of them.

Rules, and why they hold:

- A launcher's number is the global rank unless it is shown to count nodes: torchrun's tags show several local ranks
  under one number, [rankN] disagrees with it, or the job's world is larger than the numbers seen and no other claim
  agrees with a number above 0 (under a node index t > 0 no rank can be t once a node has two ranks).
- torchrun gives the ranks of one agent in one run of consecutive numbers (torch/distributed/elastic/agent:
  `_assign_worker_ranks` adds the local rank to the agent's first rank), so one taught pair (local, rank) places all of
  the agent's local ranks. The agent must be one: named by its host, run folder or number, or alone in its source,
  which then tells one rank for each of its local ranks (`hosts.is_one_node`), or all sources together tell each rank of
  the job once, so that none is left for another node (`agents.fillers`).
- Where nothing shows a second node or agent, the one agent's first rank is 0.
- Agents with numbers and nothing else to go by have ranks in that order, but not after a restart or against the order
  of their hosts' names: then a dynamic rendezvous may have sorted them.
- A claim of the framework beats what a program says of itself; claims of one grade that disagree cancel out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from l4tui.engine.agents import Agent, agent_of, family, fillers
from l4tui.engine.claims import Evidence
from l4tui.engine.hosts import Places, is_one_node, nodes_of_sources, recounted
from l4tui.engine.model import UNKNOWN
from l4tui.engine.seats import Claimed, Key, Number, Origin, Seat
from l4tui.engine.streams import Stream, ranks_of_streams


class Told(NamedTuple):
    """What a person says of the job; 0 where nothing."""

    ranks_per_node: int = 0
    world_size: int = 0


class Contradiction(NamedTuple):
    """Claims that cannot all be true: the rank they are about (or UNKNOWN) and who claims it."""

    rank: int
    text: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Conclusions; everything that `Identity` needs to give a speaker its rank."""

    world: int
    single: bool
    places: Places
    global_numbers: frozenset[tuple[bool, int | str]]  # families whose numbers are ranks
    refuted: frozenset[Number]  # numbers in file names that the text denies
    recounted: frozenset[int]  # sources of nodes that each count their own ranks
    bases: Mapping[Agent, int]  # rank of local rank 0
    comm: Mapping[Key, int]
    lies: frozenset[tuple[int, int]]  # (era, self rank) that several claim
    vouched: bool  # self-reports part the writers: where all say 0, it is as well a default that nobody set
    own_streams: Mapping[Stream | None, int]  # of one rank each; see streams.py
    only_node: str | None
    one_host: bool  # nothing shows a second host: a pid is one process
    contradictions: tuple[Contradiction, ...]


def decide(evidence: Evidence, told: Told) -> Layout:
    """Draw all conclusions from the claims so far."""
    return _Decision(evidence, told).layout()


class _Decision:
    """One run over the evidence; each step fills in what the next needs."""

    def __init__(self, evidence: Evidence, told: Told) -> None:
        self.evidence = evidence
        self.told = told
        self.contradictions: list[Contradiction] = []
        self.seats, self.numbers = evidence.seats, evidence.numbers
        launched = max(only(evidence.nodes_told), 0) * max(only(evidence.per_node), 0)
        self.world = told.world_size or max(evidence.worlds, default=launched)

    def layout(self) -> Layout:
        """Run the steps in order."""
        self.places = nodes_of_sources(self.evidence)
        origins = self.evidence.origins
        self.lies = frozenset(key for key, who in origins.items() if _several(who))
        for era, rank in sorted(self.lies):
            self.contradictions.append(Contradiction(rank, f"several writers say they are rank {rank} (attempt {era})"))
        self.comm = self._communicators()
        self.recounted = recounted(self.evidence, self.places)
        self.global_numbers, self.refuted = self._meanings()
        self.agents = self._agents()
        self.hosts = self._all_hosts()
        self.single = self._is_single()
        bases = self._single_bases() if self.single else self._bases()
        return Layout(
            self.world or UNKNOWN, self.single, self.places, self.global_numbers, self.refuted, self.recounted, bases,
            self.comm, self.lies, any(rank > 0 for _, rank in origins),
            self._own_streams(), self._only_node(), self._is_one_host(), tuple(self.contradictions),
        )  # fmt: skip

    # claims

    def _strong(self, key: Key, ranks: Claimed) -> set[int]:
        return ranks.strong | {self.comm[key]} if key in self.comm else ranks.strong

    def _weak(self, era: int, ranks: Claimed) -> set[int]:
        """Return self-reported ranks that only one writer reports."""
        return {rank for rank in ranks.weak if (era, rank) not in self.lies}

    def _communicators(self) -> dict[Key, int]:
        """Believe ranks in a communicator only if it holds the whole job: the largest, each rank in it one process."""
        comms = self.evidence.comms
        size = max(comms, default=0)
        if not size or (self.world and self.world != size):
            return {}
        writers = {member.keys[-1] for group in comms.values() for member in group if member.keys}
        by_rank: dict[int, set[Key]] = defaultdict(set)
        by_key: dict[Key, set[int]] = defaultdict(set)
        for member in comms[size]:
            if member.keys:
                by_rank[member.rank].add(member.keys[-1])
            for key in member.keys:
                by_key[key].add(member.rank)
        if len(writers) > size or any(len(keys) > 1 for keys in by_rank.values()):
            self.contradictions.append(Contradiction(UNKNOWN, f"several communicators of {size} ranks"))
            return {}
        self.world = self.world or size
        return {key: next(iter(ranks)) for key, ranks in by_key.items() if len(ranks) == 1}

    # numbers

    def _meanings(self) -> tuple[frozenset[tuple[bool, int | str]], frozenset[Number]]:
        """Find the families of numbers that are ranks, and the file names that the text denies."""
        families: dict[tuple[bool, int | str], list[Number]] = defaultdict(list)
        for key in self.numbers:
            families[family(self.evidence, key.source, key.in_label)].append(key)
        locals_of: dict[tuple[int, int], set[int]] = defaultdict(set)
        for seat in self.seats:
            if seat.number >= 0:
                locals_of[seat.source, seat.number].add(seat.local)
        good, refuted = set(), set()
        for name, keys in families.items():
            if not any(key.source in self.recounted for key in keys) and self._counts_ranks(name[0], keys, locals_of):
                good.add(name)
                named = (key for key in keys if not key.in_label and (self.numbers[key].strong or key in self.comm))
                refuted |= {key for key in named if self._strong(key, self.numbers[key]) - {key.number}}
        for key in sorted(refuted):
            text = f"the file named rank {key.number} holds text of rank {min(self.numbers[key].strong)}"
            self.contradictions.append(Contradiction(key.number, text))
        return frozenset(good), frozenset(refuted)

    def _counts_ranks(self, in_label: bool, keys: list[Number], locals_of: Mapping[tuple[int, int], set[int]]) -> bool:
        agree = disagree = proofs = crowded = talkative = 0
        tags = {key: locals_of[key.source, key.number] for key in keys if (key.source, key.number) in locals_of}
        for key in keys:
            ranks = self.numbers[key]
            strong = self._strong(key, ranks)
            if not strong and not ranks.weak:
                continue
            agree += key.number in strong
            disagree += len(strong - {key.number})
            proofs += key.number > 0 and (key.number in strong or ranks.weak == {key.number})
            crowded += len(ranks.weak) > 1 and not strong
            talkative += bool(ranks.weak) and not strong
        if disagree and agree <= 4 * disagree:
            return False
        if any(len(local) > 1 for local in tags.values()) or (crowded and 2 * crowded >= talkative):
            return False
        if proofs:
            return True
        if tags and all(local == {0} for local in tags.values()):
            per_node = self.told.ranks_per_node or only(self.evidence.per_node)
            return per_node == 1 or self.world == len({key.number for key in keys})
        return not (in_label and self.world > len({key.number for key in keys}))

    # agents

    def _agents(self) -> dict[Agent, dict[int, list[tuple[Seat, Claimed]]]]:
        """Group seats by agent and local rank; numbers that are ranks need no agent."""
        out: dict[Agent, dict[int, list[tuple[Seat, Claimed]]]] = defaultdict(lambda: defaultdict(list))
        for seat, ranks in self.seats.items():
            if seat.number >= 0 and self._is_rank(seat):
                continue
            agent = agent_of(seat, self.evidence, self.places)
            out[agent][seat.local].append((seat, ranks))
        return out

    def _is_rank(self, seat: Seat) -> bool:
        labelled = Number(seat.source, True, seat.number) in self.numbers
        return family(self.evidence, seat.source, labelled) in self.global_numbers

    def _all_hosts(self) -> set[str]:
        evidence = self.evidence
        found = set(self.places.node_of.values())
        for told in (evidence.hosts, evidence.banners, evidence.rank_nodes, evidence.number_nodes):
            for names in told.values():
                found |= names
        found.update(evidence.layout)
        return {self.places.alias.get(name, name) for name in found}

    def _own_streams(self) -> Mapping[Stream | None, int]:
        """Return the streams that are one rank's each."""
        per_node = max([1, *self.evidence.per_node, *(seat.local + 1 for seat in self.seats)])
        return ranks_of_streams(self.evidence.streams, self.evidence.kinds, self.world, per_node)

    def _only_node(self) -> str | None:
        """Return the job's node where local ranks or the launcher show that there is one."""
        sure = self.single and (self.agents or self.evidence.nodes_told == {1})
        return next(iter(self.hosts)) if sure and len(self.hosts) == 1 else None

    def _is_one_host(self) -> bool:
        per_node = max(self.evidence.per_node, default=0)
        several = max(self.evidence.nodes_told, default=1) > 1 or 0 < per_node < self.world
        return len(self.hosts) < 2 and not several

    def _is_single(self) -> bool:
        """Say whether nothing shows a second node or a second agent."""
        evidence = self.evidence
        kinds: dict[str, set[str | int]] = defaultdict(set)
        for agent in self.agents:
            kinds[agent.kind].add(agent.name)
        if len(self.hosts) > 1 or any(len(names) > 1 for names in kinds.values()) or kinds["number"] - {0}:
            return False
        if max(evidence.nodes_told, default=1) > 1 or len(evidence.index_ranks) > 1:
            return False
        tagged = {seat.source for seat in self.seats}
        if any(len(pids) > 1 for (source, _), pids in evidence.agents.items() if source in tagged):
            return False
        if any(len(pids - evidence.dead[seat.source]) > 1 for seat, pids in evidence.seat_pids.items()):
            return False
        return self._world_fits() and self._claims_fit()

    def _world_fits(self) -> bool:
        per_node = self.told.ranks_per_node or max(self.evidence.per_node, default=0)
        if per_node and self.world:
            return self.world <= per_node
        most = max((seat.local for seat in self.seats), default=-1) + 1
        # nodes run alike many processes: 3 or more of 4 leave no room for a second node
        several = most and any(self.world % per_node == 0 for per_node in range(most, self.world // 2 + 1))
        return not self.world or (most > 0 and not several) or self.evidence.nodes_told == {1}

    def _claims_fit(self) -> bool:
        """Say whether local ranks are the ranks wherever both are told, or one node is: text can imitate."""
        if self.evidence.nodes_told == {1}:
            return True
        alike = unlike = 0
        for locals_ in self.agents.values():
            for local, seats in locals_.items():
                strong = set().union(*(self._strong(seat, ranks) for seat, ranks in seats))
                weak = set().union(*(self._weak(seat.era, ranks) for seat, ranks in seats))
                if strong - {local}:
                    return False
                alike += weak == {local}
                unlike += bool(weak - {local})
        return unlike <= alike

    def _single_bases(self) -> dict[Agent, int]:
        return dict.fromkeys(self.agents, 0)

    def _bases(self) -> dict[Agent, int]:
        """Find the first rank of every agent that taught pairs or the constant layout place."""
        sources = {agent.name for agent in self.agents if agent.kind == "source"}
        alone = len(sources) > 1 and self.evidence.nodes_told == {len(sources)}
        taught: dict[Agent, int] = {}
        denied: set[Agent] = set()
        firsts = {agent: self._firsts(locals_) for agent, locals_ in self.agents.items() if agent.kind == "source"}
        whole = set() if alone else fillers(firsts, self.world)
        for agent, locals_ in self.agents.items():
            if agent in firsts and not alone and agent not in whole and not self._is_one_node(agent, firsts[agent]):
                continue
            found = self._base(agent, locals_)
            if found is None:
                denied.add(agent)
            elif found >= 0:
                taught[agent] = found
        for agent in self._overlapping(taught):
            self.contradictions.append(Contradiction(taught[agent], f"{agent.name} shares its ranks with another node"))
            denied.add(agent)
        taught = {agent: base for agent, base in taught.items() if agent not in denied}
        return taught | self._constant(taught, denied)

    def _is_one_node(self, agent: Agent, firsts: Mapping[int, set[int]]) -> bool:
        sources = {seat.source for seats in self.agents[agent].values() for seat, _ in seats}
        return is_one_node(self.evidence, sources, agent.era, [*firsts.values()])

    def _firsts(self, locals_: Mapping[int, list[tuple[Seat, Claimed]]]) -> dict[int, set[int]]:
        """Return for each local rank what its own lines say that local rank 0 is."""
        return {
            local: {rank - local for seat, told in seats for rank in self._spoken(seat, told)}
            for local, seats in locals_.items()
        }

    def _spoken(self, seat: Seat, told: Claimed) -> set[int]:
        """Return what its own lines say: a launcher's table is of one of the nodes whose lines stand here."""
        return (self._strong(seat, told) | self._weak(seat.era, told)) & told.spoken

    def _base(self, agent: Agent, locals_: Mapping[int, list[tuple[Seat, Claimed]]]) -> int | None:
        """Return the agent's first rank, UNKNOWN where nothing tells it, None where claims disagree."""
        strong: set[int] = set()
        weak: set[int] = set()
        ranks = self.evidence.layout.get(str(agent.name)) if agent.kind == "host" else None
        if ranks:
            strong.add(ranks[0])
        for local, seats in locals_.items():
            for seat, claimed in seats:
                strong |= {rank - local for rank in self._strong(seat, claimed)}
                weak |= {rank - local for rank in self._weak(seat.era, claimed)}
        bases = strong or weak
        if not bases:
            return UNKNOWN
        base = next(iter(bases))
        if len(bases) > 1 or base < 0 or (self.world and base + max(locals_) >= self.world):
            self.contradictions.append(Contradiction(UNKNOWN, f"{agent.name}: local ranks and ranks do not agree"))
            return None
        return base

    def _overlapping(self, taught: Mapping[Agent, int]) -> set[Agent]:
        """Return agents of one kind that claim a rank in common."""
        owner: dict[tuple[str, int, int], Agent] = {}
        out: set[Agent] = set()
        for agent, base in taught.items():
            for local in self.agents[agent]:
                other = owner.setdefault((agent.kind, agent.era, base + local), agent)
                if other != agent:
                    out |= {agent, other}
        return out

    def _constant(self, taught: Mapping[Agent, int], denied: set[Agent]) -> dict[Agent, int]:
        """Place agents whose node index is known, where every node holds the same number of ranks."""
        index = {agent: self._index(agent) for agent in self.agents}
        per_node = self._per_node(taught, index)
        if per_node < 1 or denied or any(max(locals_) >= per_node for locals_ in self.agents.values()):
            return {}
        sources = {agent for agent in self.agents if agent.kind == "source"}
        mixed = sources if len(sources) == 1 else set()  # one source may hold several agents
        known = {agent: at for agent, at in index.items() if at >= 0 and agent not in mixed}
        if any(base != known[agent] * per_node for agent, base in taught.items() if agent in known):
            return {}
        if any(ranks and ranks[0] != at * per_node for at, ranks in self.evidence.index_ranks.items()):
            return {}
        return {
            agent: at * per_node
            for agent, at in known.items()
            if agent not in taught and not (self.world and (at + 1) * per_node > self.world)
        }

    def _index(self, agent: Agent) -> int:
        if agent.kind == "number":
            return int(agent.name)
        told = set(self.evidence.host_index.get(str(agent.name), ()))
        for seats in self.agents[agent].values() if not told else ():
            for seat, _ in seats:
                told |= self.evidence.node_index.get(seat.source, set())
        return only(told)

    def _per_node(self, taught: Mapping[Agent, int], index: Mapping[Agent, int]) -> int:
        """Return the ranks of each node: as told, as two taught facts agree, or as the world divides."""
        told = self.told.ranks_per_node or only(self.evidence.per_node)
        if told > 0:
            return told
        if self.evidence.per_node:
            return UNKNOWN
        steps = {taught[agent] / at for agent, at in index.items() if at > 0 and agent in taught}
        steps |= {ranks[0] / at for at, ranks in self.evidence.index_ranks.items() if at > 0 and ranks}
        if len(steps) == 1:
            step = next(iter(steps))
            return int(step) if step == int(step) else UNKNOWN
        numbers = {agent.name for agent in self.agents if agent.kind == "number"}
        widest = max((max(locals_) + 1 for locals_ in self.agents.values()), default=0)
        full = all(len(locals_) == widest for locals_ in self.agents.values())
        counted = bool(numbers) and numbers == set(range(len(numbers)))
        if not steps and full and counted and self.world == len(numbers) * widest and not self._is_shuffled():
            return widest
        return UNKNOWN

    def _is_shuffled(self) -> bool:
        """Say whether the ranks need not follow the nodes' numbers.

        torch's dynamic rendezvous sorts nodes by name (node10 before node9), and it alone restarts several agents.
        """
        numbered = [agent for agent in self.agents if agent.kind == "number"]
        names = {number: min(nodes) for (_, _, number), nodes in self.evidence.number_nodes.items()}
        in_order = [names[number] for number in sorted(names)]
        return any(agent.era > 0 for agent in numbered) or in_order != sorted(in_order)


def _several(origins: Iterable[Origin]) -> bool:
    """Say whether two writers of one kind are among them."""
    kinds = [origin[0] for origin in origins]
    return len(kinds) != len(set(kinds))


def only(values: set[int]) -> int:
    """Return what all say alike, UNKNOWN where they differ or nobody says anything."""
    return next(iter(values)) if len(values) == 1 else UNKNOWN
