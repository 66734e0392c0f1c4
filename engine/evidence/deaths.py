"""How processes ended, as launchers tell: exit codes and signals per rank."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from l4tui.engine.evidence.case import Case
from l4tui.engine.library.pattern import Blames
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

WORDS = {"Killed": 9, "Out Of Memory": 9, "Segmentation fault": 11, "Bus error": 7, "Aborted": 6, "Terminated": 15}
WORDS |= {"SIGILL": 4, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9, "SIGSEGV": 11}
FATAL_SIGNALS = {4: "SIGILL", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV"}
KILL, TERM = 9, 15
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

    @property
    def is_root(self) -> bool:
        """Tell whether this end is one that no peer's failure causes."""
        return self.signal in FATAL_SIGNALS and not self.forced


def deaths(case: Case) -> list[Death]:
    """Return every end that a launcher tells of in this attempt."""
    lost = bool(case.of("slurm.node-failure", "slurm.node-failure-step"))  # then the scheduler kills the rest
    forced = {s.groups["pid"] for s in case.sightings if s.pattern.blames is Blames.FROZEN}
    wrapped = _wrapped(case)
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
        node = _of_agent(case, s, ranks) or (_of_place(case, s) if not ranks else None)
        if node is not None:
            there = case.on_node(node)
            ranks = there if len(there) == 1 else []
        ranks = ranks or [UNKNOWN]
        found += [Death(r, signal, code, s, lost or s.groups.get("pid") in forced, node) for r in ranks]
    return _ended_by_mpiexec(found)


def _ended_by_mpiexec(found: list[Death]) -> list[Death]:
    """Of the processes that mpiexec lists, those killed beside one that crashed were ended by it."""
    listed = [d for d in found if d.sighting.pattern.id == "hydra.terminated"]
    crashed = any(d.is_root and d.signal != KILL for d in listed)
    return [replace(d, forced=True) if crashed and d in listed and d.signal == KILL else d for d in found]


def _of_agent(case: Case, s: Sighting, tasks: list[int]) -> str | None:
    """Return the node of tasks that are no ranks: the ranks of that node have other numbers."""
    node = s.groups.get("node")
    if s.pattern.id != "slurm.task-died" or node is None:
        return None
    there = {*case.journal.node_ranks.get(node, ()), *case.on_node(node)}
    return node if len(there) > len(tasks) and not there.issuperset(tasks) else None


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
