"""Combine the evidence: candidates are ranks, nodes, the whole job, and nobody."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from l4tui.engine.evidence import jobwide, unowned
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.registry import explainers, judges
from l4tui.engine.model import UNKNOWN

CLOSE = 2.0  # decibans: candidates this near the best are accused together
NODE_SHARE = 0.5  # of a node's own finding that each rank on it takes over
SHOWN = 8  # suspects listed besides those accused together
STALLED = 6.0  # decibans that a scheduler's stop weighs less than an error of all ranks
SPREADS = {"scheduler", "numerics"}  # causes of all ranks' errors that one of them may have brought about
UNOWNED = 0.6  # confidence in what ended a job though it names nobody
LEAST = 4.5  # decibans below which a rank is not listed: more than statistics alone can give


@dataclass(frozen=True, slots=True)
class Weights:
    """Decibans by kind: (weak, strong); groups by kind; what speaks for nobody and for the whole job."""

    origin: str
    group_of: Mapping[str, str]
    of: Mapping[str, tuple[float, float]]
    nobody: float
    job: float

    def weigh(self, kind: str, strength: Strength) -> float:
        """Return the decibans of one finding."""
        if strength is Strength.NONE:
            return 0.0
        weak, strong = self.of.get(kind, (0.5, 1.0))
        return strong if strength is Strength.STRONG else weak


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rank or a node with the findings against it, heaviest first, and their sum."""

    rank: int
    node: str | None
    decibans: float
    parts: tuple[tuple[float, Finding], ...]

    @property
    def score(self) -> float:
        """Return the sum as a number from 0 to 1."""
        return 1.0 - 10.0 ** (-max(self.decibans, 0.0) / 10.0)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings, heaviest first."""
        return tuple(f for _, f in self.parts)

    def sum_in_words(self) -> str:
        """Write the sum as a person reads it: "+20 explicit_blame, +9 silence"."""
        return ", ".join(f"+{value:g} {finding.kind}" for value, finding in self.parts if value)


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is accused: candidates best first; `job` holds what befell everybody."""

    ranks: tuple[Candidate, ...]
    nodes: tuple[Candidate, ...]
    job: tuple[Finding, ...]
    scope: str  # none, ranks, nodes, job
    confidence: float
    accused: tuple[int, ...] = ()  # the ranks that stand together at the top

    @property
    def lead(self) -> Finding | None:
        """Return the finding that decided."""
        if self.scope == "job":
            return self.job[0] if self.job else None
        best = self.ranks[:1] if self.ranks and self.scope != "none" else self.nodes[:1]
        return best[0].findings[0] if best and best[0].findings else None


@cache
def shipped_weights() -> Weights:
    """Load the weights that ship."""
    table = tomllib.loads(files("l4tui.engine.evidence").joinpath("weights.toml").read_text("utf-8"))
    groups = {kind: group for group, kinds in table["groups"].items() for kind in kinds}
    weights = {kind: (float(pair[0]), float(pair[1])) for kind, pair in table["weights"].items()}
    rest = table["candidates"]
    return Weights(table["origin"], groups, weights, float(rest["nobody"]), float(rest["job"]))


def gather(case: Case) -> tuple[list[Finding], list[Finding]]:
    """Ask every kind; return findings about ranks and nodes, and those about the whole job."""
    found = _spare_the_many(case, [f for judge in judges() for f in judge(case)])
    for explain in explainers():
        found += explain(case, found)
    return _spare_the_many(case, found), [*jobwide.judge(case), *unowned.judge(case)]


def _spare_the_many(case: Case, found: list[Finding]) -> list[Finding]:
    """Drop what is said, by one kind and level, of more than half of the ranks."""
    by_kind: dict[tuple[str, Strength], set[int]] = defaultdict(set)
    for f in found:
        if f.rank >= 0:
            by_kind[f.kind, f.strength].add(f.rank)
    world = max(case.world, len(case.ranks))
    many = {key for key, ranks in by_kind.items() if len(ranks) > 1 and world > 2 and 2 * len(ranks) > world}
    return [f for f in found if (f.kind, f.strength) not in many or f.rank < 0]


def combine(case: Case, found: Sequence[Finding], job: Sequence[Finding], weights: Weights) -> Blame:
    """Sum the groups per candidate and decide the scope."""
    nodes_own: dict[str, list[Finding]] = defaultdict(list)
    of_rank: dict[int, list[tuple[float, Finding]]] = defaultdict(list)
    for f in found:
        weight = weights.weigh(f.kind, f.strength)
        if f.rank >= 0:
            of_rank[f.rank].append((weight, f))
        elif f.node is not None:
            nodes_own[f.node].append(f)
            for rank in case.on_node(f.node) if f.kind != "first_exception" else ():
                of_rank[rank].append((weight * NODE_SHARE, f))
    ranks = sorted(
        (_candidate(r, case.node_of(r), parts, weights) for r, parts in of_rank.items()),
        key=lambda c: (-c.decibans, c.rank),
    )
    nodes = _nodes(ranks, nodes_own, weights)
    return _decide(case, ranks, nodes, list(job), weights)


