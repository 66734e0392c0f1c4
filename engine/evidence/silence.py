"""Who said nothing: a rank that stops before its peers, or lacks the line that all of them wrote."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from l4tui.engine.evidence import progress_gap
from l4tui.engine.evidence.case import Case, Life, excerpt, word_ranks
from l4tui.engine.evidence.deaths import TERM, deaths
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.waiting import timed_out, victims
from l4tui.engine.library.pattern import Blames, Role
from l4tui.engine.model import NO_TIME, UNKNOWN, Level

KIND = "silence"
MOST = 0.6  # share of ranks that must have written the line that a silent one lacks
FEW = 1 / 3  # a larger silent share accuses nobody
LEAST_GAP, LEAST_GAP_NS = 3, 1e9  # iterations, nanoseconds by which an early end is behind the others
ALIVE = 5  # lines a rank must have written to be missed
LEAST_NODES = 3
OWNED = 0.2  # share of the lines that have a rank up to which nodes are compared instead
AHEAD = 8  # times the peers' own spread by which all of them are later
PEERS = 32  # whose pauses are looked at
STEPS = 2  # kinds of line that all others wrote since
QUOTED = 120  # characters of a rank's last line


def judge(case: Case) -> list[Finding]:
    """Accuse ranks that ought to have spoken."""
    return [
        *_frozen(case),
        *_lacks_report(case),
        *_lacks_warning(case),
        *_was_elsewhere(case),
        *_vanished(case),
        *_mute_node(case),
        *_stopped(case),
        *_left_behind(case),
        *_lacks_steps(case),
        *_before_the_wait(case),
    ]


def _frozen(case: Case) -> list[Finding]:
    out = []
    for s in case.sightings:
        if s.pattern.blames is Blames.FROZEN:
            rank = next(iter(case.subjects(s)), UNKNOWN)
            if rank < 0:
                rank = next((d.rank for d in deaths(case) if d.sighting.groups.get("pid") == s.groups["pid"]), UNKNOWN)
            if rank >= 0:
                out.append(
                    Finding(
                        KIND,
                        Strength.STRONG,
                        f"{word_ranks([rank])}: {s.pattern.meaning}",
                        rank,
                        None,
                        (s.row,),
                        False,
                        case.iteration_of(rank),
                        "",
                        "hang",
                        s.pattern.actions,
                    )
                )
    return out


def _lacks_report(case: Case) -> list[Finding]:
    """Most ranks reported that they waited; accuse the few that did not and were not heard of otherwise."""
    reported = victims(case)
    spoke = {s.rank for s in case.roles(Role.INITIATING)} | set(reported)
    silent = [r for r in case.ranks if r not in spoke]
    total = len(case.ranks)
    if case.completed or total < 3 or len(reported) < MOST * total or not 0 < len(silent) <= FEW * total:
        return []
    waited = {s.rank for s in case.roles(Role.CASCADE) if s.pattern.cause == "hang" and not s.pattern.secondhand}
    slow = len(waited.union(timed_out(case)) & set(reported)) >= MOST * len(
        reported
    )  # a time-out leaves time to speak; a lost peer does not
    stopped = set() if slow else {d.rank for d in deaths(case) if d.signal == TERM}
    explained = any(
        s.rank >= 0 and not s.copied and s.pattern.blames is not Blames.PROGRESS for s in case.roles(Role.INITIATING)
    )
    explained = explained or any(d.is_root for d in deaths(case))
    words = f"wrote none of the reports that {len(reported)} peers wrote"
    strength = Strength.WEAK if explained else Strength.STRONG
    return [_stuck(case, r, strength, words) for r in silent if r not in stopped]


def _lacks_warning(case: Case) -> list[Finding]:
    """Most ranks warn of one thing after their last step, none is told to be behind; accuse the few silent since."""
    j = case.journal
    total = len(case.ranks)
    if case.completed or total < 3:
        return []
    last = {r: life.last_marked_row for r, life in case.lives.items()}
    spoke = {s.rank for s in case.roles(Role.INITIATING)}
    rows = np.flatnonzero(case.mask & (j.rank >= 0) & (j.level >= Level.WARNING) & (j.event >= 0))
    writers: dict[int, dict[int, int]] = defaultdict(dict)
    for row in rows.tolist():
        if row > last.get(int(j.rank[row]), UNKNOWN):
            writers[int(j.event[row])].setdefault(int(j.rank[row]), row)
    for told in sorted(writers.values(), key=len, reverse=True):
        others = [r for r in case.ranks if r not in told]
        if len(told) < MOST * total or not 0 < len(others) <= FEW * total or spoke.intersection(others):
            continue
        if all(_ended_before(case, r, list(told.values())) for r in others):
            if progress_gap.judge(case) or not _is_due(case, others, list(told.values())):
                return []
            words = f"says nothing while {len(told)} peers warn: {excerpt(j.text(next(iter(told.values()))))}"
            return [_stuck(case, r, Strength.STRONG, words) for r in others]
    return []


def _is_due(case: Case, silent: list[int], rows: list[int]) -> bool:
    """Tell whether the silent should have written what all others wrote in these rows, or may be about to.

    They should when the job ended, when its log goes on since, or when they had been silent before; long is more than
    the others lie apart.
    """
    j = case.journal
    times = j.clock[np.array(rows)]
    lasts = j.clock[[int(case.rows_of(r)[-1]) for r in silent]]
    if case.roles(Role.CASCADE, Role.TEARDOWN, Role.INITIATING) or NO_TIME in (*times, *lasts):
        return True
    since, before = int(j.clock[case.mask].max()) - int(times.max()), int(times.min()) - int(lasts.max())
    return max(since, before) > max(AHEAD * int(np.ptp(times)), LEAST_GAP_NS)


def _ended_before(case: Case, rank: int, rows: list[int]) -> bool:
    """Tell whether a rank's last line came before those rows: by place in its own source, else by time."""
    j = case.journal
    last = int(case.rows_of(rank)[-1])
    beside = [row for row in rows if j.source[row] == j.source[last]]
    if beside:
        return last < min(beside)
    times = [int(j.clock[row]) for row in rows]
    return bool(NO_TIME not in times and j.clock[last] != NO_TIME and j.clock[last] < min(times))


