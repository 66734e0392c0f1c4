"""Stages of a job: what a message opens or closes, carried along each lane and, where a lane is silent, its source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.formats.shape import needed_literals
from l4tui.engine.lanes import ByLane, last_marked
from l4tui.engine.model import UNKNOWN, Marker
from l4tui.engine.numbering import distinct

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
_OWN = np.array([UNKNOWN] + [s for s in range(len(NAMES)) for _ in range(_WIDTH)], np.int8)
_THEN = np.array([UNKNOWN] + [t for _ in NAMES for t in range(_WIDTH)], np.int8)


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
    actions: Ints, lane: Ints, carry: StageCarry, source: int = 0, by: ByLane | None = None
) -> NDArray[np.int8]:
    """Return the stage of every line (index into NAMES, −1 unknown); any cut into blocks gives the same.

    A line is in the stage its lane last named, unless another lane of the source has begun to train (or to train on)
    since: of many ranks often one alone says so, and the same one tells of checkpoints and evaluation. A lane that
    never named a stage is in its source's.

    Args:
        actions, lane: one row per entry of a block of one source, in file order.
        by: ByLane(lane), where it is known already.
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
        return _told(carry.lanes[0].take(lane), carry.lanes[1].take(lane), before[0], trained)
    told = _OWN.take(actions)
    silent = np.flatnonzero(~acts)
    common = _Actions(_THEN.take(actions.take(rows)), rows)
    trains = np.flatnonzero(common.then == TRAIN)
    if len(silent):
        held = _Kept(*(np.full(len(silent), value) for value in before))
        stage, _ = common.settled(np.searchsorted(rows, silent) - 1, 0, held, start)
        since = np.searchsorted(rows.take(trains), silent)
        train = np.append(trained, start + rows.take(trains)).take(since)
        told[silent] = _told(*_of_lane(actions, silent, lane, carry, start, by or ByLane(lane)), stage, train)
    if len(trains):
        trained = start + int(rows[trains[-1]])
    end = common.kept(np.array([len(rows) - 1]), np.array([common.base(len(rows) - 1)]), before, start)
    carry.sources[source] = (tuple(int(column[0]) for column in end), trained)
    _keep_lanes(common, lane.take(rows), carry, start)
    return told


class _Actions:
    """Actions in some order: rows of a block that name a stage, and which stage holds after each."""

    def __init__(self, then: NDArray[np.int8], rows: Ints) -> None:
        self.then = then
        self.rows = rows
        self.is_basic = (then != BACK) & (then != PASSING[0]) & (then != PASSING[1])

    @cached_property
    def _bases(self) -> Ints:
        return last_marked(self.is_basic)

    def base(self, at: int) -> int:
        """Return the last basic action up to one; -1: there is none."""
        found = np.flatnonzero(self.is_basic[: at + 1])
        return int(found[-1]) if len(found) else UNKNOWN

    def settled(self, at: Ints, first: Ints | int, kept: _Kept, start: int) -> tuple[Ints, Ints]:
        """Return the stage after each of these actions, and where it was named.

        Args:
            at: actions, below `first` where none of the same lane comes before.
            first: the lane's first action.
            kept: what held before it.
            start: position of the block's first row.
        """
        here = at >= first
        then = self.then.take(at)
        stage = np.where(here, then, kept.stage)
        place = np.where(here, start + self.rows.take(at), kept.at)
        back = np.flatnonzero(here & (then == BACK))
        if len(back):
            base = self._bases.take(at[back])
            known = base >= (first if isinstance(first, int) else first[back])
            stage[back] = np.where(known, self.then.take(base), kept.base[back])
            place[back] = np.where(known, start + self.rows.take(base), kept.base_at[back])
        return stage, place

    def kept(self, last: Ints, base: Ints, before: Sequence[int] | Ints, start: int) -> _Kept:
        """Return what is carried on after the last action and the last basic one (-1: none) of each lane."""
        known = base >= 0
        basic = np.where(known, self.then.take(base), before[2])
        basic_at = np.where(known, start + self.rows.take(base), before[3])
        back = self.then.take(last) == BACK
        stage = np.where(back, basic, self.then.take(last))
        return _Kept(stage, np.where(back, basic_at, start + self.rows.take(last)), basic, basic_at)


def _told(stage: Ints, at: Ints, common: Ints | int, trained: Ints | int) -> NDArray[np.int8]:
    """Return the stage of lines that say nothing: their lane's, or what their source has come to."""
    behind = (trained > at) & (stage != TEARDOWN)
    passing = (common == PASSING[0]) | (common == PASSING[1])
    return np.where(at == UNKNOWN, common, np.where(behind, np.where(passing, common, TRAIN), stage)).astype(np.int8)


def _of_lane(
    actions: Ints, silent: Ints, lane: Ints, carry: StageCarry, start: int, by: ByLane
) -> tuple[Ints, Ints]:
    """Return what the lanes of silent rows last named, and where."""
    sorted_actions = actions.take(by.order)
    acts = sorted_actions != NO_ACTION
    upto = np.cumsum(acts)
    place = np.empty(len(lane), np.int64)
    place[by.order] = np.arange(len(lane))
    at = place.take(silent)
    named = _Actions(_THEN.take(sorted_actions[acts]), by.order[acts])
    firsts = by.first.take(at)
    first = upto.take(firsts) - acts.take(firsts)
    return named.settled(upto.take(at) - 1, first, _Kept(*carry.lanes[:, lane.take(silent)]), start)


def _keep_lanes(actions: _Actions, lane: Ints, carry: StageCarry, start: int) -> None:
    """Bring the lanes of these actions up to date; of what is assigned to a lane the last stays."""
    who = distinct(lane, carry.lanes.shape[1])
    place = np.empty(carry.lanes.shape[1], np.int64)  # untouched memory costs nothing
    place[who] = np.arange(len(who))
    lane = place.take(lane)
    last, base = np.full((2, len(who)), UNKNOWN)
    last[lane] = np.arange(len(lane))
    basic = np.flatnonzero(actions.is_basic)
    base[lane.take(basic)] = basic
    carry.lanes[:, who] = actions.kept(last, base, carry.lanes[:, who], start)
