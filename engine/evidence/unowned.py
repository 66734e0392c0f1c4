"""What ended the job though no rank is to blame: told to stop, an address where nobody answers, a limit of a step."""

from __future__ import annotations

from collections import Counter

from l4tui.engine.evidence.case import Case, first_rows
from l4tui.engine.evidence.deaths import TERM, deaths
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

STOPS = ("elastic.death-signal", "signal.exception", "slurm.cancelled")


def judge(case: Case) -> list[Finding]:
    """Return weak findings about everybody: they count only where no rank and no node is accused."""
    if case.completed:
        return []
    return [*_nobody_named(case), *_gave_up(case), *_no_answer(case), *_told_to_stop(case)]


def _nobody_named(case: Case) -> list[Finding]:
    """A line that tells what ended the job, but not whom."""
    told = [s for s in case.roles(Role.INITIATING) if s.pattern.blames is Blames.NOBODY]
    return [_finding(told, told[0].pattern.meaning, told[0].pattern.cause)] if told else []


def _gave_up(case: Case) -> list[Finding]:
    """Most ranks ended themselves for values that no rank is known to have spoilt."""
    told = [s for s in case.of("numerics.gave-up", "numerics.scale-exhausted") if s.rank >= 0]
    if not case.is_most(len({s.rank for s in told})):
        return []
    return [_finding(told, told[0].pattern.meaning, told[0].pattern.cause)]


def _no_answer(case: Case) -> list[Finding]:
    """Most ranks, or processes that the log does not tell apart, could not reach one and the same address."""
    told = case.of("rdzv.store-unreachable")
    peers = Counter(s.groups.get("peer", s.groups.get("peer2", "")) for s in told)
    if not told or case.roles(Role.INITIATING):
        return []
    writers = {s.rank for s in told if s.rank >= 0}
    if not (case.is_most(len(writers)) or (not writers and not case.ranks)):
        return []
    words = f"nobody answers at {peers.most_common(1)[0][0]}: wrong address or port, or rank 0 never started there"
    return [_finding(told, words, "config")]


def _told_to_stop(case: Case) -> list[Finding]:
    """The agent or most ranks were told to stop, and nothing had gone wrong before."""
    if case.roles(Role.INITIATING, Role.CASCADE):
        return []
    told = [s for s in case.of(*STOPS) if s.pattern.id != "slurm.cancelled" or "CANCELLED AT" in s.text]
    writers = {s.rank for s in told if s.rank >= 0}
    by_agent = any(s.rank < 0 for s in told)
    if (
        not told
        or not (by_agent or case.is_most(len(writers)))
        or any(d.signal != TERM for d in deaths(case))
    ):
        return []
    return [_finding(told, "it was told to stop from outside, by the scheduler or a person", "scheduler")]


def _finding(told: list[Sighting], sentence: str, cause: str) -> Finding:
    p = told[0].pattern
    return Finding(
        "explicit_blame",
        Strength.WEAK,
        sentence,
        UNKNOWN,
        None,
        first_rows(told),
        True,
        UNKNOWN,
        p.stage,
        cause,
        p.actions,
    )
