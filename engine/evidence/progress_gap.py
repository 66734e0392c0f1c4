"""How far each rank came: collectives enqueued and completed, iterations, and where its stack stood."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.dumps import standing
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.waiting import call_sites, timed_out, victims
from l4tui.engine.library.pattern import Blames
from l4tui.engine.roles import Sighting

KIND = "progress_gap"
MINORITY = 1 / 3  # of the ranks compared; a larger group accuses nobody


def judge(case: Case) -> list[Finding]:
    """Accuse the rank that stopped first, ran ahead, or was somewhere else."""
    if case.completed:
        return []
    return [*_counters(case), *_operations(case), *_iterations(case), *_stacks(case), *_dumps(case), *_blocked(case)]


def _finding(
    case: Case, rank: int, strength: Strength, sentence: str, rows: tuple[int, ...], cause: str, *, root: bool = True
) -> Finding:
    iteration = case.iteration_stuck(rank)
    return Finding(KIND, strength, f"{word_ranks([rank])} {sentence}", rank, None, rows, root, iteration, "", cause)


def _is_minority(few: int, all_of_them: int) -> bool:
    return 0 < few <= MINORITY * all_of_them


def _numbers(case: Case, name: str) -> dict[int, tuple[int, Sighting]]:
    """Smallest value of a group that each rank reports of itself."""
    out: dict[int, tuple[int, Sighting]] = {}
    for s in case.sightings:
        if s.pattern.blames is Blames.PROGRESS and name in s.groups and s.rank >= 0:
            value = int(s.groups[name])
            if s.rank not in out or value < out[s.rank][0]:
                out[s.rank] = (value, s)
    return out


def _counters(case: Case) -> list[Finding]:
    """Lowest completed, then lowest enqueued, then lowest sequence number of the timed-out collective."""
    if idle := _idle(case):
        return idle
    for name, words in (
        ("completed", "completed the fewest collectives"),
        ("enqueued", "enqueued the fewest collectives"),
        ("seq", "stopped at the earliest collective"),
    ):
        values = _numbers(case, name)
        if len(values) < 3:
            continue
        lowest = min(v for v, _ in values.values())
        behind = [r for r, (v, _) in values.items() if v == lowest]
        others = sorted({v for v, _ in values.values() if v != lowest})
        gap = others[0] - lowest if others else 0
        spread = others[-1] - others[0] if others else 0
        if not _is_minority(len(behind), len(values)) or gap <= spread:
            continue
        return [
            _finding(case, r, Strength.STRONG, f"{words}: {lowest}, its peers {others[0]}", _own_rows(case, r), "hang")
            for r in behind
        ]
    return []


def _idle(case: Case) -> list[Finding]:
    """Enqueued equal to completed while the others wait: the rank never entered the next collective."""
    state: dict[int, tuple[bool, int]] = {}
    for s in case.sightings:
        if s.pattern.id == "c10d.progress" and s.rank >= 0 and not s.copied:
            state[s.rank] = (s.groups["enqueued"] == s.groups["completed"], s.row)
    idle = [(r, row) for r, (is_idle, row) in state.items() if is_idle]
    if len(state) < 3 or not _is_minority(len(idle), len(state)):
        return []
    return [
        _finding(case, r, Strength.STRONG, "never entered the collective that its peers wait in", (row,), "hang")
        for r, row in idle
    ]


def _own_rows(case: Case, rank: int) -> tuple[int, ...]:
    """Rows in which the rank reports a number that most of its peers do not."""
    rows = set()
    for name in ("completed", "enqueued", "seq"):
        values = _numbers(case, name)
        if rank in values:
            same = sum(v == values[rank][0] for v, _ in values.values())
            if 2 * same <= len(values):
                rows.add(values[rank][1].row)
    return tuple(sorted(rows))


def _operations(case: Case) -> list[Finding]:
    """Another operation or size under the same sequence number: the minority."""
    doing: dict[int, tuple[str, int]] = {}
    for s in case.sightings:
        if s.pattern.blames is Blames.PROGRESS and "op" in s.groups and s.rank >= 0:
            doing.setdefault(s.rank, (f"{s.groups['op']} of {s.groups.get('numel', '?')}", s.row))
    return [
        _finding(case, rank, Strength.STRONG, f"ran {what}, its peers {usual}", (row,), "desync")
        for rank, what, row, usual in _odd_ones(doing)
    ]


def _odd_ones(doing: Mapping[int, tuple[str, int]]) -> list[tuple[int, str, int, str]]:
    counts = Counter(what for what, _ in doing.values())
    if len(counts) < 2 or len(doing) < 3:
        return []
    usual, most = counts.most_common(1)[0]
    odd = [(r, what, row, usual) for r, (what, row) in doing.items() if what != usual]
    return odd if _is_minority(len(odd), len(doing)) and 2 * most > len(doing) else []


def _iterations(case: Case) -> list[Finding]:
    """Last iteration marked: one rank ahead of its peers, or behind all of them."""
    marks = case.marks
    if len(marks) < 3 or not victims(case):
        return []
    counts: dict[int, list[int]] = defaultdict(list)
    for rank, (mark, _) in marks.items():
        counts[mark].append(rank)
    usual = max(counts, key=lambda m: (len(counts[m]), m))
    odd = [r for m, ranks in counts.items() if m != usual for r in ranks]
    if not _is_minority(len(odd), len(marks)):
        return []
    waited = timed_out(case)
    out = []
    for rank in odd:
        mark, row = marks[rank]
        ahead = mark > usual
        step = abs(mark - usual)
        strong = bool(waited) and (ahead or step > case.stride(rank))
        words = f"went on to iteration {mark}" if ahead else f"stopped at iteration {mark}"
        cause = "desync" if ahead else "hang"
        out.append(
            _finding(
                case,
                rank,
                Strength.STRONG if strong else Strength.WEAK,
                f"{words}, its peers at {usual}",
                (row,),
                cause,
                root=False,
            )
        )
    return out


def _stacks(case: Case) -> list[Finding]:
    """Where each waiting rank's own code stood: the minority was in another place."""
    waited = timed_out(case)
    if len(waited) < 3:
        return []
    sites = call_sites(case, waited)
    out = []
    for rank, where, row, usual in _odd_ones(sites):
        words = f"waited at {where}, its peers at {usual}"
        out.append(_finding(case, rank, Strength.STRONG, words, (row,), "desync", root=False))
    return out


def _dumps(case: Case) -> list[Finding]:
    """Stacks dumped from outside: the few that stood elsewhere keep the others waiting."""
    out = []
    for rank, where, row, usual in _odd_ones(standing(case)):
        words = f"stood at {where} when its stack was dumped, its peers at {usual}"
        out.append(_finding(case, rank, Strength.STRONG, words, (row,), "hang"))
    return out


def _blocked(case: Case) -> list[Finding]:
    """The few ranks whose watchdog thread itself was stuck, while their peers tell of something else."""
    stuck: dict[int, int] = {}
    for s in case.of("c10d.watchdog-stuck"):
        if s.rank >= 0:
            stuck.setdefault(s.rank, s.row)
    if not _is_minority(len(stuck), len(case.ranks)) or 2 * len(set(victims(case)) - set(stuck)) <= len(case.ranks):
        return []
    words = "was stuck in a call to the GPU or its library: its watchdog thread did not move"
    return [_finding(case, rank, Strength.STRONG, words, (row,), "hang") for rank, row in stuck.items()]
