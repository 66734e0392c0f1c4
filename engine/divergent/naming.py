"""How differences are written down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.divergence import Divergence
from l4tui.engine.nodeset import nodeset
from l4tui.engine.peers import Peers


def divergence(peers: Peers, place: int, kind: str, score: float, ranks: tuple[int, ...], words: str) -> Divergence:
    """Make a difference of the row at a place."""
    return Divergence(
        row=int(peers.rows[place]),
        entry=int(peers.first[place]),
        kind=kind,
        score=round(float(min(score, 1.0)), 3),
        ranks=ranks,
        iteration=int(peers.iteration[place]),
        event=int(peers.event[place]),
        words=words,
    )


def name(peers: Peers, who: NDArray[np.bool_]) -> str:
    """Name ranks in a sentence."""
    return named(peers.numbers[who].tolist())


def named(ranks: Sequence[int]) -> str:
    """Name ranks by their numbers."""
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {nodeset(ranks, 8)}"
