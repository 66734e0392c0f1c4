"""What each matched line is to the failure: initiating, cascade, teardown or context."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from l4tui.engine.evidence.record import Ints, Journal
from l4tui.engine.library.matching import Hit
from l4tui.engine.library.pattern import Blames, Pattern, Role
from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.smallids import met

HARMLESS = re.compile(
    r"\b(?:ignor(?:ed|ing)|continuing|retrying|will retry|retry in|retries left|falling back|fall back|disabled|"
    r"non-?fatal|harmless|using default|skipping (?:this|the) (?:sample|record|batch))\b"
)
HABIT = 3  # lines of a shape that make it a habit of its rank
RESUMED = 3  # habitual lines after an error that show the rank went on
LIST_REACH = 8  # rows from a list's header, or its row before, to a row of it
OWN_FILE = re.compile(  # a rank of one axis of parallelism, or of one node, is no rank of the job
    r"/(?:[^/\s]{0,120}[_\-.])?(?<![mtpdec]p_)(?<!local_)rank[_\-]?(\d{1,6})(?=[/._\-'\")])"
)
AT_ONCE = 2 * 10**9  # ns that may pass from a logged line to the traceback below it
TABLE_REACH = 400  # rows of the agent's table that one "rank :" line speaks for


@dataclass(frozen=True, slots=True)
class Sighting:
    """A matched line with its writer and its role."""

    row: int
    pattern: Pattern
    groups: dict[str, str]
    text: str
    rank: int  # the rank that wrote it, or that the agent's table speaks of
    role: Role
    copied: bool = False  # a launcher's copy of what the rank printed


def sight(journal: Journal, hits: Sequence[Hit]) -> list[Sighting]:
    """Give every hit its writer and its role; source lines of tracebacks are left out."""
    hits = _in_context(journal, hits)
    told = _table_ranks(journal, hits)
    progress = Progress(journal, [h.row for h in hits if h.pattern.role is not Role.CONTEXT])
    found: list[Sighting] = []
    for hit in hits:
        if _is_source_line(hit):
            continue
        rank = int(journal.rank[hit.row])
        copied = rank < 0 and hit.row in told and hit.pattern.role is not Role.TEARDOWN
        if copied:
            rank = told[hit.row]
        elif rank < 0 and hit.pattern.role is Role.INITIATING and hit.pattern.blames is Blames.WRITER:
            rank = _of_file(journal, hit.text)
        found.append(Sighting(hit.row, hit.pattern, hit.groups, hit.text, rank, hit.pattern.role, copied))
    heads = _heads(journal, found)
    found = [s if s.role is not Role.INITIATING else replace(s, role=_own_role(s, progress, heads)) for s in found]
    return _demote_followers(journal, _took_back(journal, found))


def _took_back(journal: Journal, found: list[Sighting]) -> list[Sighting]:
    """Take back what the same log says of the same server later: it answers again."""
    back: dict[tuple[int, str], int] = {}
    for s in found:
        if s.pattern.id == "kernel.nfs-back":
            back[int(journal.source[s.row]), s.groups["server"]] = s.row
    return [
        replace(s, role=Role.CONTEXT)
        if s.pattern.id == "kernel.nfs" and back.get((int(journal.source[s.row]), s.groups["server"]), -1) > s.row
        else s
        for s in found
    ]


def _in_context(journal: Journal, hits: Sequence[Hit]) -> list[Hit]:
    """Keep rows of a list only where its header stands just above, in the same source."""
    last: dict[tuple[int, str], int] = {}
    kept: list[Hit] = []
    for hit in hits:
        source, header = int(journal.source[hit.row]), hit.pattern.after
        if header:
            if hit.row - last.get((source, header), -LIST_REACH - 1) > LIST_REACH:
                continue
            last[source, header] = hit.row
        last[source, hit.pattern.id] = hit.row
        kept.append(hit)
    return kept


def _is_source_line(hit: Hit) -> bool:
    """A line of code in a traceback or of a memory dump tells nothing by itself."""
    indented = hit.text.startswith("    ") and not hit.pattern.regex.pattern.startswith("^\\s*")
    return hit.pattern.role is Role.INITIATING and indented


def _table_ranks(journal: Journal, hits: Sequence[Hit]) -> dict[int, int]:
    """Rows of the agent's table and the rank that its last "rank :" line names, in the same source."""
    told: dict[int, int] = {}
    last, at, source = UNKNOWN, -TABLE_REACH, UNKNOWN
    for hit in hits:
        if hit.pattern.id == "elastic.table-rank":
            last, at, source = int(hit.groups["rank"]), hit.row, int(journal.source[hit.row])
        elif hit.text.startswith("  ") and hit.row - at < TABLE_REACH and journal.source[hit.row] == source:
            told[hit.row] = last
    return told


