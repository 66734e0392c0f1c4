"""Identity: who wrote a line, from speakers and facts; the only place that decides a rank.

What is learnt late changes rows of the small table of speakers and never an entry. A rank that cannot be known is -1;
a wrong one is the worst error, so claims that disagree cancel out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import numpy as np

from l4tui.engine.agents import Agent, agent_of, family
from l4tui.engine.claims import Evidence
from l4tui.engine.facts import Fact, Grade
from l4tui.engine.habits import Habits
from l4tui.engine.layout import Contradiction, Layout, Told, decide
from l4tui.engine.model import UNKNOWN, Kind, SourceName, Speaker
from l4tui.engine.rankmap import NO_MAP, read_map
from l4tui.engine.seating import seat
from l4tui.engine.seats import LARGEST, Claimed, Key, Number, Process, Seat, Shown, process_id
from l4tui.engine.streams import stream_of

COLUMNS = 7  # rank, local rank, node, stream, attempt, kind, assumed rank


@dataclass(frozen=True, slots=True)
class Ranks:
    """The resolved table: one row per speaker; -1 unknown; node and stream are ids into `nodes` and `streams`."""

    rank: np.ndarray  # int32, global
    local_rank: np.ndarray  # int32
    node: np.ndarray  # int32
    stream: np.ndarray  # int32
    attempt: np.ndarray  # int32
    kind: np.ndarray  # uint8 of model.Kind
    assumed: np.ndarray  # int32: the usual layout's rank where `rank` is unknown; for suspects, never for export
    nodes: tuple[str, ...]
    streams: tuple[str, ...]
    world_size: int
    node_ranks: dict[str, list[int]]
    contradictions: tuple[Contradiction, ...]


@dataclass(slots=True)
class _Table:
    """Rows resolved under one layout; rows are only added while it holds."""

    layout: Layout
    usual: dict[Agent, int]
    habits: Habits
    wide: int = 0  # `Evidence.wide` that the rows rest on
    index: dict[Key | int, list[int]] = field(default_factory=dict)  # process or rank → rows; made when it is needed
    of_source: dict[int, list[int]] = field(default_factory=dict)  # made with it
    indexed: int = 0  # rows
    rows: list[tuple[int, ...]] = field(default_factory=list)
    nodes: dict[str, int] = field(default_factory=dict)
    streams: dict[str, int] = field(default_factory=dict)

    def stands_under(self, new: _Table) -> bool:
        """Say whether all rows stand under other conclusions but those of single processes and sources."""
        old, now = self.layout, new.layout
        alike = all(getattr(old, name) == getattr(now, name) for name in _OF_ALL_ROWS)
        return alike and old.places.alias == now.places.alias and self.wide == new.wide and (
            self.usual == new.usual and self.habits.told == new.habits.told
        )


_OF_ALL_ROWS = (
    "world", "single", "global_numbers", "refuted", "recounted", "bases", "lies", "vouched", "own_streams", "only_node",
    "one_host",
)  # fmt: skip


class Identity:
    """Learns from names, speakers and facts; resolves speakers to ranks."""

    def __init__(self, ranks_per_node: int = 0, world_size: int = 0, map_file: Path | None = None) -> None:
        """Store what a person told.

        Raises:
            RankMapError, OSError: the map file cannot be read.
        """
        self.told = Told(ranks_per_node, world_size)
        self.map = read_map(map_file) if map_file is not None else NO_MAP
        self.evidence = Evidence()
        self.evidence.confirms = self._confirms
        self._paths: dict[int, str] = {}
        self._shown: list[Shown] = []  # per speaker
        self._owners: dict[int, Speaker] = {}  # thread → who wrote it
        self._owned = 0  # how often that changed
        self._stale: set[int] = set()  # threads whose rows are to be resolved again
        self._threads: dict[int, list[int]] = {}  # thread → rows
        self._table: _Table | None = None
        self._decided = UNKNOWN  # version of the evidence that the table rests on

    @property
    def version(self) -> int:
        """Count that changes whenever rows may change."""
        return self.evidence.version + self.evidence.minor + self._owned

    def add_source(self, index: int, name: SourceName, path: PurePath | None = None) -> None:
        """Take up a source; the path serves the map file's patterns."""
        self.evidence.add_source(index, name, path)
        self._shown = []
        self._table = None
        if path is not None:
            self._paths[index] = path.as_posix()

    def learn(self, facts: Iterable[Fact]) -> None:
        """Take up facts; those of one source in file order, sources in any order."""
        for fact in facts:
            self.evidence.learn(fact)

    def own(self, thread: int, owner: Speaker | None) -> None:
        """Take up who wrote a thread, or that it is not known after all."""
        if owner == self._owners.get(thread):
            return
        if owner is None:
            del self._owners[thread]
        else:
            self._owners[thread] = owner
        self._owned += 1
        self._stale.add(thread)

    def resolve(self, speakers: Sequence[Speaker]) -> Ranks:
        """Resolve all speakers; a sequence that only ever grows, so what stands is not looked at again."""
        self._shown.extend(self.evidence.observe(speaker) for speaker in speakers[len(self._shown) :])
        table = self._table
        moved: set[int] = set()
        if table is None or self._decided != self.evidence.version or len(table.rows) > len(speakers):
            new = self._concluded()
            if table is not None and len(table.rows) <= len(speakers) and table.stands_under(new):
                moved = self._moved(speakers, table, new.layout)
                table.layout = new.layout
            else:
                table = self._start(new)
            self._decided = self.evidence.version
        for i in range(len(table.rows), len(speakers)):
            table.rows.append(self._row(speakers[i], self._shown[i], table))
            if speakers[i].thread >= 0:
                self._threads.setdefault(speakers[i].thread, []).append(i)
        for i in self._touched_rows(speakers, table) | moved:
            old, table.rows[i] = table.rows[i], self._row(speakers[i], self._shown[i], table)
            if old[2] not in (UNKNOWN, table.rows[i][2]):  # a node may have lost its last row
                self._table = None
                return self.resolve(speakers)
            if old != table.rows[i]:
                self._index_row(i, speakers[i], table)
        return self._ranks(table)

    def _concluded(self) -> _Table:
        layout = decide(self.evidence, self.told)
        usual = _usual_layout(layout, self.evidence, self.told)
        return _Table(layout, usual, Habits(self.evidence, layout), self.evidence.wide)

    def _start(self, table: _Table) -> _Table:
        """Begin with no rows."""
        self._table = table
        self._threads = {}
        self._stale = set()
        self.evidence.touched.clear()
        self.evidence.touched_ranks.clear()
        return table

    def _moved(self, speakers: Sequence[Speaker], table: _Table, layout: Layout) -> set[int]:
        """Return the rows of processes and sources of which something else is concluded now."""
        self._index(speakers, table)
        old = table.layout
        sources = {source for source, _ in old.places.node_of.items() ^ layout.places.node_of.items()}
        keys = {key for key, _ in old.comm.items() ^ layout.comm.items()}
        found = {i for source in sources for i in table.of_source.get(source, ())}
        return found | {i for key in keys for i in table.index.get(key, ())}

    def _touched_rows(self, speakers: Sequence[Speaker], table: _Table) -> set[int]:
        """Return the rows that news concern which change no conclusion; forget the news."""
        evidence = self.evidence
        found = {i for thread in self._stale for i in self._threads.get(thread, ())}
        self._stale = set()
        if evidence.touched or evidence.touched_ranks:
            self._index(speakers, table)
            for key in (*evidence.touched, *evidence.touched_ranks):
                found.update(table.index.get(key, ()))
            evidence.touched.clear()
            evidence.touched_ranks.clear()
        return found

    def _index(self, speakers: Sequence[Speaker], table: _Table) -> None:
        for i in range(table.indexed, len(table.rows)):
            self._index_row(i, speakers[i], table)
            table.of_source.setdefault(speakers[i].source, []).append(i)
        table.indexed = len(table.rows)

    def _index_row(self, i: int, speaker: Speaker, table: _Table) -> None:
        who = self._shown[i]
        pid = process_id(speaker, who.name)
        rank, node = table.rows[i][0], table.rows[i][2]
        keys: list[Key | int] = [rank] if rank >= 0 else []
        if who.number >= 0:
            keys.append(Number(speaker.source, who.in_label, who.number))
        if who.local >= 0:
            keys.append(Seat(speaker.source, who.era, who.node, who.number, who.local))
        if pid != UNKNOWN:
            keys.append(Process(speaker.source, who.era, who.node, pid))
            if who.node is None and node >= 0:
                keys.append(Process(speaker.source, who.era, list(table.nodes)[node], pid))
        for key in keys:
            table.index.setdefault(key, []).append(i)

    def _confirms(self, key: Key, rank: int, grade: Grade) -> bool:
        """Say whether a claim agrees with what was concluded, or adds to claims that cancel each other out anyway."""
        table = self._table
        if table is None or self._decided != self.evidence.version:
            return False
        if isinstance(key, Process):
            return True
        layout = table.layout
        known = self.evidence.claims
        in_label = key.in_label if isinstance(key, Number) else Number(key.source, True, key.number) in known
        if key.number >= 0 and family(self.evidence, key.source, in_label) in layout.global_numbers:
            alone = isinstance(key, Number) or self.evidence.seated[key.source, key.number] <= {key.local}
            number = Number(key.source, in_label, key.number)
            if not alone or key.number != rank or number not in known or number in layout.refuted:
                return False
            told = known[number]
            return told.strong | told.weak <= {rank} and (grade is Grade.WEAK or not told.weak or bool(told.strong))
        if isinstance(key, Number) or key not in known:
            return False
        agent = agent_of(key, self.evidence, layout.places)
        if agent in layout.bases:
            return layout.bases[agent] + key.local == rank
        claimed = known[key]
        lost = len(claimed.strong) > 1 or (grade is Grade.WEAK and not claimed.strong and len(claimed.weak) > 1)
        return lost and not layout.single

    def _ranks(self, table: _Table) -> Ranks:
        columns = np.array(table.rows, np.int32).reshape(-1, COLUMNS).T
        nodes = tuple(table.nodes)
        rank, node = columns[0], columns[2]
        on: dict[str, set[int]] = {name: set() for name in nodes}
        both = (node >= 0) & (rank >= 0)
        for pair in np.unique(node[both].astype(np.int64) << 32 | rank[both]).tolist():
            on[nodes[pair >> 32]].add(pair & (1 << 32) - 1)
        layout = table.layout
        seats = seat(on, self.evidence, layout, self.told)
        most = int(rank.max(initial=-1)) + 1
        world = layout.world if layout.world > 0 else (most if most > 1 else UNKNOWN)
        return Ranks(
            rank, columns[1], node, columns[3], columns[4], columns[5].astype(np.uint8), columns[6], nodes,
            tuple(table.streams), world, {name: seats[name] for name in sorted(seats, key=_natural)},
            layout.contradictions,
        )  # fmt: skip

    # one speaker

    def _row(self, speaker: Speaker, who: Shown, table: _Table) -> tuple[int, ...]:
        layout = table.layout
        owner = self._owners.get(speaker.thread)
        if owner is not None:
            return self._row(owner, self.evidence.shown(owner), table)
        text_node = who.node or layout.places.node_of.get(speaker.source)
        node = layout.places.alias.get(text_node, text_node) if text_node is not None else None
        stream = speaker.stream or who.name.stream
        stream_id = table.streams.setdefault(stream, len(table.streams)) if stream else UNKNOWN
        if speaker.launcher:
            node_id = self._node_id(node or layout.only_node, table)
            return (UNKNOWN, UNKNOWN, node_id, stream_id, who.era, int(Kind.LAUNCHER), UNKNOWN)
        agent = self._agent(speaker, who, layout)
        rank = self._rank(speaker, who, agent, node, layout)
        if rank < 0 and speaker.rank < 0 and speaker.self_rank < 0 and not self._is_placed(who, agent, layout):
            rank = layout.own_streams.get(stream_of(speaker, who), table.habits.rank_of(speaker, who.local))
        local = self._local(speaker, who, rank)
        node = node or self._node_of_rank(speaker, who, rank, layout)
        kind = Kind.RANK if rank >= 0 else Kind.UNKNOWN
        usual = table.usual.get(agent, UNKNOWN) if rank < 0 and agent is not None else UNKNOWN
        assumed = usual + who.local if usual >= 0 else UNKNOWN
        return (rank, local, self._node_id(node, table), stream_id, who.era, int(kind), assumed)

    def _agent(self, speaker: Speaker, who: Shown, layout: Layout) -> Agent | None:
        if who.local < 0:
            return None
        number = who.number
        if number >= 0 and family(self.evidence, speaker.source, who.in_label) in layout.global_numbers:
            return None
        seat = Seat(speaker.source, who.era, who.node, number, who.local)
        return agent_of(seat, self.evidence, layout.places)

    def _rank(self, speaker: Speaker, who: Shown, agent: Agent | None, node: str | None, layout: Layout) -> int:
        """Return the global rank by the strongest evidence there is; UNKNOWN where it is not certain."""
        counted = who.number >= 0 and family(self.evidence, speaker.source, who.in_label) in layout.global_numbers
        base = layout.bases.get(agent, UNKNOWN) if agent is not None else UNKNOWN
        if 0 <= speaker.rank <= LARGEST:
            if speaker.source in layout.recounted:
                return UNKNOWN
            placed = who.number if counted and who.in_label else base + who.local if base >= 0 else speaker.rank
            return speaker.rank if placed == speaker.rank else UNKNOWN
        if self.map is not NO_MAP:
            rank = self.map.of_place(node, who.local)
            rank = rank if rank >= 0 else self.map.of_name(self._paths.get(speaker.source), node)
            if rank >= 0:
                return rank
        if counted:
            jobs = self.evidence.mpi_jobs.get(speaker.source, ())
            if len(jobs) > 1 and speaker.mpi_job != min(jobs):
                return UNKNOWN  # spawned: its ranks count from 0 again
            refuted = Number(speaker.source, who.in_label, who.number) in layout.refuted
            return UNKNOWN if refuted else who.number
        if agent is not None:
            if base >= 0:
                return base + who.local if layout.world < 0 or base + who.local < layout.world else UNKNOWN
            return self._of_itself(speaker, who, layout) if self._tells_apart(speaker, who, agent) else UNKNOWN
        pid = process_id(speaker, who.name)
        rank = self._of_process(pid, speaker, who, node, layout) if pid != UNKNOWN else UNKNOWN
        return rank if rank >= 0 else self._of_itself(speaker, who, layout)

    def _is_placed(self, who: Shown, agent: Agent | None, layout: Layout) -> bool:
        """Say whether a launcher's number or a seat decides, even if against the rank."""
        return who.number >= 0 or (agent is not None and agent in layout.bases)

    def _of_itself(self, speaker: Speaker, who: Shown, layout: Layout) -> int:
        """Return the rank that the program says it is, unless another says so too or all say the same."""
        most = layout.world - 1 if layout.world > 0 else LARGEST
        lies = not layout.vouched or (who.era, speaker.self_rank) in layout.lies
        return UNKNOWN if lies or speaker.self_rank > most else speaker.self_rank

    def _tells_apart(self, speaker: Speaker, who: Shown, agent: Agent) -> bool:
        """Say whether the self-reports under one local rank are several: then nodes mix there, and they part them."""
        seat = Seat(speaker.source, who.era, who.node, who.number, who.local)
        return agent.kind == "source" and len(self.evidence.claims.get(seat, _NOTHING).weak) > 1

    def _of_process(self, pid: int, speaker: Speaker, who: Shown, node: str | None, layout: Layout) -> int:
        """Return the rank that was taught for a process.

        Hosts use the same pids: without a host, a pid counts where there is one host, in Ray, whose lines name the
        others, and in a communicator of the whole job, in which every process has claimed its rank.
        """
        keys: list[Key] = [Process(speaker.source, who.era, who.node, pid)]
        if who.node is None and node is not None:
            keys.append(Process(speaker.source, who.era, node, pid))
        sure = node is not None or speaker.actor is not None or layout.one_host
        strong = {layout.comm[key] for key in keys if key in layout.comm}
        weak: set[int] = set()
        for key in keys if sure else ():
            claimed = self.evidence.claims.get(key, _NOTHING)
            strong |= claimed.strong
            weak |= {rank for rank in claimed.weak if (who.era, rank) not in layout.lies}
        ranks = strong or weak
        return next(iter(ranks)) if len(ranks) == 1 else UNKNOWN

    def _local(self, speaker: Speaker, who: Shown, rank: int) -> int:
        if who.local >= 0:
            return who.local
        told = None
        if who.number >= 0:
            told = self.evidence.number_locals.get(Number(speaker.source, who.in_label, who.number))
        told = told or self.evidence.rank_locals.get(rank)
        return next(iter(told)) if told and len(told) == 1 else UNKNOWN

    def _node_of_rank(self, speaker: Speaker, who: Shown, rank: int, layout: Layout) -> str | None:
        told = self.evidence.rank_nodes.get(rank)
        also = self.evidence.number_nodes.get((speaker.source, who.era, who.number)) if who.in_label else None
        if not told and not also:
            return layout.only_node
        named = {layout.places.alias.get(node, node) for nodes in (told, also) for node in nodes or ()}
        return next(iter(named)) if len(named) == 1 else None

    def _node_id(self, node: str | None, table: _Table) -> int:
        return UNKNOWN if node is None else table.nodes.setdefault(node, len(table.nodes))


_NOTHING = Claimed()


def _usual_layout(layout: Layout, evidence: Evidence, told: Told) -> dict[Agent, int]:
    """Assume ranks in a row per node, nodes in the order of their own numbers; nothing where a claim contradicts."""
    agents: dict[Agent, int] = {}
    for key in evidence.seats:
        agent = agent_of(key, evidence, layout.places)
        if agent.kind != "source":
            agents[agent] = max(agents.get(agent, 0), key.local + 1)
    per_node = told.ranks_per_node or max([*evidence.per_node, *agents.values()], default=0)
    names = sorted({(agent.kind, agent.name) for agent in agents}, key=lambda one: (one[0], _natural(one[1])))
    if len({kind for kind, _ in names}) != 1:
        return {}
    at = {name: i * per_node for i, (_, name) in enumerate(names)}
    if layout.world > 0 and layout.world != len(names) * per_node:
        return {}
    if any(layout.bases.get(agent, at[agent.name]) != at[agent.name] for agent in agents):
        return {}
    return {agent: at[agent.name] for agent in agents}


def _natural(name: str | int) -> tuple[tuple[int, int, str], ...]:
    """Return a key that orders names by their numbers."""
    parts = re.findall(r"\d+|\D+", str(name))
    return tuple((0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts)
