"""A snapshot as the journal that diagnosis reads."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from l4tui.engine import stages
from l4tui.engine.evidence.record import Journal
from l4tui.engine.model import Flag, Kind
from l4tui.engine.smallids import firsts
from l4tui.engine.snapshot import Snapshot

Ids = NDArray[np.int64]
MOST_SPEAKERS = 1 << 16  # whose prefixes are read
_PID = re.compile(r"\bpid=(\d+)")


def journal_from(snap: Snapshot) -> Journal:
    """Lay the columns of a snapshot side by side; text is read through it on demand."""
    who, plan = snap.speaker, snap.plan
    return Journal(
        time=snap.time,
        rank=snap.ranks.rank[who],
        local_rank=snap.ranks.local_rank[who],
        node=snap.ranks.node[who],
        attempt=snap.ranks.attempt[who],
        iteration=snap.iteration,
        marked=(snap.flags & Flag.MARKED) != 0,
        stage=snap.stage,
        level=snap.plans.level[plan],
        event=snap.plans.event[plan],
        site=snap.plans.site[plan],
        shape=snap.plans.shape[plan],
        line_class=snap.plans.line_class[plan],
        record=snap.record,
        source=np.repeat(snap.blocks.source, _sizes(snap)),
        line=physical_lines(snap),
        launcher=snap.ranks.kind[who] == Kind.LAUNCHER,
        nodes=snap.nodes,
        sources=tuple(s.path for s in snap.sources),
        stages=stages.NAMES,
        templates=snap.templates,
        sites=snap.sites,
        node_ranks=snap.node_ranks,
        world_size=snap.world_size,
        read=lambda rows: snap.texts(rows.tolist()),
        pids=_pids(snap),
    )


def _pids(snap: Snapshot) -> dict[int, int]:
    """Read the process in front of the first line of each speaker that has a rank."""
    speakers, first = firsts(snap.speaker)
    known = snap.ranks.rank[speakers] >= 0
    out: dict[int, int] = {}
    speakers, first = speakers[known][:MOST_SPEAKERS], first[known][:MOST_SPEAKERS]
    for speaker, (prefix, _) in zip(speakers.tolist(), snap.split(first.tolist()), strict=True):
        if match := _PID.search(prefix):
            out.setdefault(int(match[1]), int(snap.ranks.rank[speaker]))
    return out


def physical_lines(snap: Snapshot) -> Ids:
    """Return the 1-based physical line of every entry."""
    first, sizes = snap.blocks.first, _sizes(snap)
    ahead = np.cumsum((snap.flags & Flag.SEGMENT) == 0)  # lines begun up to and with each entry
    lines: Ids = ahead + np.repeat(snap.blocks.line - np.append(ahead, 0)[first], sizes)
    return lines


def _sizes(snap: Snapshot) -> Ids:
    """Return how many entries each block has."""
    return np.diff(np.append(snap.blocks.first, snap.length))
