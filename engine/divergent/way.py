"""On the way: what went on differently for some ranks while the job went on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Divergence
from l4tui.engine.divergent.naming import divergence, name
from l4tui.engine.divergent.wording import NOT_A_NUMBER
from l4tui.engine.model import Level
from l4tui.engine.peers import Peers
from l4tui.engine.rowtable import RowFlag
from l4tui.engine.rowvalues import robust_z

SILENT = 3  # times that most others said what a rank used to say and no longer says
ESTABLISHED = 0.8  # share of the times before in which it did
OFTEN = 8  # complaints that are many
FAR = 8.0  # robust z of their number
MOST_TEXTS = 2000  # first lines that are read
FEW = 1 / 3

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]


def judge(peers: Peers, attempt: int, heard: Bits, progress: Ints) -> list[Divergence]:
    """Return what set ranks apart before the end of an attempt."""
    mine = np.flatnonzero((peers.attempt == attempt) & (peers.many > 0) & (peers.flags & RowFlag.FOLDED == 0))
    mine = mine[mine <= progress.max(initial=-1)]
    total = int(np.count_nonzero(heard))
    order = mine[np.argsort(peers.event[mine], kind="stable")]
    cuts = np.flatnonzero(np.diff(peers.event[order], prepend=-1))
    out: list[Divergence] = []
    minor: list[Ints] = []
    for places in np.split(order, cuts[1:]) if len(order) else ():
        if peers.iteration[places[-1]] >= 0:
            out += _silent(peers, places, total)
        if not (peers.many[places] * 2 > total).any():
            minor.append(places)
    out += _complaints(peers, minor, total)
    return out


def _silent(peers: Peers, places: Ints, total: int) -> list[Divergence]:
    """Return ranks that stopped saying what they and most others used to say in every iteration."""
    places = places[(peers.iteration[places] >= 0) & (peers.table.occurrence[peers.rows[places]] == 0)]
    common = places[peers.many[places] * 2 > total]
    if len(common) < 2 * SILENT:
        return []
    sets, count = np.unique(peers.set[places], return_counts=True)
    last = np.full(len(sets), -1, np.int64)
    np.maximum.at(last, np.searchsorted(sets, peers.set[places]), places)
    members = peers.members[sets]
    said = count @ members
    last_of = np.where(members, last[:, None], -1).max(axis=0)
    before = np.searchsorted(common, last_of, "right")
    after = len(common) - before
    gone = (after >= SILENT) & (before >= SILENT) & (said >= ESTABLISHED * before)
    out = []
    for at in np.unique(before[gone]).tolist():
        who = gone & (before == at)
        if np.count_nonzero(who) <= max(1, FEW * total):
            words = f"{name(peers, who)} never said this again"
            out.append(divergence(peers, int(common[at]), "missing", 0.8, peers.ranks_of(who), words))
    return out


def _complaints(peers: Peers, minor: list[Ints], total: int) -> list[Divergence]:
    """Return ranks that complained of what hardly any other did: all the time, of values, or during setup."""
    bad = [p for p in minor if (peers.level[p[0]] >= Level.WARNING or peers.is_error[p[0]])][:MOST_TEXTS]
    texts = peers.snap.texts([int(peers.first[p[0]]) for p in bad])
    out = []
    for places, text in zip(bad, texts, strict=True):
        who = peers.union(places)
        many = int(np.count_nonzero(who))
        if 2 * many > total:
            who, many = _often(peers, places), 0
            if who.any():
                out.append(_complaint(peers, places, who, 0.5, "far more often than the others"))
            continue
        if NOT_A_NUMBER.search(text):
            out.append(_complaint(peers, places, who, 0.8, "said this"))
        elif peers.iteration[places[0]] < 0 and not peers.is_role(who):
            out.append(_complaint(peers, places, who, 0.55, "said this during setup"))
        elif (often := _often(peers, places)).any():
            out.append(_complaint(peers, places, often, 0.5, "said this again and again"))
        else:
            out.append(_complaint(peers, places, who, 0.2, "said this and went on"))
    return out


def _complaint(peers: Peers, places: Ints, who: Bits, score: float, words: str) -> Divergence:
    theirs = places[peers.members[peers.set[places]][:, who].any(axis=1)]
    score += 0.1 * peers.is_node(who) if score >= 0.5 else 0.0
    only = f"{name(peers, who)} {words}"
    ranks = peers.ranks_of(who) if len(peers.numbers) > 2 else ()
    return divergence(peers, int(theirs[0]), "extra", score, ranks, only)


def _often(peers: Peers, places: Ints) -> Bits:
    """Return the ranks that wrote an event far more often than usual, none where many did."""
    sets, count = np.unique(peers.set[places], return_counts=True)
    said = (count @ peers.members[sets]).astype(np.float64)
    many = (said >= OFTEN) & (robust_z(said) >= FAR) & (said >= 4 * np.median(said))
    return many if np.count_nonzero(many) <= max(1, FEW * len(said)) else np.zeros(len(said), np.bool_)