def _candidate(rank: int, node: str | None, parts: Iterable[tuple[float, Finding]], weights: Weights) -> Candidate:
    """Count the largest of each group; keep the rest as reasons of weight 0."""
    ordered = sorted(parts, key=lambda p: -p[0])
    counted: set[str] = set()
    out: list[tuple[float, Finding]] = []
    for value, finding in ordered:
        group = weights.group_of.get(finding.kind, finding.kind)
        out.append((0.0 if group in counted else value, finding))
        counted.add(group)
    return Candidate(rank, node, sum(v for v, _ in out), tuple(out))


def _nodes(
    ranks: Sequence[Candidate], own: Mapping[str, Sequence[Finding]], weights: Weights
) -> list[Candidate]:
    """A node weighs what its heaviest rank weighs, or what is said of the node itself."""
    best: dict[str, Candidate] = {}
    for c in ranks:
        if c.node is not None and c.node not in best:
            best[c.node] = Candidate(UNKNOWN, c.node, c.decibans, c.parts)
    for node, findings in own.items():
        mine = [(weights.weigh(f.kind, f.strength), f) for f in findings]
        ranked = best[node].parts if node in best else ()
        seen = {id(f) for f in findings}
        parts = [*mine, *((v, f) for v, f in ranked if id(f) not in seen)]
        best[node] = _candidate(UNKNOWN, node, parts, weights)
    return sorted(best.values(), key=lambda c: (-c.decibans, c.node or ""))


def _decide(case: Case, ranks: list[Candidate], nodes: list[Candidate], job: list[Finding], weights: Weights) -> Blame:
    best_rank = ranks[0].decibans if ranks else 0.0
    best = max(best_rank, nodes[0].decibans if nodes else 0.0)
    strong = [f for f in job if f.strength is Strength.STRONG]
    weak = [f for f in job if f.strength is Strength.WEAK]
    stopped = all(f.cause in SPREADS for f in strong)  # a time limit also ends what somebody else had stalled
    for_job = (weights.job - STALLED * stopped) if strong else 0.0
    together = _together(ranks, nodes)
    rivals = [c for c in ranks if c.decibans >= min(LEAST, best_rank)]  # hints weigh nothing, on however many ranks
    odds = [10 ** (c.decibans / 10) - 1 for c in rivals]
    total = sum(odds) + 10 ** (weights.nobody / 10) + (10 ** (for_job / 10) if for_job else 0.0)
    if for_job >= max(best, weights.nobody) and for_job > 0:
        return Blame((), (), tuple(strong), "job", round(10 ** (for_job / 10) / total, 3))
    if best < LEAST and weak:
        return Blame((), (), tuple(weak), "job", UNOWNED)
    if best < LEAST:
        return Blame((), (), tuple(job), "none", round(10 ** (weights.nobody / 10) / total, 3))
    listed = [c for c in ranks if c.decibans >= LEAST]
    listed = listed[: max(SHOWN, len(together))]
    share = sum(10 ** (c.decibans / 10) - 1 for c in together) if together else 10 ** (best / 10)
    scope = "nodes" if _is_nodes(case, together, nodes) else "ranks"
    nodes = [c for c in nodes if c.decibans >= LEAST][:SHOWN]
    accused = tuple(c.rank for c in together)
    listed = listed if together else _seated(case, nodes[0], listed)
    return Blame(tuple(listed), tuple(nodes), tuple(job), scope, round(share / max(total, share), 3), accused)


def _seated(case: Case, node: Candidate, listed: list[Candidate]) -> list[Candidate]:
    """List the ranks of a node that is accused for itself first: whichever of them it was, it ran there."""
    name = str(node.node)
    if node.findings[0].stage == "launch" and node.findings[0].kind != "explicit_blame":
        return listed  # none of them had begun, and none is missed
    seats = case.seats(name)
    heavy = min((NODE_SHARE * node.decibans, *(c.decibans for c in listed[:1] if c.rank not in seats)))
    there = [Candidate(rank, node.node, heavy, node.parts) for rank in seats]
    return [*there, *(c for c in listed if c.rank not in seats)]


def _together(ranks: list[Candidate], nodes: list[Candidate]) -> list[Candidate]:
    """Ranks as heavy as the heaviest, and those of its node against whom the same is said."""
    if not ranks or ranks[0].decibans < LEAST:
        return []
    lead = ranks[0]
    if nodes and nodes[0].node != lead.node and nodes[0].decibans > lead.decibans + CLOSE:
        return []
    same = {(f.kind, f.sentence) for f in lead.findings[:1] if f.strength is Strength.STRONG}
    fault = {(f.kind, f.pattern) for f in lead.findings if f.pattern and f.strength is Strength.STRONG}
    return [
        c
        for c in ranks
        if c.decibans >= lead.decibans - CLOSE
        or (c.node == lead.node and any((f.kind, f.sentence) in same for f in c.findings))
        or any((f.kind, f.pattern) in fault and f.strength is Strength.STRONG for f in c.findings)
    ]


def _is_nodes(case: Case, together: list[Candidate], nodes: list[Candidate]) -> bool:
    """Whole nodes are accused when all ranks of theirs stand together, or a node stands without ranks."""
    if not together:
        return bool(nodes)
    accused = {c.rank for c in together}
    there = {c.node for c in together}
    if None in there or len({case.node_of(r) for r in case.ranks}) < 2:
        return False
    return len(accused) > 1 and all(set(case.on_node(str(n))) <= accused for n in there)
