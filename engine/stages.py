"""Stages of a job: what a message opens or closes, carried along each lane and, where a lane is silent, its source."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.formats.shape import needed_literals
from l4tui.engine.lanes import lane_order
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
_TRAINS = 1 + TRAIN * _WIDTH + TRAIN  # action: a line of training, as are those after it
_OWN = np.array([UNKNOWN] + [s for s in range(len(NAMES)) for _ in range(_WIDTH)], np.int64)
_THEN = np.array([UNKNOWN] + [t for _ in NAMES for t in range(_WIDTH)], np.int64)


class Rule(NamedTuple):
    """One pattern of stages.toml, compiled."""

    regex: re.Pattern[bytes]
    literals: tuple[bytes, ...]  # lower case; every match holds one of them
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
        action = action_of(NAMES.index(stage), _LATER.index(then))
        for pattern in row["patterns"]:
            regex = re.compile(pattern.encode(), re.IGNORECASE)
            out.append(Rule(regex, needed_literals(regex) or (b"",), action))
    return tuple(out)


def stage_action(text: bytes, marker: Marker = Marker.NONE) -> int:
    """Return the action of a message (or of its shape), NO_ACTION for most; an iteration marker means training."""
    head = text[:READ]
    lowered = head.lower()
    for regex, literals, action in rules():
        for literal in literals:  # most rules end here, at 40 ns
            if literal in lowered and regex.search(head):
                return action
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
    """What is carried, one value per lane or per action."""

    stage: Ints  # of the next line
    at: Ints  # position of the action that named it
    base: Ints  # what a checkpoint or evaluation goes back to
    base_at: Ints


def carry_stages(
    actions: Ints, lane: Ints, carry: StageCarry, source: int = 0, order: Ints | None = None
) -> NDArray[np.int8]:
    """Return the stage of every line (index into NAMES, −1 unknown); any cut into blocks gives the same.

    A line is in the stage its lane last named, unless another lane of the source has begun to train (or to train on)
    since: of many ranks often one alone says so, and the same one tells of checkpoints and evaluation. A lane that
    never named a stage is in its source's.

    Args:
        actions, lane: one row per entry of a block of one source, in file order.
        order: lane_order(lane), where it is known already.
    """
    if not len(actions):
        return np.zeros(0, np.int8)
    carry.grow(int(lane.max()) + 1)
    before, trained = carry.sources.get(source, ((UNKNOWN,) * len(_Kept._fields), UNKNOWN))
    start = carry.rows
    carry.rows += len(actions)
    acts = actions != NO_ACTION
    rows = np.flatnonzero(acts)
    if not len(rows):
        return _told(carry.lanes[0], carry.lanes[1], before[0], trained)[lane]
    if before[:3:2] == (TRAIN, TRAIN) and _trains_on(actions[rows], lane, carry):
        at = start + rows  # the common case: training goes on in every lane
        carry.lanes[1, lane[rows]] = carry.lanes[3, lane[rows]] = at
        last = int(at[-1])
        carry.sources[source] = ((TRAIN, last, TRAIN, last), last)
        return np.full(len(actions), TRAIN, np.int8)
    then = _THEN[actions[rows]]
    slot = np.cumsum(acts)  # actions up to each row, itself among them
    held = _Kept(*(np.full(len(rows), value) for value in before))
    common = _settle(then, np.zeros(len(rows), np.int64), held, start + rows)
    train = np.maximum.accumulate(np.where(then == TRAIN, start + rows, trained))
    stage, at = _by_lane(actions, lane, carry, start, lane_order(lane) if order is None else order)
    told = _told(stage, at, np.append(before[0], common.stage)[slot], np.append(trained, train)[slot])
    told[rows] = _OWN[actions[rows]]
    carry.sources[source] = (tuple(int(column[-1]) for column in common), int(train[-1]))
    return told


def _trains_on(actions: Ints, lane: Ints, carry: StageCarry) -> bool:
    """Say whether all lanes of a block train and nothing but training is named in it."""
    if not (actions == _TRAINS).all():
        return False
    return bool((carry.lanes[0][lane] == TRAIN).all() and (carry.lanes[2][lane] == TRAIN).all())


def _told(stage: Ints, at: Ints, common: Ints | int, trained: Ints | int) -> NDArray[np.int8]:
    """Return the stage of lines that say nothing: their lane's, or what their source has come to."""
    behind = (trained > at) & (stage != TEARDOWN)
    passing = (common == PASSING[0]) | (common == PASSING[1])
    return np.where(at == UNKNOWN, common, np.where(behind, np.where(passing, common, TRAIN), stage)).astype(np.int8)


def _by_lane(actions: Ints, lane: Ints, carry: StageCarry, start: int, order: Ints) -> tuple[Ints, Ints]:
    """Return per row the stage its lane last named and where; bring the carry up to date."""
    lanes = lane[order]
    acts = actions[order] != NO_ACTION
    rows = order[acts]
    firsts = np.flatnonzero(np.diff(lanes, prepend=-1))
    slot = np.cumsum(acts)
    empty = np.repeat(slot[firsts] - acts[firsts], np.diff(np.append(firsts, len(lanes))))  # actions of lanes before
    named = lanes[acts]
    kept = _settle(_THEN[actions[rows]], empty[acts], _Kept(*carry.lanes[:, named]), start + rows)
    inside = slot > empty
    stage, at = np.empty(len(lane), np.int64), np.empty(len(lane), np.int64)
    stage[order] = np.where(inside, kept.stage[slot - 1], carry.lanes[0, lanes])
    at[order] = np.where(inside, kept.at[slot - 1], carry.lanes[1, lanes])
    last = np.flatnonzero(np.diff(named, append=-1))
    carry.lanes[:, named[last]] = np.stack([column[last] for column in kept])
    return stage, at


def _settle(then: Ints, first: Ints, kept: _Kept, place: Ints) -> _Kept:
    """Return what holds after each action: `first` is the first action of the same lane, `kept` what held before it."""
    index = np.arange(len(then))
    basic = (then != BACK) & (then != PASSING[0]) & (then != PASSING[1])
    last = np.maximum.accumulate(np.where(basic, index, -1))
    here = last >= first
    base = np.where(here, then[last], kept.base)
    base_at = np.where(here, place[last], kept.base_at)
    back = then == BACK
    return _Kept(np.where(back, base, then), np.where(back, base_at, place), base, base_at)
