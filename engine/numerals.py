"""Numbers inside a message: where they stand and what they are worth."""

from __future__ import annotations

import re
from typing import NamedTuple

# digits that follow a letter are part of a name (fp16, H100, rank_3); 1.2.3 is a version
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:[eE][-+]?\d+)?(?![.]?\d)"
    r"|(?<!\w)[-+]?(?:nan|inf(?:inity)?)(?!\w)",
    re.IGNORECASE | re.ASCII,
)
LONGEST = 4000  # characters of a message that are looked at


class Split(NamedTuple):
    """A message parted into words and numbers: words[0] numbers[0] words[1] … words[n]."""

    words: tuple[str, ...]
    numbers: tuple[str, ...]


def split_numbers(text: str) -> Split:
    """Part a message into words and numbers; what follows LONGEST characters is one word."""
    words, numbers, at = [], [], 0
    for match in _NUMBER.finditer(text, 0, LONGEST):
        words.append(text[at : match.start()])
        numbers.append(match[0])
        at = match.end()
    words.append(text[at:])
    return Split(tuple(words), tuple(numbers))


def worth(number: str) -> float:
    """Return the value of a number as split_numbers gives it."""
    return float(number.replace(",", ""))
