"""One attempt of a job, ready to be judged: its journal, its matched lines and what is known of each rank."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.record import Ints, Journal, end_of_epoch
from l4tui.engine.homes import Bus, Homes, pci_bus, spread
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import NO_TIME, UNKNOWN, Level
from l4tui.engine.roles import Sighting
from l4tui.engine.smallids import partners, present, stable_order
from l4tui.engine.telemetry.curves import Outside
from l4tui.engine.telemetry.outside.hosts import node_named

if TYPE_CHECKING:
    from l4tui.engine.l4.pipeline import Analysis


class Baseline(Protocol):
    """What healthy jobs of the same kind say."""

    @property
    def jobs(self) -> int:
        """Number of healthy jobs."""

    def usual(self, journal: Journal) -> NDArray[np.bool_]:
        """Tell for each event of a job whether it is frequent in the healthy jobs."""


EXCERPT = 160  # characters of a line that a sentence quotes


@dataclass(frozen=True, slots=True)
class Suspicion:
    """An outside detector's finding: a rank or a node, and when (ns)."""

    rank: int = UNKNOWN
    node: str | None = None
    time: int = NO_TIME


@dataclass(frozen=True, slots=True)
class Life:
    """What one rank wrote in this attempt, errors and tracebacks left out."""

    rank: int
    lines: int
    last_row: int
    first_time: int
    last_time: int
    marked: int  # last iteration it marked, UNKNOWN if none
    last_marked_row: int