def _was_elsewhere(case: Case) -> list[Finding]:
    """Most ranks waited until their time ran out; accuse the few that only lost them then: they had not waited."""
    waited = {s.rank for s in case.roles(Role.CASCADE) if s.pattern.cause == "hang" and not s.pattern.secondhand}
    lost = sorted(set(victims(case)) - waited)
    total = len(case.ranks)
    if case.completed or total < 3 or len(waited - {UNKNOWN}) < MOST * total or not 0 < len(lost) <= FEW * total:
        return []
    if any(s.rank >= 0 for s in case.roles(Role.INITIATING)) or any(d.is_root for d in deaths(case)):
        return []
    words = f"did not wait with {len(waited)} peers whose time ran out"
    return [_stuck(case, r, Strength.WEAK, words) for r in lost]


def _stuck(case: Case, rank: int, strength: Strength, words: str) -> Finding:
    """Accuse a rank of a hang, by its last line; the words go on from its name."""
    told, row = f"{word_ranks([rank])} {words}{_last_words(case, rank)}", _last_row(case, rank)
    return Finding(KIND, strength, told, rank, None, row, False, case.iteration_stuck(rank), "", "hang")


def _vanished(case: Case) -> list[Finding]:
    """A node whose logs just stop, without a rank's report or a launcher's word, while all others tell of the end."""
    nodes = {r: node for r in case.ranks if (node := case.node_of(r)) is not None}
    places = set(nodes.values())
    if case.completed or len(places) < 2 or len(nodes) < len(case.ranks):
        return []
    ends = [s for s in case.roles(Role.INITIATING, Role.CASCADE, Role.TEARDOWN) if not s.copied]
    told = {case.node_at(s.row) for s in ends if s.rank >= 0 or s.pattern.id.startswith("elastic.")}
    told |= {case.node_at(s.row) for s in ends if s.pattern.hardware}
    told |= {s.groups["node"] for s in ends if s.pattern.id == "slurm.task-died"}  # its daemon still answers
    gone = places - told
    if len(gone) != 1 or not places - gone <= told:
        return []
    node = next(iter(gone))
    caused = [s for s in ends if s.role is Role.INITIATING and s.pattern.blames in (Blames.WRITER, Blames.NODE)]
    if caused and not any(life.marked >= 0 for life in case.lives.values()):
        return []  # nothing had begun that could stop
    strength = Strength.WEAK if caused else Strength.STRONG  # what ended the others may as well have ended it
    return [
        Finding(
            KIND,
            strength,
            f"the logs of {node} just stop; all other nodes tell of the end",
            r,
            None,
            _last_row(case, r),
            False,
            case.iteration_of(r),
            "",
            "crash",
            ("check whether the node is up",),
        )
        for r in case.on_node(node)
    ]


