"""Stages of a job: what a message opens or closes, carried along each lane and, where a lane is silent, its source."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import UNKNOWN, Marker

Ints = NDArray[np.int64]

NAMES = ("launch", "init", "data", "model_build", "train", "checkpoint", "eval", "teardown")
NO_ACTION = 0
TRAIN = NAMES.index("train")
TEARDOWN = NAMES.index("teardown")
PASSING = (NAMES.index("checkpoint"), NAMES.index("eval"))  # what they interrupt goes on after them
BACK = len(NAMES)  # "then": the stage that was interrupted
READ = 1000  # bytes of a message that tell its stage
_WIDTH = BACK + 1
_LATER = (*NAMES, "back")
_OWN = np.array([UNKNOWN] + [s for s in range(len(NAMES)) for _ in range(_WIDTH)], np.int64)
_THEN = np.array([UNKNOWN] + [t for _ in NAMES for t in range(_WIDTH)], np.int64)


class Rule(NamedTuple):
    """One rule of stages.toml, compiled."""

    regex: re.Pattern[bytes]
    action: int


def action_of(stage: int, then: int) -> int:
    """Encode the stage of a line and of the lines after it (BACK: the one that was interrupted)."""
    return 1 + stage * _WIDTH + then


@cache
def rules() -> tuple[Rule, ...]:
    """Compile the shipped rules, in their order."""
    table = tomllib.loads((Path(__file__).parent / "stages.toml").read_text(encoding="utf-8"))
    out = []
    for row in table["rule"]:
        stage, then = row["stage"], row.get("then", row["stage"])
        joined = "|".join(f"(?:{pattern})" for pattern in row["patterns"])
        out.append(Rule(re.compile(joined.encode(), re.IGNORECASE), action_of(NAMES.index(stage), _LATER.index(then))))
    return tuple(out)


def stage_action(text: bytes, marker: Marker = Marker.NONE) -> int:
    """Return the action of a message (or of its shape), NO_ACTION for most; an iteration marker means training."""
    head = text[:READ]
    for rule in rules():
        if rule.regex.search(head):
            return rule.action
    return action_of(TRAIN, TRAIN) if marker else NO_ACTION


class StageCarry:
    """Stages at the end of a block: by lane, and by source for lanes that say nothing; pickles."""

    def __init__(self) -> None:
        self.rows = 0  # entries seen: positions below count on
        self.lanes = np.full((len(_Kept._fields), 0), UNKNOWN, np.int64)
        self.sources: dict[int, tuple[tuple[int, ...], int]] = {}  # the same of the source, last line of training

    def grow(self, lanes: int) -> None:
        """Make room for lanes below this number."""
        more = lanes - self.lanes.shape[1]
        if more > 0:
            room = np.full((len(self.lanes), max(more, self.lanes.shape[1])), UNKNOWN, np.int64)
            self.lanes = np.hstack([self.lanes, room])


class _Kept(NamedTuple):
    """What is carried, one value per lane or per row."""

    stage: Ints  # of the next line
    at: Ints  # position of the action that named it
    base: Ints  # what a checkpoint or evaluation goes back to
    base_at: Ints


def carry_stages(actions: Ints, lane: Ints, carry: StageCarry, source: int = 0) -> NDArray[np.int8]:
    """Return the stage of every line (index into NAMES, −1 unknown); any cut into blocks gives the same.

    A line is in the stage its lane last named, unless another lane of the source has begun to train (or to train on)
    since: of many ranks often one alone says so. A lane that never named a stage is in its source's.
    Arrays have one row per entry of a block of one source, in file order.
    """
    n = len(actions)
    if not n:
        return np.zeros(0, np.int8)
    carry.grow(int(lane.max()) + 1)
    place = carry.rows + np.arange(n)
    own, then = _OWN[actions], _THEN[actions]
    before, trained = carry.sources.get(source, ((UNKNOWN,) * len(_Kept._fields), UNKNOWN))
    common = _forward(then, np.zeros(n, np.int64), _Kept(*(np.full(n, value) for value in before)), place)
    train = np.maximum.accumulate(np.where(then == TRAIN, place, trained))
    order = np.argsort(lane, kind="stable")
    lanes = lane[order]
    firsts = np.flatnonzero(np.diff(lanes, prepend=-1))
    ends = np.append(firsts[1:], n)
    kept = _forward(then[order], np.repeat(firsts, ends - firsts), _Kept(*carry.lanes[:, lanes]), place[order])
    stage, at = np.empty(n, np.int64), np.empty(n, np.int64)
    stage[order], at[order] = kept.stage, kept.at
    behind = (train > at) & (stage != TEARDOWN)
    told = np.where(at == UNKNOWN, common.stage, np.where(behind, TRAIN, stage))
    last = ends - 1
    carry.lanes[:, lanes[last]] = np.stack([column[last] for column in kept])
    carry.sources[source] = (tuple(int(column[-1]) for column in common), int(train[-1]))
    carry.rows += n
    return np.where(own != UNKNOWN, own, told).astype(np.int8)


def _forward(then: Ints, first: Ints, kept: _Kept, place: Ints) -> _Kept:
    """Return for every row what its last action since row `first` leaves, or what was kept before."""
    index = np.arange(len(then))
    acts = then != UNKNOWN
    basic = acts & (then != BACK) & (then != PASSING[0]) & (then != PASSING[1])
    last_basic = np.maximum.accumulate(np.where(basic, index, -1))
    here = last_basic >= first
    base = np.where(here, then[last_basic], kept.base).astype(np.int64)
    base_at = np.where(here, place[last_basic], kept.base_at).astype(np.int64)
    last = np.maximum.accumulate(np.where(acts, index, -1))
    here, back = last >= first, then[last] == BACK
    stage = np.where(here, np.where(back, base, then[last]), kept.stage).astype(np.int64)
    at = np.where(here, np.where(back, base_at, place[last]), kept.at).astype(np.int64)
    return _Kept(stage, at, base, base_at)