def _of_file(journal: Journal, text: str) -> int:
    """Return the rank whose own file an error without a writer speaks of."""
    named = {int(n) for n in OWN_FILE.findall(text)}
    rank = named.pop() if len(named) == 1 else UNKNOWN
    return rank if rank < max(journal.world_size, *journal.ranks[-1:] + 1, 0) else UNKNOWN


class Progress:
    """Per rank: where its habitual lines and its iteration markers stand."""

    def __init__(self, journal: Journal, bad: Sequence[int] = ()) -> None:
        """Take the journal and the rows of its matched failures: lines of their shapes are no habit."""
        self._journal = journal
        calm = journal.calm
        if len(bad):
            calm = calm & ~np.isin(journal.shape, np.unique(journal.shape[np.asarray(bad, dtype=np.int64)]))
        self._habitual = calm & (met(journal.rank, journal.shape) >= HABIT)
        self._rows: dict[int, Ints] = {}

    def habits(self, rank: int) -> Ints:
        """Rows of the rank's habitual lines, ascending."""
        if rank not in self._rows:
            rows = self._journal.rows_of(rank)
            self._rows[rank] = rows[self._habitual[rows]]
        return self._rows[rank]

    def went_on(self, rank: int, row: int) -> bool:
        """Tell whether the rank made real progress after the row, within the same attempt."""
        j = self._journal
        later = self.habits(rank)
        later = later[j.era[later] == j.era[row]]
        same = j.source[later] == j.source[row]
        after = np.where(same, later > row, (j.clock[later] > j.clock[row]) & (j.clock[row] != NO_TIME))
        later = later[after]
        if len(later) == 0:
            return False
        now = int(j.iteration[row])
        marked = later[j.marked[later]]
        return len(later) >= RESUMED or bool(now >= 0 and len(marked) and int(j.iteration[marked].max()) > now)


    def job_went_on(self, row: int) -> bool:
        """Tell whether the job marked several more iterations after the row, within the same attempt."""
        j = self._journal
        marked = np.flatnonzero(j.marked & (j.iteration >= 0) & (j.era == j.era[row]))
        same = j.source[marked] == j.source[row]
        later = np.where(same, marked > row, (j.clock[marked] > j.clock[row]) & (j.clock[row] != NO_TIME))
        return len(np.unique(j.iteration[marked[later]])) >= RESUMED


def _heads(journal: Journal, found: Sequence[Sighting]) -> dict[int, str]:
    """Read what the logger said above the tracebacks that it printed: row of the failure → first line of its record."""
    rows = [s.row for s in found if s.role is Role.INITIATING and s.pattern.blames is Blames.WRITER and s.rank >= 0]
    rows = [row for row in rows if journal.record[row] < row and _is_beside(journal, int(journal.record[row]))]
    heads = np.array([journal.record[row] for row in rows], dtype=np.int64)
    return dict(zip(rows, journal.read(heads), strict=True)) if rows else {}


