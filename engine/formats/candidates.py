"""Candidates: which formats may match a text, remembered by its key: files of one job are judged as fast as one.

What a format says of one text it says of all that differ from it in digits alone, unless its pattern names digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from l4tui.engine.formats.registry import Format
from l4tui.engine.formats.shape import treats_digits_alike

Test = Callable[[Format, bytes], bool]
MOST = 1 << 13  # keys remembered
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


class Candidates:
    """Formats in their order, asked of texts again and again."""

    def __init__(self, formats: Iterable[Format], test: Test, alike: Test = lambda *_: True) -> None:
        """Take what says that a format matches a text, and that it may match some text of a key."""
        self._formats = [(fmt, treats_digits_alike(fmt.regex)) for fmt in formats]
        self._test = test
        self._alike = alike
        self._known: dict[bytes, tuple[Format, ...]] = {}

    def among(self, texts: Sequence[bytes]) -> list[tuple[int, bytes, tuple[Format, ...]]]:
        """Return place and text of those that any format may match, with these formats; all others do not."""
        keys = b"\n".join(texts).translate(_ZEROS).split(b"\n")  # no text holds the end of a line
        found = list(map(self._known.get, keys[: len(texts)]))
        if None in found:
            for place, formats in enumerate(found):
                if formats is None:
                    found[place] = self._ask(keys[place], texts[place])
        return [(place, texts[place], formats) for place, formats in enumerate(found) if formats]

    def _ask(self, key: bytes, text: bytes) -> tuple[Format, ...]:
        if len(self._known) >= MOST:
            self._known.clear()
        found = tuple(fmt for fmt, is_alike in self._formats if text and self._may_match(fmt, is_alike, key, text))
        self._known[key] = found
        return found

    def _may_match(self, fmt: Format, is_alike: bool, key: bytes, text: bytes) -> bool:
        return self._test(fmt, text) if is_alike else self._alike(fmt, key)
