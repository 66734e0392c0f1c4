"""Candidates: which formats may match a text, remembered by its key: files of one job are judged as fast as one.

What a format says of one text it says of all that differ from it in digits alone, unless its pattern names digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from l4tui.engine.formats.registry import Format
from l4tui.engine.formats.shape import treats_digits_alike

MOST = 1 << 13  # keys remembered
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


class Candidates:
    """Formats in their order, asked of texts again and again."""

    def __init__(self, formats: Iterable[Format], test: Callable[[Format, bytes], bool]) -> None:
        self._formats = [(fmt, treats_digits_alike(fmt.regex)) for fmt in formats]
        self._test = test
        self._known: dict[bytes, tuple[Format, ...]] = {}

    def among(self, texts: Sequence[bytes]) -> list[tuple[int, bytes, tuple[Format, ...]]]:
        """Return place and text of those that any format may match, with these formats; all others do not."""
        keys = [text.translate(_ZEROS) for text in texts]
        out = []
        for place, found in enumerate(map(self._known.get, keys)):
            formats = self._ask(keys[place], texts[place]) if found is None else found
            if formats:
                out.append((place, texts[place], formats))
        return out

    def _ask(self, key: bytes, text: bytes) -> tuple[Format, ...]:
        if len(self._known) >= MOST:
            self._known.clear()
        found = tuple(fmt for fmt, is_alike in self._formats if text and (not is_alike or self._test(fmt, text)))
        self._known[key] = found
        return found