def _is_beside(journal: Journal, head: int) -> bool:
    """Tell whether the rank's next row stands where its logger prints a traceback: at once, others only between."""
    mine = journal.rows_of(int(journal.rank[head]))
    after = mine[np.searchsorted(mine, head, side="right") :][:1]
    if not len(after) or journal.source[after[0]] != journal.source[head]:
        return False
    between = journal.time[head + 1 : int(after[0])][journal.source[head + 1 : int(after[0])] == journal.source[head]]
    between = between[between != NO_TIME]
    return not len(between) or journal.time[head] == NO_TIME or int(between.max() - journal.time[head]) <= AT_ONCE


def _own_role(sighting: Sighting, progress: Progress, heads: Mapping[int, str]) -> Role:
    pattern = sighting.pattern
    if pattern.blames is Blames.SUBJECT and not pattern.strong and _is_survived(sighting, progress):
        return Role.CONTEXT
    if pattern.blames in {Blames.SUBJECT, Blames.MINORITY, Blames.COMPARED, Blames.PROGRESS, Blames.JOB, Blames.ABSENT}:
        return Role.INITIATING
    if HARMLESS.search(sighting.text) or HARMLESS.search(heads.get(sighting.row, "")):
        return Role.CONTEXT
    recoverable = pattern.blames is Blames.WRITER and not (pattern.hardware or pattern.lasting or sighting.copied)
    if recoverable and sighting.rank >= 0 and progress.went_on(sighting.rank, sighting.row):
        return Role.CONTEXT
    return Role.INITIATING


def _is_survived(sighting: Sighting, progress: Progress) -> bool:
    """Tell whether words about a rank are taken back by the line itself, or by what that rank did later."""
    if sighting.pattern.lasting or HARMLESS.search(sighting.text):
        return not sighting.pattern.lasting
    if named := sighting.groups.get("rank", sighting.groups.get("rank2", "")):
        return progress.went_on(int(named), sighting.row)
    return progress.job_went_on(sighting.row)


def _demote_followers(journal: Journal, found: list[Sighting]) -> list[Sighting]:
    """Demote what only follows: after the same rank's cascade, explained by a plainer line, or said again."""
    first_cascade: dict[tuple[int, int], int] = {}
    copied_cascade = {s.rank for s in found if s.role is Role.CASCADE and s.copied}
    for s in found:
        if s.role is Role.CASCADE and s.rank >= 0 and not s.copied:
            first_cascade.setdefault((s.rank, int(journal.era[s.row])), s.row)
    explained = {name: s.rank for s in found if s.role is Role.INITIATING for name in s.pattern.explains}
    told: set[str] = set()
    told_failure = False
    first_event: dict[tuple[int, str, int], int] = {}
    out: list[Sighting] = []
    for s in found:
        if s.role is Role.INITIATING and s.pattern.blames is Blames.WRITER and not s.pattern.hardware:
            at = first_cascade.get((s.rank, int(journal.era[s.row])))
            generic = s.pattern.id == "python.exception"
            follows = at is not None and at < s.row and s.rank >= 0 and generic
            follows = follows or (s.copied and generic and s.rank in copied_cascade)
            if follows or explained.get(s.pattern.id, s.rank) != s.rank:
                s = replace(s, role=Role.CASCADE)
        if s.role is Role.INITIATING and s.pattern.blames is Blames.WRITER and s.rank >= 0:
            event = int(journal.event[s.row])
            if first_event.setdefault((s.rank, s.pattern.id, int(journal.era[s.row])), event) != event:
                s = replace(s, role=Role.CASCADE)
        if s.role is Role.INITIATING and s.pattern.id == "process.killed" and s.rank < 0 and told_failure:
            s = replace(s, role=Role.TEARDOWN)  # the shell tells of those that the launcher ended
        told_failure = told_failure or (s.role is Role.INITIATING and s.rank >= 0)
        if s.role is Role.INITIATING and s.pattern.once:
            s = replace(s, role=Role.CASCADE) if s.pattern.id in told else s
            told.add(s.pattern.id)
        out.append(s)
    return out