def _mute_node(case: Case) -> list[Finding]:
    """Where the log tells nodes but hardly a rank: the one node that says nothing of the end, while all others do."""
    j = case.journal
    if case.completed or np.count_nonzero(case.mask & (j.rank >= 0)) > OWNED * np.count_nonzero(case.mask):
        return []
    lines = np.bincount(j.node[case.mask & (j.node >= 0) & ~j.launcher], minlength=len(j.nodes))
    there = {j.nodes[n] for n in np.flatnonzero(lines >= ALIVE).tolist()}
    told = {case.node_at(s.row) for s in case.roles(Role.INITIATING, Role.CASCADE, Role.TEARDOWN)}
    mute = there - told
    if len(there) < LEAST_NODES or len(mute) != 1 or any(s.role is Role.INITIATING for s in case.sightings):
        return []
    node = next(iter(mute))
    last = int(np.flatnonzero(case.mask & (j.node == j.nodes.index(node)))[-1])
    words = f"{node} wrote none of the reports that all other nodes wrote"
    iteration = int(j.iteration[last]) + int(j.marked[last])
    return [Finding(KIND, Strength.STRONG, words, UNKNOWN, node, (last,), False, iteration, "", "crash")]


def _last_row(case: Case, rank: int) -> tuple[int, ...]:
    life = case.lives.get(rank)
    return (life.last_row,) if life else ()


def _last_words(case: Case, rank: int) -> str:
    """Quote what the rank said last of its own accord."""
    life = case.lives.get(rank)
    text = case.journal.text(life.last_row).strip()[:QUOTED] if life else ""
    return f"; its last line: {text}" if text else ""


def _stopped(case: Case) -> list[Finding]:
    """Accuse a rank whose stream ends long before those of its peers, who go on with the same kind of lines."""
    lives = {r: life for r, life in case.lives.items() if life.lines >= ALIVE}
    if len(lives) < 3:
        return []
    out = []
    for rank in _early(case, lives):
        life, others = lives[rank], [o for r, o in lives.items() if r != rank]
        behind = _behind(case, life, others)
        if behind >= Strength.WEAK:
            out.append(
                Finding(
                    KIND,
                    behind,
                    f"{word_ranks([rank])} fell silent while its peers went on{_last_words(case, rank)}",
                    rank,
                    None,
                    (life.last_row,),
                    False,
                    case.iteration_of(rank),
                    "",
                    "hang",
                )
            )
    return out if len(out) <= FEW * len(lives) else []


def _left_behind(case: Case) -> list[Finding]:
    """All peers stand at one and the same line; accuse the one rank that lacks it and what led there.

    Of one file only, where the order of lines is the order of events; a rank that is just slower is one line behind.
    """
    j = case.journal
    lives = sorted(case.lives.values(), key=lambda life: life.lines)
    if len(lives) < 4 or len(j.sources) > 1 or lives[0].lines < ALIVE or case.completed:
        return []
    last, others = lives[0], lives[1:]
    times = [life.last_time for life in others]
    if last.last_time == NO_TIME or NO_TIME in times or others[0].lines - last.lines < 2:
        return []
    alike = len({life.lines for life in others}) == 1 and len({int(j.event[life.last_row]) for life in others}) == 1
    if not alike or min(times) - last.last_time < AHEAD * max(max(times) - min(times), 1):
        return []
    pause = _longest_pause(case, last.rank)
    if pause and others[0].marked - last.marked <= 2 * pause:
        return []
    words = f"{word_ranks([last.rank])} did not come as far as all its {len(others)} peers"
    rows, at = (last.last_row,), case.iteration_of(last.rank)
    return [Finding(KIND, Strength.WEAK, words, last.rank, None, rows, False, at, "", "hang")]


def _lacks_steps(case: Case) -> list[Finding]:
    """Before training, all others took two more steps together, until the job was ended; accuse the few that did not.

    Of one file only. A log that just goes on may yet show them: somebody must have given up.
    """
    j = case.journal
    lives = case.lives
    gave_up = case.roles(Role.CASCADE, Role.TEARDOWN) or any(s.pattern.blames is Blames.JOB for s in case.sightings)
    if case.completed or len(lives) < 4 or len(j.sources) > 1 or not gave_up or len(case.ticks):
        return []
    ends = Counter(int(j.event[life.last_row]) for life in lives.values())
    usual = ends.most_common(1)[0][0]
    stuck = [r for r, life in lives.items() if int(j.event[life.last_row]) != usual]
    there = set(lives) - set(stuck)
    if not 0 < len(stuck) <= FEW * len(lives) or usual < 0:
        return []
    left = max(lives[r].last_row for r in stuck)
    steps: dict[int, set[int]] = defaultdict(set)
    for row in np.flatnonzero(case.mask[left + 1 :] & (j.rank[left + 1 :] >= 0)) + left + 1:
        steps[int(j.event[row])].add(int(j.rank[row]))
    if sum(ranks == there for ranks in steps.values()) < STEPS:
        return []
    words = f"did not take the last steps that {len(there)} peers took"
    return [_stuck(case, r, Strength.STRONG, words) for r in stuck]


