"""The job's plans: what every mapper found, under one numbering, with event, site and stage of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from l4tui.engine.events import Events
from l4tui.engine.keys import CROWD
from l4tui.engine.model import UNKNOWN, LineClass, Parse, Speaker
from l4tui.engine.plans import PlanInfo
from l4tui.engine.snapshot import PlanTable
from l4tui.engine.stages import stage_action
from l4tui.engine.store import Growing

MOST_PLANS = 1 << 17  # past it new ones are shared by first words
LONGEST_WORD = 12


class Translation:
    """A mapper's ids in the job's terms."""

    def __init__(self) -> None:
        self.plans = Growing(np.int32)
        self.speakers: list[Speaker] = []
        self._of: dict[tuple[int, int, str], np.ndarray] = {}

    def voices(self, source: int, epoch: int, heading: str) -> np.ndarray:
        """Return the job's speaker of each of the mapper's in that place, UNKNOWN where not asked for yet."""
        table = self._of.get((source, epoch, heading), np.empty(0, np.int32))
        if len(table) < len(self.speakers):
            room = np.full(len(self.speakers) * 3 // 2 + 8, UNKNOWN, np.int32)
            room[: len(table)] = table
            self._of[source, epoch, heading] = table = room
        return table


class PlanKey(NamedTuple):
    """What tells plans apart."""

    key: bytes
    formats: tuple[str, ...]
    text_at: int
    site: bytes
    loose: bool


class PlanBook:
    """Plans of all mappers; equal ones are one row."""

    def __init__(self) -> None:
        self.event = Growing(np.int32)
        self.shape = Growing(np.int32)
        self.level = Growing(np.int8)
        self.site = Growing(np.int32)
        self.text_at = Growing(np.int32)
        self.lane_end = Growing(np.int32)
        self.line_class = Growing(np.int8)
        self.marker = Growing(np.int8)
        self.stage_action = Growing(np.int8)
        self.trail = Growing(np.int8)
        self._is_crowd = Growing(np.bool_)
        self._alike = 0  # lines of such plans
        self.formats: list[tuple[str, ...]] = []
        self.sites: list[str] = []
        self.shapes: list[bytes] = []
        self.texts: list[bytes] = []  # keys of the plans
        self.events = Events()
        self._ids: dict[PlanKey, int] = {}
        self._site_ids: dict[bytes, int] = {}
        self._shape_ids: dict[bytes, int] = {}
        self._actions: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.formats)

    def extend(self, translation: Translation, plans: list[PlanInfo]) -> None:
        """Number new plans of a mapper."""
        translation.plans.extend(np.array([self._id(info) for info in plans], np.int32))

    def note_plan(self) -> int:
        """Return the plan of lines that are ours, not the log's."""
        return self._id(PlanInfo(b"\0note", Parse((), (), 0, 0), b"l4tui note", b"", LineClass.HEAD, False))

    def count(self, plan: np.ndarray) -> None:
        """Take note of how many lines share plans only because there were too many different ones."""
        self._alike += int(np.count_nonzero(self._is_crowd.view().take(plan)))

    @property
    def remark(self) -> str:
        """Say how many lines are known by their beginnings only; empty: none."""
        words = "lines are of words like no others: only how they begin is known of them"
        return f"{self._alike:,} {words}" if self._alike else ""

    def keys(self) -> list[PlanKey]:
        """Return what tells plans apart, by plan."""
        return list(self._ids)

    def restore(
        self, keys: list[PlanKey], shapes: list[bytes], sites: list[str], columns: Mapping[str, np.ndarray]
    ) -> None:
        """Take up plans that were stored; `events` restores its own."""
        self._ids = {key: plan for plan, key in enumerate(keys)}
        self.formats = [key.formats for key in keys]
        self.texts = [key.key for key in keys]
        self.shapes, self.sites = shapes, sites
        self._shape_ids = {shape: i for i, shape in enumerate(shapes)}
        for name, values in columns.items():
            getattr(self, name).replace(values)
        self._is_crowd.replace(np.array([key.key.startswith(CROWD) for key in keys], np.bool_))
        self._site_ids = {key.site: site for key, site in zip(keys, columns["site"].tolist(), strict=True) if key.site}

    def _id(self, info: PlanInfo) -> int:
        same = PlanKey(info.key, info.parse.formats, info.parse.text_at, info.site, info.loose)
        known = self._ids.get(same)
        if known is not None:
            return known
        if len(self._ids) >= MOST_PLANS:
            info = _crowded(info)
            same = PlanKey(info.key, info.parse.formats, info.parse.text_at, info.site, info.loose)
            known = self._ids.get(same)
            if known is not None:
                return known
        plan = self._ids[same] = len(self.formats)
        self.texts.append(same.key)
        shape = self._shape_ids.setdefault(info.shape, len(self.shapes))
        if shape == len(self.shapes):
            self.shapes.append(info.shape)
        self.formats.append(info.parse.formats)
        self.event.append(self.events.of(info.shape))
        self.shape.append(shape)
        self.level.append(info.parse.level)
        self.site.append(self._site(info.site))
        self.text_at.append(info.parse.text_at)
        self.lane_end.append(info.parse.lane_end)
        self.line_class.append(info.line_class)
        self.marker.append(info.parse.marker)
        self.stage_action.append(self._action(shape, info))
        self.trail.append(info.trail)
        self._is_crowd.append(same.key.startswith(CROWD))
        return plan

    def _action(self, shape: int, info: PlanInfo) -> int:
        """Return what lines of a shape do to the stage; found once per shape."""
        same = (shape, int(info.parse.marker))
        if same not in self._actions:
            self._actions[same] = stage_action(info.shape, info.parse.marker)
        return self._actions[same]

    def _site(self, site: bytes) -> int:
        if not site:
            return UNKNOWN
        known = self._site_ids.setdefault(site, len(self.sites))
        if known == len(self.sites):
            self.sites.append(site.decode("utf-8", "replace"))
        return known

    def table(self) -> PlanTable:
        """Return the columns as they are now."""
        return PlanTable(
            self.event.view(), self.shape.view(), self.level.view(), self.site.view(), self.text_at.view(),
            self.line_class.view(), self.marker.view(), self.formats, self.lane_end.view(),
        )  # fmt: skip


def _crowded(info: PlanInfo) -> PlanInfo:
    """Return the plan that many share: of a message only its first word counts, and none where that has digits."""
    word = info.shape.split(None, 1)[0] if info.shape.strip() else b""
    word = b"" if b"0" in word or len(word) > LONGEST_WORD else word
    return info._replace(key=CROWD + word, shape=word, site=b"")
