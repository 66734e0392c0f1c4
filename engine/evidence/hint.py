"""Whom a launcher saw end first: a hint, and all there is where no process speaks under its own name."""

from __future__ import annotations

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.deaths import deaths
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.waiting import victims
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.roles import Sighting

KIND = "hint"
HIGHEST_CODE = 128  # a larger exit code tells of a signal


def named_first(case: Case) -> dict[int, Sighting]:
    """Return the ranks that launchers name as ended by an error of their own, first ones first."""
    found: dict[int, Sighting] = {}
    for s in case.sightings:
        if s.pattern.blames is Blames.HINT:
            for rank in case.subjects(s):
                found.setdefault(rank, s)
    for death in deaths(case):
        if death.rank >= 0 and 0 < death.code <= HIGHEST_CODE and not death.signal:
            found.setdefault(death.rank, death.sighting)
    return found


def judge(case: Case) -> list[Finding]:
    """Accuse the first rank that a launcher names, where no rank that is known raised, waited or was killed."""
    if case.completed or any(d.is_root for d in deaths(case)):
        return []
    raised = case.roles(Role.INITIATING)
    waited = victims(case)
    named = {r: s for r, s in named_first(case).items() if r not in waited}
    if waited and raised and (len(named) != 1 or any(s.rank >= 0 for s in raised)):
        return []  # who ended first may as well have waited, unless one alone ended by an error and did not wait
    if not named or any(s.rank >= 0 and not s.copied for s in raised) or (case.is_most(len(named)) and len(named) > 1):
        return []
    rank, sighting = min(named.items(), key=lambda item: item[1].row)
    rows = tuple(s.row for s in raised if s.rank < 0 and s.pattern.blames is Blames.WRITER)
    strength = Strength.STRONG if rows and len(named) == 1 else Strength.WEAK
    cause = next((s.pattern.cause for s in raised if s.row in rows), "code")
    return [
        Finding(
            KIND,
            strength,
            f"the launcher saw {word_ranks([rank])} end first",
            rank,
            None,
            rows or (sighting.row,),
            bool(rows),
            case.iteration_of(rank),
            "",
            cause,
        )
    ]