def _early(case: Case, lives: dict[int, Life]) -> list[int]:
    """Return the ranks that stopped enough before the last one to be behind: to compare all with all takes long."""
    last_mark = max((case.marks[r][0] for r in lives if r in case.marks), default=UNKNOWN)
    last_time = max(life.last_time for life in lives.values())
    return [
        rank
        for rank, life in lives.items()
        if (rank in case.marks and last_mark - max(case.marks[rank][0], life.marked) > LEAST_GAP)
        or (life.last_time != NO_TIME and last_time - life.last_time > LEAST_GAP_NS)
    ]


def _before_the_wait(case: Case) -> list[Finding]:
    """Accuse ranks that had fallen silent when the collective began in which all others waited till it timed out.

    It began one time-out before the reports; whoever was to enter it had a line of its own just before.
    """
    j = case.journal
    begins = [
        int(j.clock[s.row]) - int(s.groups["timeout"]) * 10**6
        for s in case.sightings
        if "timeout" in s.groups and s.rank >= 0 and j.clock[s.row] != NO_TIME
    ]
    lives = {r: x for r, x in case.lives.items() if x.lines >= ALIVE and x.last_time != NO_TIME}
    if len(begins) < 3 or len(lives) < 3:
        return []
    begin = int(np.median(begins))
    reach = {r: max(3.0 * _habit(case, life), 2e9) for r, life in lives.items()}
    ready = [r for r, life in lives.items() if abs(life.last_time - begin) <= reach[r]]
    early = [r for r, life in lives.items() if life.last_time < begin - 2 * reach[r]]
    if len(ready) < MOST * len(lives) or not 0 < len(early) <= FEW * len(lives):
        return []
    explained = any(s.rank >= 0 and s.pattern.blames is Blames.WRITER for s in case.roles(Role.INITIATING))
    return [
        Finding(
            KIND,
            Strength.WEAK if explained else Strength.STRONG,
            f"{word_ranks([r])} had been silent for {(begin - lives[r].last_time) / 1e9:.0f} s when its peers began to "
            f"wait{_last_words(case, r)}",
            r,
            None,
            _last_row(case, r),
            False,
            case.iteration_of(r),
            "",
            "hang",
        )
        for r in early
    ]


def _behind(case: Case, life: Life, others: list[Life]) -> Strength:
    """Compare the end of one stream with the ends of the others, in iterations, else in time."""
    marks = [case.marks[o.rank][0] for o in others if o.rank in case.marks]
    if life.rank in case.marks and len(marks) >= len(others) * MOST:
        ends, last = np.array(marks), max(case.marks[life.rank][0], life.marked)  # it may mark in other words
        strides = max(1, int(np.median(ends)) // 50)
        gap = int(np.quantile(ends, 0.25)) - last
        if gap <= max(LEAST_GAP, strides):
            return Strength.NONE
        pause = max(_longest_pause(case, o.rank) for o in [life, *others[:PEERS]])
        return Strength.STRONG if gap > 2 * pause else Strength.NONE
    times = np.array([o.last_time for o in others if o.last_time != NO_TIME])
    if life.last_time == NO_TIME or len(times) < 2:
        return Strength.NONE
    spread = float(np.quantile(times, 0.75) - np.quantile(times, 0.25))
    span = float(np.median(times) - life.first_time)
    gap_ns = float(np.quantile(times, 0.25) - life.last_time)
    habit = _habit(case, life)
    if gap_ns > max(8 * spread, 0.1 * span, 20 * habit, LEAST_GAP_NS):
        return Strength.STRONG if not victims(case) else Strength.WEAK
    return Strength.NONE


def _longest_pause(case: Case, rank: int) -> int:
    """Return the most iterations that a rank which marks them now and then has left out; 0 for a regular one."""
    j = case.journal
    rows = case.rows_of(rank)
    steps = np.diff(np.unique(j.iteration[rows[j.marked[rows] & (j.iteration[rows] >= 0)]]))
    return int(steps.max()) if len(steps) > 2 and steps.max() > 2 * np.median(steps) else 0


def _habit(case: Case, life: Life) -> float:
    """Usual pause between two lines of a rank up to its last own one, ns."""
    j = case.journal
    here = case.mask & (j.rank == life.rank)
    here[life.last_row + 1 :] = False
    times = j.time[here]
    times = times[times != NO_TIME]
    return float(np.quantile(np.diff(np.sort(times)), 0.95)) if len(times) > 2 else 0.0
