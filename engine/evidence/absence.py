"""Who never came: ranks or nodes that ought to exist and were not there when the others gave up."""

from __future__ import annotations

import numpy as np

from l4tui.engine.evidence.case import Case, excerpt, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.waiting import victims
from l4tui.engine.library.pattern import Blames
from l4tui.engine.model import NO_TIME, UNKNOWN, Level, LineClass

KIND = "silence"
FEW = 1 / 3  # a larger absent share accuses nobody
GAVE_UP = ("rdzv.lost", "rdzv.clients-missing", "rdzv.store-unreachable", "c10d.store-timeout", "jax.barrier-timeout")


def judge(case: Case) -> list[Finding]:
    """Accuse ranks and nodes that were waited for and were not there."""
    return [*_absent(case), *_never_came(case)]


def _absent(case: Case) -> list[Finding]:
    """Ranks that should exist and never wrote a line before the others gave up."""
    missing = [s for s in case.sightings if s.pattern.blames is Blames.ABSENT]
    gave_up = [s.row for s in missing] or list(victims(case).values())
    began = any(life.marked >= 0 for life in case.lives.values())
    if not gave_up or case.world <= 0 or (began and not missing):
        return []
    end = _last_time(case, {int(case.journal.source[r]) for r in gave_up})
    world = case.world
    waited = {int(case.journal.rank[row]) for row in gave_up if _only_failed(case, row)}
    late = [r for r in range(world) if r not in waited and _came_after(case, r, int(end), min(gave_up))]
    if not 0 < len(late) <= (FEW * world if not missing else world - 1):
        return []
    if len(case.ticks) and not missing:
        return _not_waiting(case, late, min(gave_up))
    words = "joined only after its peers gave up" if any(r in case.ranks for r in late) else "never joined"
    rows = tuple(s.row for s in missing) or _first_rows(case, late)
    return [_finding(r, words, rows, "init", "network") for r in late]


def _not_waiting(case: Case, late: list[int], gave_up: int) -> list[Finding]:
    """Iterations were told, by processes that the log does not tell apart: the absent ranks were among them."""
    j = case.journal
    words, rows = "is not among those that waited", _first_rows(case, late)
    if len(late) == 1 and (last := _unowned(case, gave_up)) >= 0:
        rows, words = (last,), f"{words}; the last line that no rank owns: {excerpt(j.text(last))}"
    stage = j.stages[j.stage[rows[0]]] if rows and j.stage[rows[0]] >= 0 else ""
    return [_finding(r, words, rows, stage, "hang") for r in late]


def _finding(rank: int, words: str, rows: tuple[int, ...], stage: str, cause: str) -> Finding:
    told = f"{word_ranks([rank])} {words}"
    return Finding(KIND, Strength.STRONG, told, rank, None, rows, True, UNKNOWN, stage, cause)


def _unowned(case: Case, before: int) -> int:
    """Return the last calm row above another one of its source that is neither a rank's nor the launcher's."""
    j = case.journal
    rows = np.flatnonzero((j.rank[:before] < 0) & ~j.launcher[:before] & (j.level[:before] <= Level.INFO))
    rows = rows[case.mask[rows] & (j.source[rows] == j.source[before]) & (j.line_class[rows] != LineClass.BLANK)]
    return int(rows[-1]) if len(rows) else UNKNOWN


def _last_time(case: Case, sources: set[int]) -> int:
    """Latest time in these sources: a traceback has none of its own, and a wait before it may have been long."""
    j = case.journal
    times = j.time[np.isin(j.source, list(sources)) & (j.time != NO_TIME)]
    return int(times.max()) if len(times) else NO_TIME


def _first_rows(case: Case, late: list[int]) -> tuple[int, ...]:
    """First row of the nodes of these ranks, and the first that one of them wrote."""
    j = case.journal
    nodes = [j.nodes.index(node) for node in {case.node_of(r) for r in late} if node in j.nodes]
    firsts = [np.flatnonzero(case.mask & np.isin(j.rank, late))[:1]]
    firsts += [np.flatnonzero(case.mask & (j.node == node))[:1] for node in nodes]
    return tuple(sorted({int(r) for rows in firsts for r in rows}))


def _only_failed(case: Case, row: int) -> bool:
    """Tell whether a rank's first words are that it gave up: it waited with its peers, whoever of them wrote first."""
    rows = case.rows_of(int(case.journal.rank[row]))
    before = rows[rows < row]
    return not case.journal.calm[before].any()


def _came_after(case: Case, rank: int, end: int, row: int) -> bool:
    j = case.journal
    rows = case.rows_of(rank)
    if not len(rows):
        return True
    if j.source[rows[0]] == j.source[row]:
        return bool(rows[0] > row)
    return end != NO_TIME and bool(j.clock[rows[0]] > end)


def _never_came(case: Case) -> list[Finding]:
    """Nodes that the job was given and that wrote nothing, while those that came gave up waiting for them."""
    j = case.journal
    told = case.of(*GAVE_UP)
    listed = case.homes.listed or tuple(node for node, ranks in j.node_ranks.items() if ranks)
    began = any(life.marked >= 0 for life in case.lives.values()) or len(case.ticks) > 0
    if case.completed or began or not told or len(listed) < 2:
        return []
    wrote = {j.nodes[n] for n in np.unique(j.node[case.mask & (j.node >= 0)]).tolist()}
    came = {n.partition(".")[0] for n in (*wrote, *case.source_node.values())}
    missing = [n for n in listed if n.partition(".")[0] not in came]
    if not 0 < len(missing) <= max(1, FEW * len(listed)) or not came & {n.partition(".")[0] for n in listed}:
        return []
    rows = tuple(s.row for s in case.of("fact.node-list"))[:1]
    words = f"none of its lines is there, while {len(listed) - len(missing)} other nodes gave up waiting"
    return [
        Finding(
            KIND, Strength.STRONG, f"{node}: {words}", UNKNOWN, node, rows, False, UNKNOWN, "init", "network",
            ("check whether the node is up and its launcher was started",),
        )
        for node in missing
    ]  # fmt: skip
