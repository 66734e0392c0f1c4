"""Own errors of ranks and nodes, and who of them only followed another: what no entry knows may be a victim's words."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.roles import Sighting

PLAIN = ("python.exception", "python.error-told")  # entries that know the form alone
DEEPEST, INNERMOST = 60, 3  # lines of a traceback's end that are read, frames of it that count
FARTHEST = 4000  # rows above an error in which its traceback stands, woven into those of others
COLLECTIVE = re.compile(
    r'File "[^"]*(?:torch/distributed/(?:distributed_c10d|c10d_logger|rendezvous)|deepspeed/comm/|horovod/\w+/mpi_ops|'
    r"mpi4py/)[^\"]*\"|, in _?(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|monitored_barrier|barrier|"
    r"broadcast)\w*$"
)
TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Fault))\b")

Raised = dict[int, list[Sighting]]


def raised(case: Case) -> tuple[Raised, dict[str, list[Sighting]]]:
    """Return the initiating errors by the rank that raised them, and those that only a node is known for."""
    ranks: Raised = defaultdict(list)
    nodes: dict[str, list[Sighting]] = defaultdict(list)
    for s in case.roles(Role.INITIATING):
        if not _counts(s) or (case.completed and not s.pattern.lasting):
            continue
        if s.rank >= 0 and s.pattern.blames is not Blames.NODE:
            ranks[s.rank].append(s)
        elif (node := case.node_at(s.row)) is not None:
            nodes[node].append(s)
    return ranks, nodes


def _counts(s: Sighting) -> bool:
    return not s.pattern.hardware and s.pattern.blames in (Blames.WRITER, Blames.NODE)


def followers(case: Case) -> set[int]:
    """Ranks that raised what no entry knows, where another tells more: alone of its kind, or outside a collective."""
    j = case.journal
    ranks, _ = raised(case)
    plain = {rank for rank, found in ranks.items() if all(s.pattern.id in PLAIN for s in found)}
    inside = {rank for rank in plain if _in_collective(case, ranks[rank][0].row)}
    same: dict[int, list[int]] = defaultdict(list)
    for rank, found in ranks.items():
        same[int(j.event[found[0].row])].append(rank)
    alone = [few[0] for few in same.values() if len(few) == 1 and few[0] not in inside]
    out = inside if len(inside) < len(ranks) else set()
    for many in same.values():
        apart = len(many) > 1 and plain.issuperset(many)
        if apart and any(_explains(case, ranks, one, many) for one in alone):
            out |= set(many)
    return out


def _explains(case: Case, ranks: Raised, one: int, many: list[int]) -> bool:
    """Tell whether a rank alone of its kind came before all of these, or may have brought down several nodes'."""
    j = case.journal
    row = ranks[one][0].row
    if case.is_most(len(many)) and len({_type(ranks[r][0]) for r in (one, *many)}) < 2:
        return False  # all ranks raise it, in other words
    if all(j.source[ranks[r][0].row] == j.source[row] and row < ranks[r][0].row for r in many):
        return True
    nodes = {case.node_of(r) for r in many}
    return len(nodes) > 1 or None in nodes or case.node_of(one) in nodes


def _in_collective(case: Case, row: int) -> bool:
    """Tell whether what a row ends was raised in a call that waits for other ranks."""
    j = case.journal
    first = max(0, row - FARTHEST)
    record = first + np.flatnonzero((j.record[first:row] == j.record[row]) & (j.rank[first:row] == j.rank[row]))
    frames = [t for t in j.read(record[-DEEPEST:].astype(np.int64)) if t.lstrip().startswith("File ")]
    return any(COLLECTIVE.search(text) for text in frames[-INNERMOST:])


def _type(s: Sighting) -> str:
    """Return the name of an exception, else the entry that knows it."""
    told = TYPE.search(s.text) if s.pattern.id in PLAIN else None
    return told[1] if told else s.pattern.id
