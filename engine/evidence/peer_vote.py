"""Reporters vote for the peer they name; two that name each other are a link."""

from __future__ import annotations

from collections import defaultdict

from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.homes import plain_address
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

KIND = "peer_vote"
Target = tuple[int, str | None]


def judge(case: Case) -> list[Finding]:
    """Count distinct reporters per named peer; more than half of them make it strong."""
    votes: dict[Target, dict[int, Sighting]] = defaultdict(dict)
    for s in case.sightings:
        if s.pattern.blames is Blames.PEER and s.role is not Role.CONTEXT:
            reporter = int(s.groups["writer"]) if "writer" in s.groups else s.rank
            if reporter < 0 and (node := case.node_at(s.row)) in case.journal.nodes:
                reporter = -2 - case.journal.nodes.index(str(node))  # a node speaks where no rank is known
            target = _target(case, s)
            if target is not None and not _is_self(case, reporter, target):
                votes[target].setdefault(reporter, s)
    reporters = {r for by in votes.values() for r in by}
    out = []
    for target, by in votes.items():
        if len(by) < 2 and len(case.ranks) > 2:
            strength = Strength.WEAK
        else:
            strength = Strength.STRONG if 2 * len(by) > len(reporters) and len(by) > 1 else Strength.WEAK
        rank, node = target
        name = f"rank {rank}" if rank >= 0 else str(node)
        lead = next(iter(by.values())).pattern
        out.append(
            Finding(
                KIND,
                strength,
                f"{len(by)} of {len(reporters)} reporters name {name}",
                rank,
                node,
                tuple(s.row for s in by.values()),
                False,
                UNKNOWN,
                lead.stage,
                lead.cause,
                lead.actions,
            )
        )
    return out


def _target(case: Case, s: Sighting) -> Target | None:
    if "rank" in s.groups:
        return int(s.groups["rank"]), None
    for name in ("peer", "peer2"):
        host = plain_address(s.groups.get(name, ""))
        if host in case.homes.address:
            return UNKNOWN, case.homes.address[host]
        if host in case.journal.nodes or host in case.journal.node_ranks:
            return UNKNOWN, host
    return (UNKNOWN, left) if "own" in s.groups and (left := _only_other(case, s)) else None


def _only_other(case: Case, s: Sighting) -> str | None:
    """Return the one node that never said its own address of this kind: an address that nobody has is its."""
    told = [t for t in case.of(s.pattern.id) if "own" in t.groups]
    named = {case.homes.address.get(plain_address(t.groups["own"])) for t in told} - {None}
    peers = {plain_address(t.groups["peer"]) for t in told if "peer" in t.groups}
    left = {n for n in (case.node_of(r) for r in case.ranks) if n is not None} - named
    unknown = peers - set(case.homes.address)
    return next(iter(left)) if named and len(left) == 1 and len(unknown) == 1 else None


def _is_self(case: Case, reporter: int, target: Target) -> bool:
    rank, node = target
    if reporter < UNKNOWN:
        return case.journal.nodes[-2 - reporter] == node
    return reporter == rank if rank >= 0 else reporter >= 0 and case.node_of(reporter) == node
