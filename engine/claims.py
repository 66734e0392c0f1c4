"""Claims: everything that speakers and facts say of ranks, kept as said; layout.py draws the conclusions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

from l4tui.engine.facts import About, Fact, Grade
from l4tui.engine.model import UNKNOWN, SourceName, Speaker
from l4tui.engine.seats import (
    LARGEST,
    Claimed,
    Key,
    Member,
    Number,
    Origin,
    Process,
    Seat,
    Shown,
    Writer,
    host,
    in_tree,
    origin_of,
    process_id,
)  # fmt: skip
from l4tui.engine.streams import Kind, Stream, kind_of, stream_of

_T = TypeVar("_T")


class Evidence:
    """A growing set of claims; the order in which they come does not matter but within a launcher's table."""

    def __init__(self) -> None:
        self.version = 0  # counts what may change conclusions
        self.wide = 0  # counts what concerns rows that nothing else tells
        self.minor = 0  # counts what only concerns some rows: `touched` and `touched_ranks`
        self.touched: set[Key] = set()
        self.touched_ranks: set[int] = set()
        self.confirms: Callable[[Key, int, Grade], bool] | None = None  # says whether a claim changes no conclusion
        self.names: dict[int, SourceName] = {}
        self.claims: dict[Key, Claimed] = {}
        self.seats: dict[Seat, Claimed] = {}  # of `claims`
        self.numbers: dict[Number, Claimed] = {}  # of `claims`
        self.origins: dict[tuple[int, int], set[Origin]] = defaultdict(set)  # (era, self rank) → who says it
        self.streams: dict[Stream, set[int]] = defaultdict(set)  # the ranks that lines in it say they are of
        self.kinds: dict[int | str, Kind] = {}  # of files, by what `Stream.where` calls them
        self.comms: dict[int, dict[Member, None]] = defaultdict(dict)
        self.hosts: dict[int, set[str]] = defaultdict(set)  # per source: hosts told in it
        self.banners: dict[int, set[str]] = defaultdict(set)  # per source: hosts that the source's script names
        self.agents: dict[tuple[int, int], set[int]] = defaultdict(set)  # (source, era) → launchers' pids or threads
        self.seated: dict[tuple[int, int], set[int]] = defaultdict(set)  # (source, number) → local ranks
        self.seat_pids: dict[Seat, set[int]] = defaultdict(set)
        self.dead: dict[int, set[int]] = defaultdict(set)  # per source: pids that the agent stopped or lost
        self.shown_in: dict[int, set[int]] = defaultdict(set)  # rank → sources whose prefixes say it
        self.rank_nodes: dict[int, set[str]] = defaultdict(set)
        self.rank_locals: dict[int, set[int]] = defaultdict(set)
        self.number_nodes: dict[tuple[int, int, int], set[str]] = defaultdict(set)  # (source, era, task)
        self.number_locals: dict[Number, set[int]] = defaultdict(set)
        self.known_hosts: set[str] = set()  # of `rank_nodes`
        self.worlds: set[int] = set()
        self.nodes_told: set[int] = set()
        self.per_node: set[int] = set()
        self.node_index: dict[int, set[int]] = defaultdict(set)  # per source
        self.host_index: dict[str, set[int]] = defaultdict(set)  # per host that a label names
        self.index_ranks: dict[int, tuple[int, ...]] = {}
        self.layout: dict[str, tuple[int, ...]] = {}
        self.habits: dict[str, set[Writer]] = defaultdict(set)  # who shows a habit, by its format
        self.devices: dict[int, set[int]] = defaultdict(set)  # per source: devices that lines call their own
        self.mpi_jobs: dict[int, set[int]] = defaultdict(set)  # per source
        self.consoles: set[int] = set()  # sources in which a launcher shows the logs of a run folder
        self.has_ranks = False  # a rank or local rank above 0 was shown: the job has several
        self.device_ranks: set[tuple[int, int]] = set()  # (device, rank) of lines that tell both
        self._open: dict[tuple[int, int, str | None], dict[str, int | str | None]] = {}

    def add_source(self, index: int, name: SourceName, path: PurePath | None = None) -> None:
        """Take up what a source's path tells."""
        self.names[index] = name
        self.kinds[index if name.group is None else name.group] = kind_of(name, path)
        self.version += 1

    def shown(self, speaker: Speaker) -> Shown:
        """Return what a speaker shows, the path's part filled in."""
        name = self.names.get(speaker.source) or SourceName()
        in_label = 0 <= speaker.task <= LARGEST
        number = speaker.task if in_label else name.rank
        local = speaker.local_rank if 0 <= speaker.local_rank <= LARGEST else name.local_rank
        return Shown(name, self._era(speaker, name), host(speaker.node), in_label, number, local)

    def observe(self, speaker: Speaker) -> Shown:
        """Take up a speaker not seen before; return what it shows."""
        who = self.shown(speaker)
        if who.node is not None:
            self._put(self.hosts[speaker.source], who.node)
        if speaker.launcher:
            if max(speaker.pid, speaker.tid) >= 0:
                self._put(self.agents[speaker.source, who.era], speaker.pid if speaker.pid >= 0 else speaker.tid)
            return who
        if speaker.mpi_job >= 0:
            self.wide += self._put(self.mpi_jobs[speaker.source], speaker.mpi_job)
        if not self.has_ranks and max(speaker.rank, speaker.self_rank, who.local) > 0:
            self.has_ranks = True
            self.version += 1
        if speaker.habit is not None:
            rank = speaker.rank if speaker.rank >= 0 else speaker.self_rank
            pid = process_id(speaker, who.name)
            writer = Writer(speaker.source, who.era, who.node, who.number, who.local, rank, pid, speaker.actor)
            self._put(self.habits[speaker.habit], writer)
        if speaker.own_device >= 0:
            self._put(self.devices[speaker.source], speaker.own_device)
            if max(speaker.rank, speaker.self_rank) >= 0:
                self._put(self.device_ranks, (speaker.own_device, max(speaker.rank, speaker.self_rank)))
        keys = self._keys(speaker, who, who.node, who.era, who.local, ())
        for key in keys:
            if not isinstance(key, Process) and self._open_key(key):  # seats and numbers count, unclaimed too
                self.version += 1
        if 0 <= speaker.rank <= LARGEST:
            self._put(self.shown_in[speaker.rank], speaker.source)
            self._claim(keys, speaker.rank, Grade.STRONG, spoken=True)
        if 0 <= speaker.self_rank <= LARGEST:
            self._claim(keys, speaker.self_rank, Grade.WEAK, spoken=True)
            self._put(self.origins[who.era, speaker.self_rank], origin_of(speaker, who))
        stream = stream_of(speaker, who) if max(speaker.rank, speaker.self_rank) >= 0 else None
        if stream is not None:
            self._put(self.streams[stream], max(speaker.rank, speaker.self_rank))
        return who

    def learn(self, fact: Fact) -> None:
        """Take up a fact."""
        source = fact.speaker.source
        who = self.shown(fact.speaker)
        numbers = ((self.worlds, fact.world_size), (self.nodes_told, fact.nodes), (self.per_node, fact.per_node))
        for where, number in numbers:
            if number > 0:
                self._put(where, number)
        if fact.about is About.WRITER:
            if not fact.speaker.launcher:
                self._of_writer(fact, who)
        elif fact.about is About.PROCESS:
            self._of_process(fact, who)
        elif fact.about is About.TABLE:
            self._of_table(fact, who)
        elif fact.about is About.NODE:
            self._of_node(fact, who)
        elif fact.about is About.PLACE:
            self._of_place(fact, source, who.era)
        for node, ranks in fact.layout:
            named = host(node)
            if named is not None and self.layout.setdefault(named, ranks) == ranks:
                self.version += 1

    # kinds of facts

    def _of_writer(self, fact: Fact, who: Shown) -> None:
        speaker = fact.speaker
        node = host(fact.node) or who.node
        era = fact.attempt if fact.attempt >= 0 and not in_tree(who.name) else who.era
        local = who.local if who.local >= 0 else fact.local_rank
        keys = self._keys(speaker, who, who.node, era, local, (fact.pid,))
        if fact.node is not None and node is not None:
            self._put(self.hosts[speaker.source], node)
        if local >= 0 and fact.pid >= 0:
            pids = self.seat_pids[Seat(speaker.source, era, who.node, who.number, local)]
            if fact.pid not in pids:
                self.version += len(pids - self.dead[speaker.source]) == 1  # a second one alive is another node's
                pids.add(fact.pid)
        if fact.local_rank >= 0 and who.number >= 0:
            number = Number(speaker.source, who.in_label, who.number)
            if fact.local_rank not in self.number_locals[number]:
                self.number_locals[number].add(fact.local_rank)
                self.minor += 1
                self.touched.add(number)
        if fact.rank < 0:
            return
        if fact.comm_size >= 0:
            known = len(self.comms[fact.comm_size])
            self.comms[fact.comm_size].setdefault(Member(fact.comm_id, keys, fact.rank))
            self.version += len(self.comms[fact.comm_size]) > known
            return
        self._claim(keys, fact.rank, fact.grade, spoken=True)
        self._place(fact.rank, node, local)

    def _of_process(self, fact: Fact, who: Shown) -> None:
        """Take up a process told by another, under the node it names and for lines that name none."""
        source, node = fact.speaker.source, host(fact.node)
        if fact.ends:
            self._put(self.dead[source], fact.pid)
        era = fact.attempt if fact.attempt >= 0 else who.era
        number = who.number if who.in_label else UNKNOWN
        keys: list[Key] = []
        for where in {node, who.node} if node is not None else {who.node}:
            keys.append(Process(source, era, where, fact.pid))
            if fact.local_rank >= 0:
                keys.append(Seat(source, era, where, number, fact.local_rank))
        if fact.rank < 0:
            return
        self._claim(tuple(keys), fact.rank, fact.grade)
        self._place(fact.rank, node, fact.local_rank)

    def _of_table(self, fact: Fact, who: Shown) -> None:
        """Join a block's rows: host, then rank, then pid."""
        lane = (fact.speaker.source, fact.speaker.task, fact.speaker.node)
        if fact.node is not None:
            self._open[lane] = {"node": fact.node}
            return
        block = self._open.setdefault(lane, {})
        if fact.rank >= 0:
            block["rank"], block["local"] = fact.rank, fact.local_rank
            return
        rank, local, node = block.get("rank"), block.get("local"), block.get("node")
        self._open.pop(lane)
        if isinstance(rank, int) and isinstance(local, int):
            named = node if isinstance(node, str) else None
            if who.node is None and host(named) is not None:
                self._put(self.hosts[fact.speaker.source], str(host(named)))  # an agent lists its own workers
            self._of_process(fact._replace(about=About.PROCESS, rank=rank, local_rank=local, node=named), who)

    def _of_node(self, fact: Fact, who: Shown) -> None:
        source = fact.speaker.source
        if fact.console:
            self.wide += self._put(self.consoles, source)
        node = host(fact.node)
        if node is not None and not (who.in_label or who.node):
            self._put(self.banners[source], node)
        if fact.ranks and fact.node_index >= 0:
            if self.index_ranks.setdefault(fact.node_index, fact.ranks) == fact.ranks:
                self.version += 1
            return
        if fact.node_index >= 0 and not who.in_label:
            self._put(self.node_index[source], fact.node_index)
            if who.node is not None:
                self._put(self.host_index[who.node], fact.node_index)
        for local, rank in enumerate(fact.ranks):
            seat = Seat(source, who.era, who.node, who.number if who.in_label else UNKNOWN, local)
            self._claim((seat,), rank, fact.grade)

    def _of_place(self, fact: Fact, source: int, era: int) -> None:
        node = host(fact.node)
        if node is None:
            return
        if fact.rank >= 0:
            self._put(self.rank_nodes[fact.rank], node)
            self.touched_ranks.add(fact.rank)
        for task in fact.ranks:
            self._put(self.number_nodes[source, era, task], node)
            self.touched.add(Number(source, True, task))

    # small steps

    def _era(self, speaker: Speaker, name: SourceName) -> int:
        if in_tree(name):
            return name.attempt
        return speaker.attempt if 0 <= speaker.attempt <= LARGEST else min(speaker.epoch, LARGEST)

    def _keys(
        self, speaker: Speaker, who: Shown, node: str | None, era: int, local: int, pids: tuple[int, ...]
    ) -> tuple[Key, ...]:
        keys: list[Key] = []
        if local >= 0:
            keys.append(Seat(speaker.source, era, node, who.number, local))
        if who.number >= 0:
            keys.append(Number(speaker.source, who.in_label, who.number))
        for pid in {process_id(speaker, who.name), *pids} - {UNKNOWN}:
            keys.append(Process(speaker.source, era, node, pid))
        return tuple(keys)

    def _claim(self, keys: tuple[Key, ...], rank: int, grade: Grade, spoken: bool = False) -> None:
        for key in keys:
            sure = self.confirms is not None and self.confirms(key, rank, grade)
            self._open_key(key)
            if spoken:
                self.claims[key].spoken.add(rank)
            if not self.claims[key].add(rank, grade):
                continue
            self.touched.add(key)
            self.minor += sure
            self.version += not sure

    def _open_key(self, key: Key) -> bool:
        """Make room for claims; say whether there was none."""
        if key in self.claims:
            return False
        claimed = self.claims[key] = Claimed()
        if isinstance(key, Seat):
            self.seats[key] = claimed
            self.seated[key.source, key.number].add(key.local)
        elif isinstance(key, Number):
            self.numbers[key] = claimed
        return True

    def _place(self, rank: int, node: str | None, local: int) -> None:
        """Take up where a rank is."""
        if local >= 0 and local not in self.rank_locals[rank]:
            self.rank_locals[rank].add(local)
            self._touch(rank)
        if node is not None and node not in self.rank_nodes[rank]:
            self.rank_nodes[rank].add(node)
            self._touch(rank)
            if node not in self.known_hosts:
                self.known_hosts.add(node)
                self.version += 1

    def _touch(self, rank: int) -> None:
        self.minor += 1
        self.touched_ranks.add(rank)

    def _put(self, where: set[_T], what: _T) -> bool:
        """Take up something; say whether it is new."""
        if what in where:
            return False
        where.add(what)
        self.version += 1
        return True
