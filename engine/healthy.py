"""What healthy jobs say: a set of templates, so that diagnosis can leave it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FREQUENT = 0.5  # share of the healthy jobs that must say it


@dataclass(frozen=True, slots=True)
class Healthy:
    """Templates of healthy jobs."""

    jobs: int
    templates: frozenset[str]

    @classmethod
    def learn(cls, jobs: Iterable[Sequence[str]]) -> Healthy:
        """Keep the templates that at least half of the jobs have."""
        counts: Counter[str] = Counter()
        n = 0
        for templates in jobs:
            counts.update(set(templates))
            n += 1
        return cls(n, frozenset(t for t, c in counts.items() if c >= FREQUENT * n))

    def usual(self, templates: Sequence[str]) -> NDArray[np.bool_]:
        """Tell for each template whether healthy jobs say it."""
        return np.array([t in self.templates for t in templates], dtype=np.bool_)
