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
from l4tui.engine.segments import Segments

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
    actions: Ints, lane: Ints, carry: StageCarry, sources: Sequence[int] = (0,), segments: Segments | None = None,
    by: ByLane | None = None,
) -> NDArray[np.int8]:  # fmt: skip
    """Return the stage of every line (index into NAMES, −1 unknown); any cut into blocks gives the same.

    A line is in the stage its lane last named, unless another lane of the source has begun to train (or to train on)
    since: of many ranks often one alone says so, and the same one tells of checkpoints and evaluation. A lane that
    never named a stage is in its source's.

    Args:
        actions, lane: one row per entry of a block of each source, in file order.
        sources, segments: whose block is where; None: there is one.
        by: ByLane(lane), where it is known already.
    """
    if not len(actions):
        return np.zeros(0, np.int8)
    carry.grow(int(lane.max()) + 1)
    rows = np.flatnonzero(actions != NO_ACTION)
    by_source = _BySource(actions, rows, carry, sources, segments or Segments([len(actions)]))
    carry.rows += len(actions)
    if not len(rows):
        return _told(carry.lanes[0].take(lane), carry.lanes[1].take(lane), *by_source.carried())
    by_lane = _ByLane(actions, by or ByLane(lane), by_source.start)
    told = _OWN.take(actions)
    silent = np.flatnonzero(actions == NO_ACTION)
    if len(silent):
        told[silent] = _told(*by_lane.of(silent, carry), *by_source.of(silent))
    by_source.keep(carry)
    by_lane.keep(carry)
    return told


_NOTHING = ((UNKNOWN,) * len(_Kept._fields), UNKNOWN)  # of a source not seen before


class _Actions:
    """Actions in some order: rows of a block that name a stage, and which stage holds after each."""

    def __init__(self, then: NDArray[np.int8], rows: Ints) -> None:
        self.then = then
        self.rows = rows
        self.is_basic = (then != BACK) & (then != PASSING[0]) & (then != PASSING[1])

    @cached_property
    def _bases(self) -> Ints:
        return last_marked(self.is_basic)

    def settled(self, at: Ints, first: Ints, kept: _Kept, start: int) -> tuple[Ints, Ints]:
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
            known = base >= np.broadcast_to(first, len(at))[back]
            stage[back] = np.where(known, self.then.take(base), np.broadcast_to(kept.base, len(at))[back])
            place[back] = np.where(known, start + self.rows.take(base), np.broadcast_to(kept.base_at, len(at))[back])
        return stage, place

    def kept(self, at: Ints, first: Ints, before: _Kept, start: int) -> _Kept:
        """Return what is carried on behind these actions: the last ones of some lanes, told as for `settled`."""
        stage, place = self.settled(at, first, before, start)
        base = self._bases.take(at)
        known = (at >= first) & (base >= first)
        basic = np.where(known, self.then.take(base), before.base)
        return _Kept(stage, place, basic, np.where(known, start + self.rows.take(base), before.base_at))


class _BySource:
    """The actions of a block, source by source."""

    def __init__(
        self, actions: Ints, rows: Ints, carry: StageCarry, sources: Sequence[int], segments: Segments
    ) -> None:
        self.start = carry.rows  # position of the first row
        self._rows, self._sources, self._segments = rows, sources, segments
        known = [carry.sources.get(source, _NOTHING) for source in sources]
        self._before = _Kept(*np.array([kept for kept, _ in known], np.int64).T)
        self._trained = [at for _, at in known]
        self._named = _Actions(_THEN.take(actions.take(rows)), rows)
        self._trains = rows.take(np.flatnonzero(self._named.then == TRAIN))

    def carried(self) -> tuple[Ints, Ints]:
        """Return what sources that name nothing are in, and when they last began to train."""
        return self._segments.each(self._before.stage), self._segments.each(self._trained)

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return what the sources of silent rows last named, and when they last began to train."""
        held = _Kept(*(self._segments.each(column, rows) for column in self._before))
        first = self._segments.first(rows)
        at = np.searchsorted(self._rows, rows) - 1
        stage, _ = self._named.settled(at, np.searchsorted(self._rows, first), held, self.start)
        last = np.append(UNKNOWN, self._trains).take(np.searchsorted(self._trains, rows))
        return stage, np.where(last >= first, self.start + last, self._segments.each(self._trained, rows))

    def keep(self, carry: StageCarry) -> None:
        """Bring the sources up to date."""
        last = np.searchsorted(self._rows, self._segments.ends) - 1
        first = np.searchsorted(self._rows, self._segments.starts)
        end = self._named.kept(last, first, self._before, self.start)
        for k, row in enumerate(self._segments.last(self._trains)):
            trained = self.start + row if row >= 0 else self._trained[k]
            carry.sources[self._sources[k]] = (tuple(int(column[k]) for column in end), trained)


class _ByLane:
    """The actions of a block, lane by lane."""

    def __init__(self, actions: Ints, by: ByLane, start: int) -> None:
        self._by, self._start = by, start
        sorted_actions = actions.take(by.order)
        self._acts = sorted_actions != NO_ACTION
        self._upto = np.cumsum(self._acts)
        self._named = _Actions(_THEN.take(sorted_actions[self._acts]), by.order[self._acts])

    def of(self, rows: Ints, carry: StageCarry) -> tuple[Ints, Ints]:
        """Return what the lanes of silent rows last named, and where."""
        place = np.empty(len(self._acts), np.int64)
        place[self._by.order] = np.arange(len(place))
        at = place.take(rows)
        first = self._first(self._by.first.take(at))
        kept = _Kept(*carry.lanes[:, self._by.lane.take(rows)])
        return self._named.settled(self._upto.take(at) - 1, first, kept, self._start)

    def keep(self, carry: StageCarry) -> None:
        """Bring the lanes up to date."""
        by = self._by
        lanes = by.lanes.take(by.firsts)
        last = self._upto.take(by.ends - 1) - 1
        kept = _Kept(*carry.lanes[:, lanes])
        carry.lanes[:, lanes] = self._named.kept(last, self._first(by.firsts), kept, self._start)

    def _first(self, at: Ints) -> Ints:
        """Return the first action at or behind these places, where lanes begin."""
        return self._upto.take(at) - self._acts.take(at)


def _told(stage: Ints, at: Ints, common: Ints | int, trained: Ints | int) -> NDArray[np.int8]:
    """Return the stage of lines that say nothing: their lane's, or what their source has come to."""
    behind = (trained > at) & (stage != TEARDOWN)
    passing = (common == PASSING[0]) | (common == PASSING[1])
    return np.where(at == UNKNOWN, common, np.where(behind, np.where(passing, common, TRAIN), stage)).astype(np.int8)
