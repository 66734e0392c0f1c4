"""Kindred files: of thousands with one kind of name a look at few lines says what the first ones said at length.

What is concluded is what a full look concludes: a file takes over another's dialect only where few lines of both show
the same, and where all files so far that showed it turned out alike.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from l4tui.engine.formats import Dialect, Format, detect
from l4tui.engine.sampling import few, sample, tells
from l4tui.engine.sources import Source

MANY = 32  # files of a kind from which on they are compared
FIRST = 6  # of them that are looked at in full, whatever the few lines show
MOST_VARIED = 12  # things that few lines may show before it is seen that these files have little in common
LARGE = 1 << 16  # bytes from which on a full look costs much more


@dataclass
class _Kind:
    """Files whose names differ in digits alone."""

    shown: dict[Dialect, tuple[Dialect | None, int]] = field(default_factory=dict)  # by few lines → by all, how often
    is_varied: bool = False
    full: Counter[Dialect] = field(default_factory=Counter)  # by all lines

    def known(self, seen: Dialect) -> Dialect | None:
        found, times = self.shown.get(seen, (None, 0))
        return found if times >= FIRST else None

    def learn(self, seen: Dialect, found: Dialect) -> None:
        before, times = self.shown.get(seen, (found, 0))
        self.shown[seen] = (found, times + 1) if before == found else (None, 0)  # these lines do not tell, ever
        self.is_varied = len(self.shown) > MOST_VARIED
        self.full[found] += 1


class Kindred:
    """Finds the dialects of a job's sources."""

    def __init__(self, sources: Sequence[Source], extra: Sequence[Format]) -> None:
        self._extra = extra
        self._files = Counter(_kind_of(source) for source in sources)
        self._kinds: dict[str, _Kind] = defaultdict(_Kind)

    def guess(self, source: Source) -> Dialect | None:
        """Return the dialect that all files of the kind have so far, without a look; None: they differ, or are few."""
        full = self._kinds[_kind_of(source)].full
        return next(iter(full)) if len(full) == 1 and full.total() >= FIRST else None

    def dialect(self, source: Source, size: int) -> tuple[Dialect, bool]:
        """Return the dialect that a source's first `size` bytes show, and whether it is final; raises SourceError."""
        name = _kind_of(source)
        kind = self._kinds[name]
        seen = None
        if self._files[name] >= MANY and size > LARGE and not kind.is_varied and (lines := few(source, size)):
            seen = detect(lines, source.name, self._extra)
            known = kind.known(seen)
            if known is not None:
                return known, True
        lines = sample(source, size)
        found = detect(lines, source.name, self._extra)
        if seen is not None:
            kind.learn(seen, found)
        return found, tells(lines, size)


def _kind_of(source: Source) -> str:
    return re.sub(r"\d+", "0", source.path)
