"""The names of series, and the words that text series hold: small tables that grow as lines are read."""

from __future__ import annotations

from typing import NamedTuple

from l4tui.engine.model import UNKNOWN
from l4tui.engine.telemetry.fields import Type

MOST_WORDS = 1 << 14  # different texts kept; a field with more is no category
MOST_SERIES = 1 << 16


class SeriesInfo(NamedTuple):
    """What a series is."""

    name: str  # unique: the key as written, with its unit where the same key has several
    key: str
    unit: str
    type: Type
    keyed: bool


class Catalog:
    """All series by number, and all texts."""

    def __init__(self) -> None:
        self.infos: list[SeriesInfo] = []
        self.words: list[str] = []
        self._ids: dict[tuple[str, str, bool], int] = {}
        self._names: dict[str, int] = {}
        self._word_ids: dict[str, int] = {}

    def series(self, key: str, unit: str, kind: Type, keyed: bool) -> int:
        """Return the number of a series, a new one if need be; an int series becomes float with its first float."""
        same = (key, unit, kind is Type.TEXT)
        at = self._ids.get(same)
        if at is None:
            if len(self.infos) >= MOST_SERIES:
                return UNKNOWN
            at = self._ids[same] = len(self.infos)
            name = key
            if name in self._names:
                name = f"{key} ({'text' if kind is Type.TEXT else unit or 'no unit'})"
            self._names.setdefault(name, at)
            self.infos.append(SeriesInfo(name, key, unit, kind, keyed))
        info = self.infos[at]
        if (kind is Type.FLOAT and info.type is Type.INT) or (keyed and not info.keyed):
            self.infos[at] = info._replace(type=max(info.type, kind), keyed=info.keyed or keyed)
        return at

    def find(self, name: str) -> int:
        """Return the number of a series by its unique name, −1 if there is none."""
        return self._names.get(name, UNKNOWN)

    def word(self, text: str) -> int:
        """Return the code of a text; −1 once there are too many."""
        code = self._word_ids.get(text)
        if code is None:
            if len(self.words) >= MOST_WORDS:
                return UNKNOWN
            code = self._word_ids[text] = len(self.words)
            self.words.append(text)
        return code
