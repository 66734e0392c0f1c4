"""How processes ended, as launchers tell: exit codes and signals per rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from l4tui.engine.evidence.case import Case
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

WORDS = {"Killed": 9, "Out Of Memory": 9, "Segmentation fault": 11, "Bus error": 7, "Aborted": 6, "Terminated": 15}
WORDS |= {"SIGILL": 4, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9, "SIGSEGV": 11}
FATAL_SIGNALS = {4: "SIGILL", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}
KILL, TERM, ABORT = 9, 15, 6
NAMES = FATAL_SIGNALS | {ABORT: "SIGABRT"}
BELOW = ("mpirun.signal", "hydra.end")  # they tell of the process in the line above


@dataclass(frozen=True, slots=True)
class Death:
    """One process's end; `signal` is 0 for an exit code."""

    rank: int
    signal: int
    code: int
    sighting: Sighting
    forced: bool = False  # killed by its own launcher after it ignored SIGTERM
    node: str | None = None  # where no rank can be told: the task was the launcher of a whole node
    own: bool = False  # aborted, and not because it had lost its peers

    @property
    def is_root(self) -> bool:
        """Tell whether this end is one that no peer's failure causes."""
        return (self.signal in FATAL_SIGNALS or self.own) and not self.forced


def deaths(case: Case) -> list[Death]:
    """Return every end that a launcher tells of in this attempt."""
    lost = bool(case.of("slurm.node-failure", "slurm.node-failure-step"))  # then the scheduler kills the rest
    forced = {s.groups["pid"] for s in case.sightings if s.pattern.blames is Blames.FROZEN}
    wrapped = _wrapped(case)
    agents = _are_agents(case)
    found = []
    for s in case.sightings:
        if s.pattern.blames is not Blames.EXIT:
            continue
        code, signal = int(s.groups.get("exitcode", s.groups.get("exit", 0))), int(s.groups.get("signal", 0))
        signal = signal or WORDS.get(s.groups.get("how", ""), 0) or wrapped.get(s.row, 0)
        if code < 0 or code > 128:
            signal = -code if code < 0 else code - 128
        ranks = [s.rank] if s.rank >= 0 and "rank" not in s.groups else case.subjects(s)
        if not ranks and s.groups.get("pid", "").isdigit():
            ranks = _by_table(case, s)
        node = s.groups.get("node") if agents and s.pattern.id == "slurm.task-died" else None
        node = node or (_of_place(case, s) if not ranks else None)
        if node is not None:
            there = case.on_node(node)
            ranks = there if len(there) == 1 else []
        ranks = ranks or [UNKNOWN]
        found += [Death(r, signal, code, s, lost or s.groups.get("pid") in forced, node) for r in ranks]
    return _aborted(case, _ended_by_mpiexec(found))


def _aborted(case: Case, found: list[Death]) -> list[Death]:
    """Take the one rank that aborted without a word why for the first to fail, where others lost it."""
    lost = {s.rank for s in case.sightings if _tells_of_peers(s) and s.rank >= 0}
    untold = [s for s in case.sightings if _tells_of_peers(s) and s.rank < 0]
    places = {case.node_at(s.row) for s in untold}
    aborts = {d.rank for d in found if d.signal == ABORT and d.rank >= 0}
    explained = {s.rank for s in case.roles(Role.INITIATING) if not s.copied}
    alone = {r for r in aborts - lost - explained if not places & {None, case.node_of(r)}}
    if len(alone) != 1 or not lost - alone:
        return found
    return [replace(d, own=True) if d.signal == ABORT and d.rank in alone else d for d in found]


def _tells_of_peers(s: Sighting) -> bool:
    waits = s.role is Role.CASCADE or (s.role is Role.INITIATING and s.pattern.blames is Blames.PROGRESS)
    return waits and not s.pattern.secondhand and not s.copied


def aborted_by_peers(case: Case) -> dict[int, int]:
    """Return the one rank of each node that aborted, where an untagged report of lost peers stands, and its row."""
    aborts: dict[str | None, set[int]] = {}
    for d in deaths(case):
        if d.signal == ABORT and d.rank >= 0 and not d.own:
            aborts.setdefault(case.node_of(d.rank), set()).add(d.rank)
    rows: dict[str | None, int] = {}
    for s in case.sightings:
        if s.rank < 0 and _tells_of_peers(s) and (node := case.node_at(s.row)) is not None:
            rows.setdefault(node, s.row)
    return {next(iter(aborts[node])): row for node, row in rows.items() if len(aborts.get(node, ())) == 1}


def _ended_by_mpiexec(found: list[Death]) -> list[Death]:
    """Of the processes that mpiexec lists, those killed beside one that crashed were ended by it."""
    listed = [d for d in found if d.sighting.pattern.id == "hydra.terminated"]
    crashed = any(d.is_root and d.signal != KILL for d in listed)
    return [replace(d, forced=True) if crashed and d in listed and d.signal == KILL else d for d in found]


def _are_agents(case: Case) -> bool:
    """Tell whether the scheduler's tasks are launchers of nodes: somewhere a node's ranks have other numbers."""
    return any(
        (there := _ranks_there(case, s)) and len(there) > len(tasks := case.subjects(s)) and not there.issuperset(tasks)
        for s in case.of("slurm.task-died")
    )


def _ranks_there(case: Case, s: Sighting) -> set[int]:
    """Return the ranks of the node that a line names."""
    node = s.groups.get("node")
    if node is None:
        return set()
    there = {*case.journal.node_ranks.get(node, ()), *case.on_node(node)}
    return there | {rank for rank, name in case.homes.node.items() if name == node}


def _of_place(case: Case, s: Sighting) -> str | None:
    """Return the node that a launcher of nodes names, or on whose behalf it writes."""
    if s.pattern.id not in ("node.exit-code", "hydra.terminated"):
        return None
    return s.groups.get("node") or case.node_at(s.row)


def _wrapped(case: Case) -> dict[int, int]:
    """Signals and exit codes that MPI launchers write below the line that names the process, by that line's row."""
    told = case.of("mpirun.rank-died", "mpirun.signal", "hydra.terminated", "hydra.end")
    pairs = [(a, b.groups) for a, b in pairwise(told) if b.pattern.id in BELOW and b.row - a.row <= 3]
    return {a.row: int(g.get("signal", 0)) or max(0, int(g.get("exitcode", 0)) - 128) for a, g in pairs}


def _by_table(case: Case, sighting: Sighting) -> list[int]:
    """The agent's table gives rank and pid in rows of one block: rank, then exit code."""
    rank = UNKNOWN
    for s in case.of("elastic.table-rank", "elastic.table-exit"):
        if s.pattern.id == "elastic.table-rank":
            rank = int(s.groups["rank"])
        elif s.groups.get("pid") == sighting.groups["pid"] and rank >= 0:
            return [rank]
    return []
