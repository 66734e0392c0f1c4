"""Where a rank's text is torn: is `[3] ` in mid-line another rank's tag, or a text's own?

Hydra adds no newline, so a rank whose text stops before another's tag goes on where it stopped when it is read again:
with the newline, the rest of a bar, the rest of a word. Behind a text that only imitates a tag the rank begins a new
line. The sample tells which ends of text (contexts) are followed by which; where it shows both or neither, the writer
of what follows is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

BEFORE = 6  # bytes of text in front of a tag that are its context
AFTER = 8  # bytes behind a tag that tell how a text begins
MOST_TURNS = 3  # a text that is taken for a tag spoils what its rank's other chunks tell
MOST = 1024  # contexts or beginnings that are kept of a kind
LETTERS = 2  # in a beginning that tells a chunk's from the rest of a text
FALSE = 3  # votes that make a context the program's own
CHANCE = 0.1  # share of votes against a context that chance explains: the sample has gaps, and new texts come up
LIKELY_TORN = 10  # one in so many chunks is torn, at least, where any are
LIKELY = 4.0  # times as frequent behind unfinished text as at the beginning of lines
_DIGITS = re.compile(rb"\d+")
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_END = b"$"  # a chunk that is a newline


class Tear(Enum):
    """What a tag in mid-line is."""

    REAL = 1
    TEXT = 2
    DOUBTFUL = 3


class Chunk(NamedTuple):
    """What a tag begins."""

    context: bytes  # of the text in front of the tag
    owner: bytes  # id
    beginning: bytes


class Tears(NamedTuple):
    """What the sample of a source shows; all texts with 0 for digits."""

    real: frozenset[bytes] = frozenset()
    text: frozenset[bytes] = frozenset()
    mixed: frozenset[bytes] = frozenset()
    begins: frozenset[bytes] = frozenset()  # of chunks that begin a line

    def judge(self, line: bytes, begin: int, start: int, end: int) -> Tear:
        """Judge the tag line[start:end] behind unfinished text that began at `begin`."""
        context = context_of(line, begin, start)
        is_chunk = beginning_of(line, end) in self.begins
        if context in self.real:
            return Tear.REAL if is_chunk else Tear.DOUBTFUL
        if context in self.text:
            return Tear.DOUBTFUL if is_chunk else Tear.TEXT
        if context in self.mixed:
            return Tear.DOUBTFUL
        if is_chunk:
            return Tear.REAL if self.real or line[start - 1 : start] != b" " else Tear.DOUBTFUL
        return Tear.DOUBTFUL if self.real else Tear.TEXT

    def encoded(self) -> str:
        """Return a text that `decoded` takes."""
        return "\n\n".join("\n".join(sorted(text.decode("latin-1") for text in texts)) for texts in self)


def decoded(text: str) -> Tears:
    """Return what was encoded."""
    parts = (part.encode("latin-1").split(b"\n") for part in text.split("\n\n"))
    return Tears(*(frozenset(part) - {b""} for part in parts))


def context_of(line: bytes, begin: int, end: int) -> bytes:
    """Return the end of a text line[begin:end]."""
    return line[max(begin, end - BEFORE) : end].translate(_ZEROS)


def beginning_of(line: bytes, at: int) -> bytes:
    """Return how a chunk begins; all states of bars begin alike."""
    if line[at : at + 1] == b"\r":
        return b"\r"
    return _DIGITS.sub(b"0", line[at : at + AFTER])[:5] or _END


def learn_tears(tag: re.Pattern[bytes], ids: Collection[bytes], lines: Iterable[bytes]) -> Tears:
    """Follow each rank's chunks through neighbouring lines, and again without what turned out to be text.

    `tag` has one group: the id.
    """
    rows = [chunks for line in lines if (chunks := _chunks(tag, ids, line))]
    tears = _followed(rows, frozenset())
    for _ in range(MOST_TURNS):
        again = _followed(rows, tears.text)
        again = again._replace(text=again.text | tears.text)
        if again.text == tears.text:
            return again
        tears = again
    return tears


def _followed(rows: Sequence[Sequence[Chunk]], text: frozenset[bytes]) -> Tears:
    """Follow the chunks; no tag behind a context of `text` counts."""
    whole: Counter[bytes] = Counter()  # how chunks begin behind a finished line
    torn: list[tuple[bytes, bytes]] = []  # context, and how the rank's next chunk begins
    rests: Counter[bytes] = Counter()  # the latter, but not behind its own rank's tag: that may be part of the text
    last: dict[bytes, bytes | None] = {}  # id → context of its unfinished text; None: its line is finished
    for chunks in rows:
        kept = [chunk for k, chunk in enumerate(chunks) if not k or chunk.context not in text]
        before = b""
        for k, (_, owner, beginning) in enumerate(kept):
            context = last.get(owner, b"")
            if context is None:
                whole[beginning] += 1
            elif context:
                torn.append((context, beginning))
                rests[beginning] += owner != before
            last[owner] = kept[k + 1].context if k + 1 < len(kept) else None
            before = owner
    starts = Counter(chunks[0].beginning for chunks in rows)
    return _judged(starts, whole, torn, rests)


def _chunks(tag: re.Pattern[bytes], ids: Collection[bytes], line: bytes) -> list[Chunk]:
    """Return the chunks of a line that begins with a tag; a tag behind a tag is text."""
    if tag.match(line) is None:
        return []
    out: list[Chunk] = []
    behind = -1
    begin = 0
    for match in tag.finditer(line):
        owner = match[match.lastindex or 0]
        if match.start() != behind and owner in ids:
            out.append(Chunk(context_of(line, begin, match.start()), owner, beginning_of(line, match.end())))
            begin = match.end()
        behind = match.end()
    return out


def _judged(
    starts: Counter[bytes], whole: Counter[bytes], torn: Sequence[tuple[bytes, bytes]], rests: Counter[bytes]
) -> Tears:
    """Sort contexts by what follows them; `starts` counts how lines begin, `rests` what continues a text."""
    behind = Counter(beginning for _, beginning in torn)
    n_whole = max(1, whole.total())
    n_torn = max(1, len(torn), n_whole // LIKELY_TORN)
    real: Counter[bytes] = Counter()
    against: Counter[bytes] = Counter()
    for context, beginning in torn:
        is_rest = behind[beginning] / n_torn > LIKELY * whole[beginning] / n_whole
        (real if is_rest else against)[context] += 1
    sure = {c for c, n in real.items() if against[c] <= CHANCE * (n + against[c])}
    own = {c for c, n in against.items() if n >= FALSE and real[c] <= CHANCE * (n + real[c])}
    mixed = (real.keys() | against.keys()) - sure - own
    begins = [text for text, _ in starts.most_common(MOST) if _tells(text)]
    begins += [text for text, n in rests.most_common(MOST) if n > 1 and behind[text] > whole[text]]
    return Tears(*(frozenset(sorted(texts)[:MOST]) for texts in (sure, own, mixed)), frozenset(begins))


def _tells(beginning: bytes) -> bool:
    """Say whether a beginning is one of few that look so."""
    return beginning in (_END, b"\r") or sum(chr(byte).isalpha() for byte in beginning) >= LETTERS
