"""Values that one rank or node has and its equals have not: non-finite numbers, odd versions, bursts of retries."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from l4tui.engine.evidence.case import Case, rows_array, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.finite import spots
from l4tui.engine.evidence.record import Ints
from l4tui.engine.evidence.tabled import tables
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN, Level

KIND = "value"
TABLE = 3  # rows of a table of ranks at least
FEW = 0.4  # share of the ranks above which an odd value is everybody's
BURST = 3  # warnings per rank that make a burst
DENSE = 5  # warnings, and iterations they may spread over, at the beginning of a burst
TIMES = 5  # a burst is so many times what any rank elsewhere wrote


def judge(case: Case) -> list[Finding]:
    """Accuse the ranks or nodes whose values are odd among equals."""
    return [*_not_finite(case), *_odd_node(case), *_bursts(case), *_listed(case)]


def _listed(case: Case) -> list[Finding]:
    """Rows of a table with one value for each rank, printed as the job failed: the few that differ from all others."""
    if case.completed:
        return []
    listed = tables(case)
    bad = [s.row for s in case.roles(Role.INITIATING, Role.CASCADE)]
    for table in listed:
        at_end = bool(bad) and max((row for _, row in table.values()), default=UNKNOWN) >= min(bad)
        usual, many = Counter(v for v, _ in table.values()).most_common(1)[0] if len(table) >= TABLE else ("", 0)
        odd = {r: (v, row) for r, (v, row) in table.items() if v != usual}
        if odd and len(odd) <= FEW * len(table) and many == len(table) - len(odd):
            return [
                Finding(
                    KIND,
                    Strength.STRONG if at_end else Strength.WEAK,
                    f"in a table of all ranks {word_ranks([rank])} has {value[:80]}, the others have {usual[:80]}",
                    rank,
                    rows=tuple(t[rank][1] for t in listed if rank in t and t[rank][0] == value),
                    root=True,
                    iteration=int(case.journal.iteration[row]),
                    cause="desync",
                )
                for rank, (value, row) in odd.items()
            ]
    return []


def _not_finite(case: Case) -> list[Finding]:
    found = spots(case)
    if not found:
        return []
    first = found[0].iteration
    early = [s for s in found if s.iteration == first]
    for spot in early:
        if spot.good and len(spot.bad) <= FEW * (len(spot.bad) + len(spot.good)):
            return [
                Finding(
                    KIND,
                    Strength.STRONG,
                    f"{word_ranks([rank])} was the first with a value that is not finite,"
                    f" in iteration {spot.iteration}",
                    rank,
                    None,
                    (row,),
                    True,
                    spot.iteration,
                    "train",
                    "numerics",
                    ("inspect the batch of that rank at that step", "run a memory test on its GPU"),
                )
                for rank, row in spot.bad.items()
            ]
    return []


def _rows_by_event(case: Case) -> dict[int, Ints]:
    """Warning rows of ranks by event, without what healthy jobs say and what is matched as cascade."""
    j = case.journal
    rows = case.mask & (j.rank >= 0) & (j.level >= Level.WARNING)
    rows[
        [s.row for s in case.sightings if s.pattern.id == "version.mismatch" or s.pattern.blames is Blames.RETRIES]
    ] = True
    rows[[s.row for s in case.sightings if s.role in {"cascade", "teardown", "initiating"}]] = False
    loud = np.flatnonzero(rows & (j.rank >= 0))
    if case.baseline is not None:
        usual = case.baseline.usual(j)
        loud = loud[~usual[j.event[loud]] | (j.iteration[loud] >= 0)]
    out: dict[int, Ints] = {}
    order = loud[np.argsort(j.event[loud], kind="stable")]
    for chunk in np.split(order, np.flatnonzero(np.diff(j.event[order])) + 1) if len(order) else []:
        out[int(j.event[chunk[0]])] = chunk.astype(np.int64)
    return out


def _nodes(case: Case) -> dict[str, list[int]]:
    nodes: dict[str, list[int]] = defaultdict(list)
    for rank in case.ranks:
        if node := case.node_of(rank):
            nodes[node].append(rank)
    return nodes


def _odd_node(case: Case) -> list[Finding]:
    """A warning before training that every rank of one node wrote and nobody else."""
    nodes = _nodes(case)
    if len(nodes) < 2:
        return []
    j = case.journal
    accused: dict[str, list[int]] = defaultdict(list)
    extra: dict[str, list[int]] = defaultdict(list)
    for rows in _rows_by_event(case).values():
        if (j.iteration[rows] >= 0).any():
            continue
        writers = {int(r) for r in j.rank[rows]}
        there = {case.node_of(r) for r in writers}
        if len(there) != 1 or (node := next(iter(there))) is None:
            continue
        (accused if writers == set(nodes[node]) and len(writers) > 1 else extra)[node] += rows.tolist()
    versions = {s.row for s in case.of("version.mismatch")}
    out = []
    for node, rows_there in accused.items():
        if 2 * len(nodes[node]) > len(case.ranks):
            continue
        rows_there = sorted(rows_there + [r for r in extra[node] if r in versions])
        text = j.text(rows_there[0])
        is_version = any(r in versions for r in rows_there)
        words, cause = f"only the ranks of {node} said: {text.strip()[:160]}", "version" if is_version else "unknown"
        stage, action = _stage(case, rows_there[0]), "bring this node to the image of its peers"
        out += [
            Finding(KIND, Strength.STRONG, words, rank, None, tuple(rows_there), True, UNKNOWN, stage, cause, (action,))
            for rank in nodes[node]
        ]
    return out


def _stage(case: Case, row: int) -> str:
    stage = int(case.journal.stage[row])
    return case.journal.stages[stage] if stage >= 0 else ""


def _bursts(case: Case) -> list[Finding]:
    """Warnings that every rank of one node repeats far more often than any rank elsewhere."""
    nodes = [(node, ranks) for node, ranks in _nodes(case).items() if ranks]
    if len(nodes) < 2:
        return []
    j = case.journal
    size = max(max(ranks) for _, ranks in nodes) + 1
    members = np.concatenate([ranks for _, ranks in nodes])
    starts = np.cumsum([0, *(len(ranks) for _, ranks in nodes[:-1])])
    smallest = min(len(ranks) for _, ranks in nodes)
    out = []
    for rows in _rows_by_event(case).values():
        if len(rows) < BURST * smallest:
            continue
        count = np.bincount(np.minimum(j.rank[rows], size), minlength=size + 1)[members]
        least, most = np.minimum.reduceat(count, starts), np.maximum.reduceat(count, starts)
        top = np.sort(most)[-2:]
        for at in np.flatnonzero(least >= BURST).tolist():
            elsewhere = int(top[0] if most[at] == top[1] else top[1])
            node, there = nodes[at]
            if least[at] >= TIMES * elsewhere and 2 * len(there) <= len(case.ranks):
                out += _burst(case, node, there, rows[np.isin(j.rank[rows], there)], int(least[at]))
    return out


def _burst(case: Case, node: str, ranks: list[int], rows: Ints, least: int) -> list[Finding]:
    """Word a burst of one node; its rows count from where it is dense."""
    onset = _onset(case, rows)
    text = case.journal.text(int(rows[0])).strip()[:160]
    iteration, stage = int(case.journal.iteration[onset]), _stage(case, onset)
    sentence = f"the ranks of {node} repeat, {least} times or more each: {text}"
    kept = tuple(int(r) for r in rows if r >= onset)
    todo = ("check storage and network of this node",)
    return [
        Finding(KIND, Strength.STRONG, sentence, rank, None, kept, True, iteration, stage, "storage", todo)
        for rank in ranks
    ]


def _onset(case: Case, rows: Ints) -> int:
    """First row from which the burst is dense: `DENSE` of them within as many iterations."""
    j = case.journal
    rows = np.sort(rows_array(rows.tolist()))
    ordered = rows[np.argsort(j.iteration[rows], kind="stable")]
    for at in range(len(ordered) - DENSE + 1):
        if j.iteration[ordered[at + DENSE - 1]] - j.iteration[ordered[at]] <= DENSE:
            return int(ordered[at])
    return int(ordered[0])