@dataclass(frozen=True, slots=False)
class Case:
    """An attempt to judge; `mask` selects its rows."""

    journal: Journal
    sightings: tuple[Sighting, ...]
    attempt: int = 0
    completed: bool = False  # this attempt reached its end
    baseline: Baseline | None = None
    suspicions: tuple[Suspicion, ...] = ()
    outside: tuple[Outside, ...] = ()  # what monitors and kernels tell beside the log
    homes: Homes = field(default_factory=Homes)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Rows of this attempt."""
        return self.journal.era == self.attempt

    @cached_property
    def ranks(self) -> list[int]:
        """Ranks that wrote something in this attempt."""
        found: list[int] = present(self.journal.rank[self.mask]).tolist()
        return found

    def rows_of(self, rank: int) -> Ints:
        """Return what a rank wrote in this attempt, ascending."""
        rows = self.journal.rows_of(rank)
        return rows[self.mask[rows]]

    @cached_property
    def world(self) -> int:
        """Number of ranks there should be."""
        told = [int(s.groups["expected"]) for s in self.sightings if "expected" in s.groups]
        return max([self.journal.world_size, len(self.ranks), *told])

    @cached_property
    def l4(self) -> Analysis:
        """What the statistical method finds in this attempt."""
        from l4tui.engine.l4.pipeline import Analysis

        return Analysis(self)

    def node_of(self, rank: int) -> str | None:
        """Return the rank's node, as the identity knows it or lines tell it."""
        known = self.journal.node_of.get(rank) or self.homes.node.get(rank) or self.homes.sole
        return known if known is not None or (rank in self.ranks and not self._fits_empty) else self._empty_node

    @cached_property
    def _empty_node(self) -> str | None:
        """The only node on which no rank wrote: where ranks that never wrote must be."""
        j = self.journal
        named = set(j.nodes) | set(j.node_ranks)
        named |= {s.groups["node"] for s in self.sightings if "node" in s.groups and s.pattern.blames is Blames.NODE}
        named -= {j.node_of.get(r) or self.homes.node.get(r) for r in self.ranks}
        return next(iter(named)) if len(named) == 1 else None

    @cached_property
    def _fits_empty(self) -> bool:
        """Tell whether the ranks without a node are as many as another node has: they are on the one that is left."""
        placed = Counter(n for r in self.ranks if (n := self.journal.node_of.get(r) or self.homes.node.get(r)))
        return len(self.ranks) - placed.total() in placed.values()

    def on_node(self, node: str) -> list[int]:
        """Return the ranks of a node that wrote something."""
        return self._by_node.get(node, [])

    @cached_property
    def _by_node(self) -> dict[str | None, list[int]]:
        out: dict[str | None, list[int]] = {}
        for rank in self.ranks:
            out.setdefault(self.node_of(rank), []).append(rank)
        return out

    @cached_property
    def _homes_of_ranks(self) -> list[str]:
        """The nodes of ranks; a machine may be called otherwise where it speaks itself."""
        placed = {node for node, ranks in self.journal.node_ranks.items() if ranks}
        return sorted(placed | {n for r in self.ranks if (n := self.node_of(r))})

    def seats(self, node: str) -> list[int]:
        """Return all ranks of a node: those that wrote, those that a launcher places there, else its usual block."""
        node = node_named(node, self._homes_of_ranks) or node
        told = {*self.on_node(node), *self.journal.node_ranks.get(node, ())}
        return sorted(told) or list(self._usual_seats.get(node, ()))

    @cached_property
    def _usual_seats(self) -> dict[str, range]:
        """Blocks of ranks in the order of the list of nodes that the job was given, where nothing says otherwise."""
        listed = self.homes.listed
        per_node = self.world // len(listed) if listed else 0
        if per_node < 1 or per_node * len(listed) != self.world:
            return {}
        blocks = {node: range(at * per_node, (at + 1) * per_node) for at, node in enumerate(listed)}
        known = [(r, n) for r in range(self.world) if (n := self.journal.node_of.get(r) or self.homes.node.get(r))]
        return blocks if all(r in blocks.get(n, ()) for r, n in known) else {}

    def roles(self, *roles: Role) -> list[Sighting]:
        """Return the sightings of these roles."""
        return [s for s in self.sightings if s.role in roles]

    def of(self, *names: str) -> list[Sighting]:
        """Return the sightings of these patterns."""
        return [s for s in self.sightings if s.pattern.id in names]

    def node_at(self, row: int) -> str | None:
        """Return the node a row was written on: its own, else its rank's, else its source's."""
        j = self.journal
        if j.node[row] >= 0:
            return j.nodes[int(j.node[row])]
        if j.rank[row] >= 0:
            return self.node_of(int(j.rank[row]))
        return self.source_node.get(int(j.source[row]))

    @cached_property
    def source_node(self) -> dict[int, str]:
        """Node of a source whose ranks all live on one; a node's name in the path counts too."""
        j = self.journal
        out: dict[int, str] = {}
        order = stable_order(j.source)
        at = np.searchsorted(j.source[order], np.arange(len(j.sources) + 1))
        for one, name in enumerate(j.sources):
            nodes = {self.node_of(r) for r in present(j.rank[order[at[one] : at[one + 1]]]).tolist()} - {None}
            named = {n for n in (*j.nodes, *j.node_ranks) if n and n in name} or {*j.nodes, *j.node_ranks}
            if len(nodes) == 1:
                out[one] = str(next(iter(nodes)))
            elif len(named) == 1:
                out[one] = next(iter(named))
        return out

    @cached_property
    def _local(self) -> dict[tuple[int | str, int], set[int]]:
        j = self.journal
        here = (j.rank >= 0) & (j.local_rank >= 0)
        out: dict[tuple[int | str, int], set[int]] = defaultdict(set)
        if here.any():
            for source, local, rank in np.unique(np.stack([j.source, j.local_rank, j.rank])[:, here], axis=1).T:
                out[int(source), int(local)].add(int(rank))
                out[UNKNOWN, int(local)].add(int(rank))
                if node := self.node_of(int(rank)):
                    out[node, int(local)].add(int(rank))
        return out

    def rank_at(self, local_rank: int, row: int) -> int:
        """Return the rank with this local rank beside the row: same source, same node, or the only one."""
        node = self.node_at(row)
        keys: list[tuple[int | str, int]] = [(int(self.journal.source[row]), local_rank), (UNKNOWN, local_rank)]
        if node is not None:
            keys.insert(1, (node, local_rank))
        for key in keys:
            if len(found := self._local.get(key, set())) == 1:
                return next(iter(found))
        ranks = sorted(self.journal.node_ranks.get(node or "", ()))
        return int(ranks[local_rank]) if local_rank < len(ranks) else UNKNOWN

    def subjects(self, sighting: Sighting) -> list[int]:
        """Return the ranks that a line's groups name, directly, by pid or by local rank."""
        g = sighting.groups
        for name in ("ranks", "ranks2"):
            if name in g:
                return spread(g[name])
        for name in ("rank", "rank2"):
            if name in g:
                return [int(g[name])]
        if "pid" in g and int(g["pid"]) in self.homes.rank:
            return [self.homes.rank[int(g["pid"])]]
        if "pci" in g and (rank := self.user_of(g["pci"], self.node_at(sighting.row))) >= 0:
            return [rank]
        if g.get("node_index") == "0":
            return [int(g["local_rank"])]
        rank = self.rank_at(int(g["local_rank"]), sighting.row) if "local_rank" in g else UNKNOWN
        return [rank] if rank >= 0 else []

    def user_of(self, pci: str, node: str | None) -> int:
        """Return the rank that uses the GPU at an address of a node, where NCCL told which one each rank has."""
        users = self.homes.users.get(pci_bus(pci) or Bus(-1, -1, -1), ())
        named = node_named(node, self._homes_of_ranks)
        there = [r for r in users if node is None or self.node_of(r) == named]
        return there[0] if len(there) == 1 else UNKNOWN

    @cached_property
    def ends_in_errors(self) -> bool:
        """Tell whether an error is the last that most ranks say."""
        last = [rows[-1] for rank in self.ranks if len(rows := self.rows_of(rank))]
        return len(last) > 1 and self.is_most(int((self.journal.level[last] >= Level.ERROR).sum()))

    @cached_property
    def lives(self) -> dict[int, Life]:
        """What each rank wrote of its own accord: no traceback, nothing matched as cascade or teardown."""
        j = self.journal
        own = self.mask & j.calm
        own[[s.row for s in self.roles(Role.CASCADE, Role.TEARDOWN, Role.INITIATING)]] = False
        order = j.by_rank[own[j.by_rank]]
        lives = {}
        for chunk in np.split(order, np.flatnonzero(np.diff(j.rank[order])) + 1) if len(order) else []:
            rank = int(j.rank[chunk[0]])
            times = j.time[chunk]
            times = times[times != NO_TIME]
            marked = chunk[j.marked[chunk]]
            lives[rank] = Life(
                rank=rank,
                lines=len(chunk),
                last_row=int(chunk[-1]),
                first_time=int(times.min()) if len(times) else NO_TIME,
                last_time=int(times.max()) if len(times) else NO_TIME,
                marked=int(j.iteration[marked].max()) if len(marked) else UNKNOWN,
                last_marked_row=int(marked[-1]) if len(marked) else UNKNOWN,
            )
        return lives

    @cached_property
    def marks(self) -> dict[int, tuple[int, int]]:
        """Last iteration (and its row) that each rank marked with the one kind of line that most ranks mark with."""
        j = self.journal
        rows = np.flatnonzero(self.mask & j.marked & (j.rank >= 0) & (j.event >= 0) & (j.level <= Level.INFO))
        if not len(rows):
            return {}
        writers, lines = partners(j.event[rows], j.rank[rows]), np.bincount(j.event[rows])
        events, most = np.flatnonzero(lines).tolist(), int(writers.max())
        best = max(events, key=lambda e: (writers[e] > 1, writers[e] >= most / 2, int(lines[e])))
        rows = rows[j.event[rows] == best]
        rows = rows[np.lexsort((rows, j.iteration[rows], j.rank[rows]))]
        ranks = j.rank[rows]
        lasts = rows[np.append(ranks[1:] != ranks[:-1], True)]
        return {int(j.rank[row]): (int(j.iteration[row]), row) for row in lasts.tolist()}

    @cached_property
    def ticks(self) -> Ints:
        """Rows of the kind of line that marks most iterations, whoever writes it."""
        j = self.journal
        rows = np.flatnonzero(self.mask & j.marked & (j.iteration >= 0) & (j.event >= 0) & (j.level <= Level.INFO))
        turns = partners(j.event[rows], j.iteration[rows])
        return rows[j.event[rows] == int(np.argmax(turns))].astype(np.int64) if len(rows) else rows.astype(np.int64)

    @cached_property
    def _turns(self) -> int:
        """How many iterations the finest marker tells."""
        return len(present(self.journal.iteration[self.ticks]))

    def _marks_itself(self, rank: int) -> bool:
        """Tell whether a rank marks about as many iterations as the job's finest marker."""
        if rank not in self.marks:
            return False
        j = self.journal
        event = int(j.event[self.marks[rank][1]])
        if len(self.ticks) and event == int(j.event[self.ticks[0]]):
            return True
        rows = self.rows_of(rank)
        own = np.unique(j.iteration[rows[j.marked[rows] & (j.event[rows] == event)]])
        return 3 * len(own) >= self._turns

    def iteration_at(self, rank: int, row: int) -> int:
        """Return the iteration of a row: its own where its rank marks iterations, else the job's at that time."""
        j = self.journal
        own = int(j.iteration[row])
        if self._marks_itself(rank) or not len(self.ticks) or (rank < 0 and own >= 0):
            return own
        same = j.source[self.ticks] == j.source[row]
        timed = bool(j.clock[row] != NO_TIME)
        before = np.where(same, self.ticks < row, (j.clock[self.ticks] <= j.clock[row]) if timed else ~same)
        seen = self.ticks[before]
        return max(own, int(j.iteration[seen].max()) + 1) if len(seen) else own

    def iteration_of(self, rank: int) -> int:
        """Return the iteration a rank was in when it wrote its last own line: after a marker, the next one."""
        life = self.lives.get(rank)
        if life is None:
            return UNKNOWN
        if not self._marks_itself(rank) and len(self.ticks):
            return self.iteration_at(rank, life.last_row)
        row = life.last_row
        at, stride = int(self.journal.iteration[row]), self.stride(rank)
        if (end := end_of_epoch(self.journal, life.last_marked_row, row, stride)) >= 0:
            return end
        if not self.journal.marked[row] or stride <= 1 or not len(self.ticks):
            return at + int(bool(self.journal.marked[row]))
        return max(at + 1, min(at + stride, int(self.journal.iteration[self.ticks].max()) + 1))

    def iteration_stuck(self, rank: int) -> int:
        """Return the iteration in which a rank kept its peers waiting: its own where it marks some, else the job's."""
        own = self.iteration_of(rank)
        if rank not in self.lives or self._marks_itself(rank) or not len(self.ticks):
            return own
        return max(own, int(self.journal.iteration[self.ticks].max()) + 1)

    def stride(self, rank: int) -> int:
        """Return the usual number of iterations between two markers of a rank, 1 when unknown."""
        j = self.journal
        rows = self.rows_of(rank)
        marked = np.unique(j.iteration[rows[j.marked[rows]]])
        return int(np.median(np.diff(marked[-9:]))) if len(marked) > 2 else 1

    def is_most(self, count: int) -> bool:
        """Tell whether so many ranks are more than half of those that wrote, and of those that are known to exist."""
        return 2 * count > max(len(self.ranks), len(self._known), 1)

    @cached_property
    def _known(self) -> set[int]:
        """Ranks that wrote or that the layout of a named node holds; a node without either counts as one."""
        j = self.journal
        placed = {r for ranks in j.node_ranks.values() for r in ranks} | set(self.ranks)
        if not placed or j.world_size <= len(placed):
            return placed
        empty = [n for n in {*j.nodes, *j.node_ranks} if not self.on_node(n) and not j.node_ranks.get(n)]
        return set(range(j.world_size)) if empty else placed


def first_rows(sightings: Iterable[Sighting]) -> tuple[int, ...]:
    """Return the rows of sightings, ascending."""
    return tuple(sorted({s.row for s in sightings}))


def excerpt(text: str) -> str:
    """Cut a line to what fits a sentence, at a word or a sentence's end, without the full stop it may end with."""
    line = text.strip()
    if len(line) > EXCERPT:
        line = line[:EXCERPT].rpartition(" ")[0] or line[:EXCERPT]
        head = line.rpartition(". ")[0]
        line = f"{head if len(head) > EXCERPT // 2 else line} …"
    return line.rstrip(".")


def word_ranks(ranks: Sequence[int]) -> str:
    """Write ranks for a sentence: "rank 3", "ranks 4-7"."""
    spans: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    words = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
    return f"rank{'s' if len(set(ranks)) > 1 else ''} {words}"


def rows_array(rows: Sequence[int]) -> Ints:
    """Return rows as an index array."""
    return np.array(rows, dtype=np.int64)
