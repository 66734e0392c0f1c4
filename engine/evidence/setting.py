"""What one rank said before training otherwise than its equals: another count, size, seed, version or mode."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np

from l4tui.engine.evidence.case import Case, word_ranks
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.record import Ints
from l4tui.engine.model import UNKNOWN, Level, LineClass
from l4tui.engine.smallids import nth

KIND = "setting"
MOST = 2 / 3  # of the writers must agree
LEAST = 3  # writers
REPEATS = 4  # lines of one event per rank that are still said once
MOST_ROWS = 20_000  # of all ranks, the first ones of each …
LEAST_EACH = 16  # … however many ranks there are
MOST_EVENTS = 400
SHOWN = 2  # rows per rank
_NO_MESSAGE = [LineClass.TRACEBACK, LineClass.BODY, LineClass.RAISED, LineClass.BLANK]
_WORD = re.compile(r"[^\s=:,;|(){}\[\]\"']+")
_MEASURED = re.compile(
    r"time|sec|took|elapsed|mem|port|pid|addr|free|used|speed|rate|host|node|rank|device|file|path|fd"
)
_FLOAT = re.compile(r"\d+\.\d+[a-zA-Z%/]*|\d+(?:ms|us|s|[KMGT]i?B|%)")


def judge(case: Case) -> list[Finding]:
    """Accuse, weakly, the few ranks whose word or whole number differs where nearly all of their peers agree."""
    odd: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for rows in _events(case):
        for rank, found in _odd(case, rows).items():
            odd[rank].append(found)
    if not 0 < len(odd) <= (1 - MOST) * max(len(case.ranks), LEAST):
        return []
    return [
        Finding(
            KIND,
            Strength.WEAK,
            f"{word_ranks([rank])} says {said} where its peers say {usual}: "
            f"{case.journal.text(found[0][0]).strip()[:120]}",
            rank,
            None,
            tuple(row for row, _, _ in found[:SHOWN]),
            True,
            UNKNOWN,
        )
        for rank, found in odd.items()
        for _, said, usual in found[:1]
    ]


def _events(case: Case) -> list[Ints]:
    """Rows per event that most ranks wrote about once before the first iteration."""
    j = case.journal
    early = case.mask & (j.rank >= 0) & (j.iteration < 0) & (j.level <= Level.WARNING)
    rows = np.flatnonzero(early & ~np.isin(j.line_class, _NO_MESSAGE))
    rows = rows[nth(j.rank[rows]) < max(MOST_ROWS // max(len(case.ranks), 1), LEAST_EACH)]
    kind = _merged(case, rows)
    order = rows[np.argsort(kind, kind="stable")]
    kind = np.sort(kind)
    out = []
    for chunk in np.split(order, np.flatnonzero(np.diff(kind)) + 1) if len(order) else []:
        writers = len(np.unique(j.rank[chunk]))
        if writers >= LEAST and 2 * writers > len(case.ranks) and len(chunk) <= REPEATS * writers:
            out.append(chunk.astype(np.int64))
    return out


def _merged(case: Case, rows: Ints) -> Ints:
    """Return the event of each row; that of few ranks becomes that of many from which one word parts it."""
    j = case.journal
    events, at = np.unique(j.event[rows], return_inverse=True)
    writers = [len(np.unique(j.rank[rows[at == k]])) for k in range(len(events))] if len(events) <= MOST_EVENTS else []
    words = [_WORD.findall(j.templates[int(e)]) for e in events] if writers else []
    out = events.astype(np.int64)
    few = (1 - MOST) * max(len(case.ranks), LEAST)
    for k, own in enumerate(words):
        if writers[k] > few:
            continue
        alike = [o for o, usual in enumerate(words) if writers[o] > few and _parted_by_one(own, usual)]
        out[k] = events[alike[0]] if alike else out[k]
    return out[at].astype(np.int64)


def _parted_by_one(a: list[str], b: list[str]) -> bool:
    """Tell whether two lines of several words differ in one of them."""
    return len(a) == len(b) > 1 and sum(x != y for x, y in zip(a, b, strict=True)) == 1


def _odd(case: Case, rows: Ints) -> Mapping[int, tuple[int, str, str]]:
    """Return, per odd rank, its row, what it said and what is usual; the first lines of ranks are compared."""
    ranks, first = np.unique(case.journal.rank[rows], return_index=True)
    words = [_WORD.findall(text) for text in case.journal.read(rows[first])]
    usual_length = Counter(map(len, words)).most_common(1)[0][0]
    fits = [at for at, found in enumerate(words) if len(found) == usual_length]
    out: dict[int, tuple[int, str, str]] = {}
    for slot in range(usual_length):
        said = Counter(words[at][slot] for at in fits)
        usual, count = said.most_common(1)[0]
        if len(said) == 1 or count < MOST * len(fits) or not _is_setting(words[fits[0]], slot, said):
            continue
        for at in fits:
            if words[at][slot] != usual:
                out.setdefault(int(ranks[at]), (int(rows[first[at]]), words[at][slot], usual))
    return out


def _is_setting(words: list[str], slot: int, said: Mapping[str, int]) -> bool:
    """Measured quantities, and names of places, differ without meaning."""
    label = words[slot - 1].lower() if slot else ""
    return not _MEASURED.search(label) and not any(_FLOAT.fullmatch(w) or "/" in w for w in said)
