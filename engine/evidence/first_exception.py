"""The first exception that starts a failure, once cascades and teardown are set aside."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from l4tui.engine.evidence.case import Case, excerpt, first_rows, word_ranks
from l4tui.engine.evidence.deaths import deaths
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.followers import followers, raised
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import NO_TIME, UNKNOWN, Level, LineClass
from l4tui.engine.roles import Sighting

KIND = "first_exception"
MOST_LINES = 400  # of a rank's end that are looked at for its last own line
FEW = 1 / 3  # of the ranks; when more end in errors, none of them is odd
TOGETHER = 5 * 10**9  # ns: exceptions this close began together, whatever the clocks of two nodes say


def judge(case: Case) -> list[Finding]:
    """Accuse each rank, or the node, whose own initiating exception came first."""
    ranks, nodes = raised(case)
    after = followers(case)
    if case.is_most(len(_common({r: found for r, found in ranks.items() if r not in after}))) and len(ranks) > 1:
        return []
    began = {rank: _time(case, found) for rank, found in ranks.items()}
    known = [t for r, t in began.items() if t != NO_TIME and (r not in after or after.issuperset(began))]
    first = min(known) if known else NO_TIME
    began |= dict.fromkeys(_alike(case, ranks, [r for r, t in began.items() if t == first != NO_TIME]), first)
    out = [_of_rank(case, rank, found, began[rank], first, rank in after) for rank, found in ranks.items()]
    for node, found in nodes.items():
        ranks_there = case.on_node(node)
        if len({case.node_of(r) for r in case.ranks} - {None}) > 1 or not ranks_there or _stands_alone(found):
            out.append(_of_node(node, found))
            told = {s.rank for s in found if s.rank >= 0 and s.pattern.blames is Blames.NODE}
            told = told if len(case.ranks) > 1 else set()  # alone it is only a voice
            out += [_teller(rank, found) for rank in sorted(told or _failed_there(case, node))]
    return out or _last_words(case)


def _failed_there(case: Case, node: str) -> set[int]:
    """Return the one rank of a node of which the launcher says that it failed by itself: an unowned error is its."""
    ends = {d.rank for d in deaths(case) if d.rank >= 0 and d.code > 0 and not d.signal}
    there = {rank for rank in ends if case.node_of(rank) == node}
    return there if len(there) == 1 else set()


def _last_words(case: Case) -> list[Finding]:
    """Nobody raised what an entry knows: accuse the few ranks that end with an error, while their peers lost them."""
    j = case.journal
    matched = {s.row for s in case.sightings}
    lost = {s.rank for s in case.roles(Role.CASCADE) if s.rank >= 0}
    if case.completed or not lost:
        return []
    out = []
    for rank in sorted(set(case.ranks) - lost):
        rows = [row for row in case.rows_of(rank)[-MOST_LINES:].tolist() if row not in matched]
        if rows and j.level[rows[-1]] >= Level.ERROR and j.line_class[rows[-1]] != LineClass.BLANK:
            out.append((rank, rows[-1]))
    if len(out) > FEW * len(case.ranks):
        return []
    return [
        Finding(
            KIND,
            Strength.WEAK,
            f"{word_ranks([rank])} ended with an error of its own: {excerpt(j.text(row))}",
            rank,
            None,
            (row,),
            True,
            case.iteration_at(rank, row),
        )
        for rank, row in out
    ]


def _alike(case: Case, ranks: dict[int, list[Sighting]], first: list[int]) -> list[int]:
    """Return the ranks that raise what the first ones raise: they met the same fault, however much later."""
    event = case.journal.event
    raised = {int(event[s.row]) for rank in first for s in ranks[rank]}
    return [rank for rank, found in ranks.items() if raised & {int(event[s.row]) for s in found}]


def _stands_alone(found: list[Sighting]) -> bool:
    return any(s.pattern.blames is Blames.NODE for s in found)


def _common(ranks: dict[int, list[Sighting]]) -> list[int]:
    """Ranks that show the pattern that most ranks show."""
    by_pattern: defaultdict[str, set[int]] = defaultdict(set)
    for rank, found in ranks.items():
        for s in found:
            by_pattern[s.pattern.id].add(rank)
    most: set[int] = set()
    for seen in by_pattern.values():
        most = seen if len(seen) > len(most) else most
    return sorted(most)


def _time(case: Case, found: list[Sighting]) -> int:
    times = case.journal.clock[np.array([s.row for s in found])]
    times = times[times != NO_TIME]
    return int(times.min()) if len(times) else NO_TIME


def _of_rank(case: Case, rank: int, found: list[Sighting], time: int, first: int, follows: bool) -> Finding:
    lead = min(found, key=lambda s: (not s.pattern.strong, s.copied, s.pattern.id == "python.exception", s.row))
    late = follows or (time != NO_TIME and first != NO_TIME and time - first > TOGETHER)
    strength = Strength.STRONG if lead.pattern.strong and not late else Strength.WEAK
    own = [s for s in found if not s.copied] or found
    iteration = _iteration(case, rank, own[0])
    what = excerpt(lead.text)
    later = ", after another rank's" if late else ""
    return Finding(
        KIND,
        strength,
        f"{word_ranks([rank])} raised its own error{later}: {what}",
        rank,
        None,
        first_rows(found),
        True,
        iteration,
        lead.pattern.stage,
        lead.pattern.cause,
        lead.pattern.actions,
        lead.pattern.id if lead.pattern.id != "python.exception" else "",
    )


def _iteration(case: Case, rank: int, own: Sighting) -> int:
    """Return the iteration that an error ended: what peers marked may stand below it, but they did not get past it."""
    at = case.iteration_at(rank, own.row) if not own.copied else UNKNOWN
    told = case.iteration_of(rank)
    if rank not in case.lives and len(case.ticks):
        stuck = int(case.journal.iteration[case.ticks].max()) + 1
    else:
        stuck = case.iteration_stuck(rank)
    marks_none = stuck > told
    return at if at >= 0 and (case.completed or not marks_none) else max(at, told if case.completed else stuck)


def _teller(rank: int, found: list[Sighting]) -> Finding:
    """The rank that met its node's fault is named with it, below what would accuse the rank itself."""
    own = [s for s in found if s.rank == rank] or found
    lead, rows = own[0], first_rows(own)
    words = f"{word_ranks([rank])} met it: {excerpt(lead.text)}"
    return Finding(KIND, Strength.WEAK, words, rank, None, rows, True, UNKNOWN, lead.pattern.stage, lead.pattern.cause)


def _of_node(node: str, found: list[Sighting]) -> Finding:
    lead = min(found, key=lambda s: (not s.pattern.strong, s.row))
    return Finding(
        KIND,
        Strength.STRONG if lead.pattern.strong else Strength.WEAK,
        f"{node}: {lead.pattern.meaning}",
        UNKNOWN,
        node,
        first_rows(found),
        True,
        UNKNOWN,
        lead.pattern.stage,
        lead.pattern.cause,
        lead.pattern.actions,
    )
