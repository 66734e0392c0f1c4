"""Text that names the culprit: the subject of the line is accused, not its writer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.deaths import NAMES, Death, deaths
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.library.pattern import Blames, Pattern, Role
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

KIND = "explicit_blame"
_ITERATION = re.compile(r"\b(?:iteration|step)[ =:]+(\d{1,9})\b")
MOST_NAMED = 0.5  # a line that names more than this share of the ranks accuses none of them


def judge(case: Case) -> list[Finding]:
    """Accuse those whom reports, barriers, launchers and fingerprints name."""
    return [*_named(case), *_minority(case), *_compared(case), *_killed(case)]


def _named(case: Case) -> list[Finding]:
    out: list[Finding] = []
    by_pattern: dict[str, list[Sighting]] = defaultdict(list)
    for s in case.roles(Role.INITIATING):
        if s.pattern.blames is Blames.SUBJECT and not s.pattern.hardware:
            by_pattern[s.pattern.id].append(s)
    for sightings in by_pattern.values():
        lines: dict[int, list[Sighting]] = defaultdict(list)
        nodes: dict[str, list[Sighting]] = defaultdict(list)
        for s in sightings:
            for rank in (ranks := case.subjects(s)):
                lines[rank].append(s)
            if not ranks and (node := _node(case, s)):
                nodes[node].append(s)
        pattern = sightings[0].pattern
        strength = Strength.STRONG if pattern.strong else Strength.WEAK
        if len(lines) > MOST_NAMED * max(case.world, 2):
            continue
        for rank, named in lines.items():
            out.append(_finding(case, named, strength, f"{word_ranks([rank])}: {pattern.meaning}", rank=rank))
        for node, named in nodes.items():
            out.append(_finding(case, named, strength, f"{node}: {pattern.meaning}", node=node))
    return out


def _node(case: Case, s: Sighting) -> str | None:
    for name in ("node", "node2", "host", "ip"):
        if name in s.groups:
            return case.homes.address.get(s.groups[name], s.groups[name])
    return None


def _finding(
    case: Case, named: list[Sighting], strength: Strength, sentence: str, *, rank: int = -1, node: str | None = None
) -> Finding:
    first, pattern = named[0], named[0].pattern
    told = _ITERATION.search(first.text)
    iteration = int(told[1]) if told else -1
    if iteration < 0 and rank >= 0:
        iteration = case.iteration_of(rank) if first.rank != rank else case.iteration_at(rank, first.row)
    return Finding(
        KIND,
        strength,
        sentence,
        rank,
        node,
        tuple(s.row for s in named),
        True,
        iteration,
        pattern.stage,
        pattern.cause,
        pattern.actions,
    )


def _minority(case: Case) -> list[Finding]:
    """Of ranks named in pairs, accuse the one in every pair, or those who do the rare thing."""
    pairs = [s for s in case.roles(Role.INITIATING) if s.pattern.blames is Blames.MINORITY]
    if not pairs:
        return []
    pattern = pairs[0].pattern
    accused, strength = _rare(case, pairs)
    if pattern.cause == "version":
        accused = sorted({r for rank in accused for r in [rank, *case.on_node(case.node_of(rank) or "")]})
    out = []
    for rank in accused:
        told = [s for s in pairs if str(rank) in (s.groups["rank"], s.groups["other"])]
        rows = tuple(s.row for s in told if s.rank == rank) or tuple(s.row for s in told or pairs)
        out.append(_differs(case, rank, accused, strength, rows, pattern))
    return out


def _rare(case: Case, pairs: list[Sighting]) -> tuple[list[int], Strength]:
    """Return the ranks that do what fewest do, else those that stand in every pair."""
    doing: dict[int, str] = {}
    named: Counter[int] = Counter()
    for s in pairs:
        first, second = int(s.groups["rank"]), int(s.groups["other"])
        named.update({first, second})
        for rank, name in ((first, "op"), (second, "other_op")):
            if name in s.groups:
                doing[rank] = _signature(s.groups[name])
    groups: dict[str, list[int]] = defaultdict(list)
    for rank, what in doing.items():
        groups[what].append(rank)
    if len(groups) > 1:
        by_node = pairs[0].pattern.cause == "version" and all(case.node_of(r) for r in doing)  # an image is a node's
        size = {id(rs): (len({case.node_of(r) for r in rs}) if by_node else 0, len(rs)) for rs in groups.values()}
        sizes = sorted(groups.values(), key=lambda rs: size[id(rs)])
        if size[id(sizes[0])] == size[id(sizes[-1])]:
            return [r for ranks in sizes for r in ranks], Strength.WEAK
        return sizes[0], Strength.STRONG
    if len(pairs) == 1:
        return [], Strength.STRONG
    top = max(named.values())
    return [r for r, n in named.items() if n == top and n == len(pairs)], Strength.STRONG


def _compared(case: Case) -> list[Finding]:
    """Where each rank compares itself with one other: few who report are odd; when most report, that other is."""
    told = [s for s in case.roles(Role.INITIATING) if s.pattern.blames is Blames.COMPARED]
    if not told:
        return []
    reporters = sorted({int(s.groups["rank"]) for s in told})
    reference = Counter(int(s.groups["other"]) for s in told).most_common(1)[0][0]
    most = 2 * len(reporters) > case.world and case.world > 2
    accused = [reference] if most else reporters
    strength = Strength.STRONG if most or 3 * len(reporters) <= case.world else Strength.WEAK
    pattern = told[0].pattern
    out = []
    for rank in accused:
        rows = tuple(s.row for s in told if most or int(s.groups["rank"]) == rank)
        out.append(_differs(case, rank, accused, strength, rows, pattern))
    return out


def _differs(
    case: Case, rank: int, accused: list[int], strength: Strength, rows: tuple[int, ...], pattern: Pattern
) -> Finding:
    words = f"{word_ranks(accused)} differ{'s' * (len(accused) == 1)} from the rest: {pattern.meaning}"
    if strength is Strength.WEAK and len(accused) > 1:
        words = f"{word_ranks(accused)} differ from each other, and no majority tells who is right: {pattern.meaning}"
    return Finding(
        KIND,
        strength,
        words,
        rank,
        None,
        rows,
        True,
        case.iteration_of(rank),
        pattern.stage,
        pattern.cause,
        pattern.actions,
    )


def _signature(text: str) -> str:
    return text.split("OpType=")[-1].split(", TensorDtypes")[0].rstrip(").")


def _killed(case: Case) -> list[Finding]:
    ends = [d for d in deaths(case) if d.is_root and (d.rank >= 0 or d.node is not None)]
    if case.is_most(len({d.rank for d in ends if d.rank >= 0})) and len(case.ranks) > 1:
        return []
    return [_death(case, d) for d in ends]


def _death(case: Case, death: Death) -> Finding:
    cause = "killed" if death.signal == 9 else "crash"
    if cause == "killed":
        actions: tuple[str, ...] = ("check the kernel log of the node for an oom-kill",)
    else:
        actions = ("get the core dump",)
    who = word_ranks([death.rank]) if death.rank >= 0 else f"the launcher of {death.node}"
    return Finding(
        KIND,
        Strength.STRONG,
        f"the launcher saw {who} die from {NAMES[death.signal]}",
        death.rank,
        death.node,
        (death.sighting.row,),
        True,
        case.iteration_stuck(death.rank) if death.rank >= 0 else UNKNOWN,  # its peers went no further
        "",
        cause,
        actions,
    )
