"""Which texts only follow from another rank's failure."""

from __future__ import annotations

from collections.abc import Sequence

from l4tui.engine.library.loading import Library
from l4tui.engine.library.pattern import Role, zero_digits


class Following:
    """Tells victims' and teardowns' texts by the library; a `divergence.Follows`."""

    def __init__(self, library: Library) -> None:
        self._patterns = library.patterns

    def __call__(self, texts: Sequence[str]) -> list[bool]:
        """Say of each text whether the first pattern that matches it is a victim's or a teardown's."""
        return [self._follows(text) for text in texts]

    def _follows(self, text: str) -> bool:
        zeroed = zero_digits(text)
        hit = next((p for p in self._patterns if p.may_match(zeroed) and p.search(text)), None)
        return hit is not None and hit.role in (Role.CASCADE, Role.TEARDOWN)
