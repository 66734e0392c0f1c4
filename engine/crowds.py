"""Lines whose words are like no others': where a key tells nothing any more, what stands before its text still does.

A log of random words would else cost a parse for each line. Once a mapper has seen too many keys it looks a new line up
by its *head* (the key of its prefixes and headers, whose numbers stand at the same offsets in all lines of a head) and
its first two words, and once there are too many of these, too, by its head alone. What such a line says behind that
(an iteration, a rank) is not looked for, but for lines that may tell of a failure.
"""

from __future__ import annotations

import re

from l4tui.engine.keys import CROWD, collapse
from l4tui.engine.lineclass import classify
from l4tui.engine.model import UNKNOWN, Parse
from l4tui.engine.plans import Plans, must_hold

MOST = 1 << 12  # crowds by first words, and as many more of lines that may tell of a failure; by head alone, too
LONGEST_WORDS = 60  # bytes of the first words that count
LENGTHS = 48  # different lengths of heads that are tried
NEXT = 4  # bytes behind a head that must be alike: formats are told apart by them
_GRAVE = re.compile(rb"rror|xception|raceback|atal|SIG[A-Z]|signal|abort|kill|NCCL|CUDA|oom|OOM|fail|Fail")


class Crowds:
    """The shared plans of one mapper."""

    def __init__(self, table: Plans) -> None:
        self._table = table
        self._plans: dict[bytes, int] = {}  # by head and first words
        self._heads: dict[bytes, int] = {}  # by head and what follows
        self._lengths: list[int] = []  # of heads, longest first: a longer head says more
        self._loose: dict[bytes, int] = {}  # lines that are read one by one, by their first words

    def known(self, line: bytes, key: bytes) -> tuple[int, bool]:
        """Return the plan of a line like those before, −1 for none, and whether no mask can tell it better."""
        for length in self._lengths:
            found = self._plans.get(_words(key, length))
            if found is not None:
                return found, b"0" not in key[length:]  # whatever is masked holds digits
        if len(self._plans) >= MOST and _GRAVE.search(line) is None:
            for length in self._lengths:
                found = self._heads.get(_lead(key, length))
                if found is not None:
                    return found, b"0" not in key[length:]
        return UNKNOWN, False

    def add(self, line: bytes, key: bytes, parse: Parse) -> int:
        """Make or find the plan of a line that is not known."""
        at = parse.text_at
        words = _words(key, at)
        room = MOST if _GRAVE.search(line) is None else 2 * MOST
        if len(self._plans) < room and _holds(parse, len(words)) and self._knows(at):
            found = self._plans[words] = self._plan(line, words, collapse(words[at:]), parse, len(words))
            return found
        lead = _lead(key, at)
        if lead not in self._heads and len(self._heads) < MOST and _holds(parse, at) and self._knows(at):
            self._heads[lead] = self._plan(line, lead, b"", parse, at)
        found_by_head = self._heads.get(lead)
        if found_by_head is not None and _holds(parse, at):
            return found_by_head
        return self._read_singly(line, words, parse)

    def _read_singly(self, line: bytes, words: bytes, parse: Parse) -> int:
        """Return the plan of lines whose numbers stand at no known offsets."""
        message = collapse(words[parse.text_at :])
        name = collapse(words[: parse.text_at]) + message
        if name not in self._loose and len(self._loose) >= MOST:
            name = message = b""
        if name not in self._loose:
            self._loose[name] = self._plan(line, name, message, parse, 0)
        return self._loose[name]

    def _plan(self, line: bytes, name: bytes, message: bytes, parse: Parse, holds_to: int) -> int:
        line_class = classify(line[parse.text_at :], parse)
        return self._table.add(line, CROWD + name, message, parse, line_class, holds_to)

    def _knows(self, length: int) -> bool:
        """Say whether heads of a length are looked up."""
        if length not in self._lengths and len(self._lengths) < LENGTHS:
            self._lengths = sorted((*self._lengths, length), reverse=True)
        return length in self._lengths


def _holds(parse: Parse, to: int) -> bool:
    """Say whether all that has to be read of lines alike stands before an offset."""
    return all(span.end <= to or not must_hold(span) for span in parse.spans)


def _words(key: bytes, at: int) -> bytes:
    """Return a head and the first two words behind it."""
    first = key.find(b" ", at + 1, at + LONGEST_WORDS)
    second = key.find(b" ", first + 1, at + LONGEST_WORDS) if first >= 0 else -1
    return key[: second if second >= 0 else first if first >= 0 else at + LONGEST_WORDS]


def _lead(key: bytes, at: int) -> bytes:
    """Return a head and what tells the format behind it: two letters, or more where there are digits."""
    lead = key[: at + NEXT]
    return lead if b"0" in lead[at:] else key[: at + 2]
