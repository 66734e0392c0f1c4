"""The end of an attempt: what was said after the last calm thing that most ranks said."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Divergence, Follows
from l4tui.engine.divergent.naming import divergence, name, named
from l4tui.engine.model import NO_TIME, Level
from l4tui.engine.peers import HABIT, OPENINGS, Peers
from l4tui.engine.rowtable import RowFlag
from l4tui.engine.snapshot import Snapshot

CHUNK = 1 << 20  # lines looked at together
MOST = 400  # events looked at
FEW = 1 / 3  # a larger share that is missing accuses nobody

_DEATH = re.compile(
    r"\bkilled\b|oom[-_ ]kill|out of memory|exit(?:ed)?(?: with)?(?: exit)?[ _-]?(?:code|status):? ?-?[1-9]"
    r"|signal:? \d|segmentation fault|core dumped|\bterminated (?:with|by)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\bkilled\b|exit|signal:? \d", re.IGNORECASE)  # says of which process
Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Said(NamedTuple):
    """An event of the end: all its rows together, for ranks that go down are no longer in step."""

    places: Ints
    who: Bits
    follows: bool


def judge(peers: Peers, attempt: int, heard: Bits, progress: Ints, follows: Follows | None) -> list[Divergence]:
    """Return what few ranks said, or did not say, at the end of an attempt."""
    places = _unrecovered(peers, attempt, progress)
    told = _launchers(peers, attempt, progress)
    said = _gathered(peers, places, follows)
    if not said:
        return told
    clocks = np.array([peers.clock[s.places[0]] for s in said])
    known = clocks[clocks != NO_TIME]
    begin, span = (int(known.min()), max(int(known.max() - known.min()), 1)) if len(known) else (0, 1)
    out = []
    total = int(np.count_nonzero(heard))
    for s, clock in zip(said, clocks.tolist(), strict=True):
        late = 0.0 if clock == NO_TIME else (clock - begin) / span
        if 2 * np.count_nonzero(s.who) <= total:
            out.append(_extra(peers, s, late, total))
        elif 0 < np.count_nonzero(heard & ~s.who) <= max(1, FEW * total):
            out.append(_missing(peers, s, heard & ~s.who))
    return out + told


def _unrecovered(peers: Peers, attempt: int, progress: Ints) -> Ints:
    """Return the rows after which none of their ranks went on like most."""
    last = np.full(len(peers.members), -1, np.int64)
    for s in range(len(last)):
        last[s] = progress[peers.members[s]].max(initial=-1)
    places = np.flatnonzero((peers.attempt == attempt) & (peers.many > 0) & (peers.flags & RowFlag.FOLDED == 0))
    places = places[places > last[peers.set[places]]]
    return places[~_went_on(peers, attempt, places)] if len(places) else places


def _went_on(peers: Peers, attempt: int, places: Ints) -> Bits:
    """Say after which rows every writer still said what most say: rows of many began before its line came."""
    snap, table = peers.snap, peers.table
    most = peers.calm_rows(attempt)
    calm = np.zeros(table.length, np.bool_)
    calm[peers.rows[most]] = True
    of_speaker = np.full(len(snap.ranks.rank), -1, np.int64)
    for begin in range(int(peers.first[places].min()), len(table.row), CHUNK):
        rows = table.row[begin : begin + CHUNK]
        lines = begin + np.flatnonzero((rows >= 0) & calm[rows])
        of_speaker[snap.speaker[lines]] = lines  # the last assignment stays
    lines = np.sort(of_speaker[of_speaker >= 0])
    writers, back = np.unique(_writers(snap, lines)[::-1], return_index=True)
    last = lines[len(lines) - 1 - back]  # last calm line of each writer
    out = np.zeros(len(places), np.bool_)
    for begin in range(0, len(places) if len(last) else 0, 64):
        part = places[begin : begin + 64]
        for i, entries in enumerate(table.entries_of(peers.rows[part])):
            who = _writers(snap, entries)
            at = np.minimum(np.searchsorted(writers, who), len(writers) - 1)
            out[begin + i] = bool(((writers[at] == who) & (last[at] > entries)).all())
    return out


def _writers(snap: Snapshot, entries: Ints) -> Ints:
    """Return who wrote lines, told apart by source: within one the order of lines is that of time."""
    who: Ints = snap.rank(entries).astype(np.int64) << 32 | snap.source_of(entries)
    return who


def _gathered(peers: Peers, places: Ints, follows: Follows | None) -> list[Said]:
    """Gather rows by event, in their order."""
    _, first, inverse = np.unique(peers.event[places], return_index=True, return_inverse=True)
    order = np.argsort(first)[:MOST]
    rows = [places[inverse == i] for i in order.tolist()]
    texts = peers.snap.texts([int(peers.first[r[0]]) for r in rows]) if follows and rows else []
    weak = follows(texts) if follows and rows else [False] * len(rows)
    return [Said(r, peers.union(r), w) for r, w in zip(rows, weak, strict=True)]


def _extra(peers: Peers, said: Said, late: float, total: int) -> Divergence:
    place = int(said.places[0])
    attempt = peers.attempt == peers.attempt[place]
    usual = np.flatnonzero((peers.event == peers.event[place]) & (peers.many > 0) & attempt)
    earlier = usual[usual < place]
    score = 0.75
    score += 0.1 * bool(peers.is_error[place]) + 0.1 * (np.count_nonzero(said.who) == 1 or peers.is_node(said.who))
    score -= 0.1 * late
    if len(earlier) >= HABIT and 2 * np.count_nonzero(peers.many[earlier] * 2 > total) > len(earlier):
        score = 0.45  # what all say in every iteration: these ranks are ahead of the others
    elif 2 * np.count_nonzero(peers.union(usual)) > total:
        score = 0.4  # the others said it in another iteration
    elif not peers.is_error[place] and peers.level[place] < Level.WARNING and peers.is_role(said.who):
        score = 0.3  # they speak for the others
    elif len(earlier):
        score *= 0.4  # it has been said before, and did no harm
    elif peers.line_class[place] in OPENINGS:
        score *= 0.7  # the exception at its end tells more
    if said.follows:
        score *= 0.5
    ranks = peers.ranks_of(said.who) if total > 2 else ()
    return divergence(peers, place, "extra", score, ranks, f"only {name(peers, said.who)} said this")


def _missing(peers: Peers, said: Said, absent: Bits) -> Divergence:
    place = int(said.places[0])
    alone = np.count_nonzero(absent) == 1 or peers.is_node(absent)
    score = 0.55 + 0.15 * alone + 0.05 * bool(peers.is_error[place])
    if peers.line_class[place] in OPENINGS:
        score -= 0.02
    return divergence(peers, place, "missing", score, peers.ranks_of(absent), f"{name(peers, absent)} did not say this")


def _launchers(peers: Peers, attempt: int, progress: Ints) -> list[Divergence]:
    """Return the first words on a failure of launcher and kernel: who dies without a word is told by nobody else."""
    spoken = peers.launcher[peers.set] & (peers.many == 0) & (peers.attempt == attempt)
    places = np.flatnonzero(spoken & ((np.arange(len(spoken)) > progress.max(initial=-1)) | (peers.iteration < 0)))
    _, first = np.unique(peers.event[places], return_index=True)
    places = places[np.sort(first)][-MOST:]
    texts = peers.snap.texts(peers.first[places].tolist())
    told_of = [(p, text[:2000]) for p, text in zip(places.tolist(), texts, strict=True) if _DEATH.search(text[:2000])]
    deaths = [p for p, text in sorted(told_of, key=lambda pair: (not _NAMED.search(pair[1]), pair[0]))]
    errors = [p for p in places.tolist() if peers.level[p] >= Level.ERROR and p not in deaths]
    told = [(p, 0.6, "tells of a death") for p in deaths[:1]] + [(p, 0.55, "tells of an error") for p in errors[:1]]
    return [divergence(peers, p, "extra", score, (), f"launcher or kernel {words}") for p, score, words in told]


def unheard(peers: Peers, heard: Bits) -> list[Divergence]:
    """Return ranks of which there is no line at all while most others spoke."""
    total = peers.snap.world_size
    known = set(peers.numbers[heard].tolist())
    absent = tuple(r for r in range(total) if r not in known)
    if not absent or len(absent) > FEW * total or not len(peers.rows):
        return []
    common = np.flatnonzero(peers.many * 2 > len(known))
    if not len(common):
        return []
    words = f"{named(absent)} never said anything"
    return [divergence(peers, int(common[-1]), "missing", 0.65, absent, words)]
