"""Where a rank's text is torn: is `[3] ` in mid-line another rank's tag, or a text's own?

Hydra adds no newline, so a rank whose text stops before another's tag goes on where it stopped when it is read again:
with the newline, the rest of a bar, the rest of a word. Behind a text that only imitates a tag the rank begins a new
line. The sample tells which ends of text (contexts) are followed by which; where it shows both or neither, the writer
of what follows is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

BEFORE = 6  # bytes of text in front of a tag that are its context
AFTER = 8  # bytes behind a tag that tell how a text begins
MOST_TURNS = 3  # a text that is taken for a tag spoils what its rank's other chunks tell
MOST = 1024  # contexts or beginnings that are kept of a kind
FALSE = 3  # votes that make a context the program's own
CHANCE = 0.1  # share of votes against a context that chance explains: the sample has gaps, and new texts come up
LIKELY_TORN = 10  # one in so many chunks is torn, at least, where any are
LIKELY = 4.0  # times as frequent behind unfinished text as at the beginning of lines
_DIGITS = re.compile(rb"\d+")
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_BEFORE_BRACKETS = frozenset(b" \t([{<,:=;|")  # what stands in front of a text's own brackets, hardly at its end
_DATES = (b"0-0-", b"0/0/", b"0:0:")
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

    def judge(self, line: bytes, begin: int, start: int, end: int, following: int) -> Tear:
        """Judge the tag line[start:end] between texts from `begin` and to `following`, where the next tag stands."""
        context = context_of(line, begin, start)
        beginning = beginning_of(line, end, following)
        is_chunk = any(beginning[:n] in self.begins for n in (None, 4, 3))  # two short chunks come as one, too
        is_glued = line[start - 1] not in _BEFORE_BRACKETS and not line[start : start + 1].isdigit()  # node3: is a word
        if is_chunk and (is_glued or context in self.real):
            return Tear.REAL  # no text has its own bracket directly behind a word and goes on like a line
        if context in self.text:
            return Tear.DOUBTFUL if is_chunk else Tear.TEXT
        if context in self.mixed or context in self.real:
            return Tear.DOUBTFUL
        if is_chunk:
            return Tear.REAL if self.real else Tear.DOUBTFUL
        return Tear.DOUBTFUL if is_glued and self.real else Tear.TEXT

    def judge_all(self, tag: re.Pattern[bytes], ids: Collection[bytes], lines: Iterable[bytes]) -> Iterator[Tear]:
        """Judge every tag in mid-line that is not the rank's own."""
        for line in lines:
            owner, begin = b"", 0
            for match, following in tags_in(tag, line):
                other = match[match.lastindex or 0]
                if begin and other in ids and other != owner:
                    yield self.judge(line, begin, match.start(), match.end(), following)
                owner, begin = other, match.end()

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


def beginning_of(line: bytes, at: int, end: int) -> bytes:
    """Return how a chunk line[at:end] begins; all states of bars begin alike."""
    if line[at : at + 1] == b"\r":
        return b"\r"
    return _DIGITS.sub(b"0", line[at : min(at + AFTER, end)])[:5] or _END


def learn_tears(tag: re.Pattern[bytes], ids: Collection[bytes], lines: Sequence[bytes]) -> Tears:
    """Follow each rank's chunks through neighbouring lines, and again without what turned out to be text.

    `tag` has one group: the id. A context that is never followed by what begins a line somewhere is a text's own.
    """
    rows = [chunks for line in lines if (chunks := _chunks(tag, ids, line))]
    starts = Counter(chunks[0].beginning for chunks in rows)
    begins = frozenset(text for text, _ in starts.most_common(MOST) if _tells(text))
    opens = {chunk.context for chunks in rows for chunk in chunks[1:] if chunk.beginning in begins}
    text = frozenset(chunk.context for chunks in rows for chunk in chunks[1:]) - opens
    for _ in range(MOST_TURNS):
        tears = _followed(rows, text)
        if tears.text <= text:
            break
        text |= tears.text
    return tears._replace(text=text, begins=begins)


def _tells(beginning: bytes) -> bool:
    """Say whether a beginning is no mere number or indentation; a date is none."""
    text = beginning.lstrip()
    is_number = text[:1].isdigit() and not text.startswith(_DATES) and not any(chr(byte).isalpha() for byte in text)
    return beginning == b"\r" or bool(text and not is_number)


def _followed(rows: Sequence[Sequence[Chunk]], text: frozenset[bytes]) -> Tears:
    """Follow the chunks; no tag behind a context of `text` counts."""
    whole: Counter[bytes] = Counter()  # how chunks begin behind a finished line
    torn: list[tuple[bytes, bytes]] = []  # context, and how the rank's next chunk begins
    last: dict[bytes, bytes | None] = {}  # id → context of its unfinished text; None: its line is finished
    for chunks in rows:
        kept = [chunk for k, chunk in enumerate(chunks) if not k or chunk.context not in text]
        for k, (_, owner, beginning) in enumerate(kept):
            context = last.pop(owner, b"")
            if context is None:
                whole[beginning] += 1
            elif context:
                torn.append((context, beginning))
            if k + 1 < len(kept):
                last[owner] = kept[k + 1].context
            elif not k:
                last[owner] = None  # else it ends a line that text may have split: nothing is known
    return _judged(whole, torn)


def tags_in(tag: re.Pattern[bytes], line: bytes) -> Iterator[tuple[re.Match[bytes], int]]:
    """Yield the tags of a line, each with where its text ends; one that stands directly behind it is its text."""
    following = len(line)
    found: list[tuple[re.Match[bytes], int]] = []
    ends = len(line)
    for match in reversed([*tag.finditer(line)]):
        if match.end() != following:
            ends = following
        found.append((match, ends))
        following = match.start()
    return reversed(found)


def _chunks(tag: re.Pattern[bytes], ids: Collection[bytes], line: bytes) -> list[Chunk]:
    """Return the chunks of a line that begins with a tag; a tag behind a tag is text."""
    if tag.match(line) is None:
        return []
    out: list[Chunk] = []
    behind, begin = -1, 0
    for match, following in tags_in(tag, line):
        owner = match[match.lastindex or 0]
        if match.start() != behind and owner in ids:
            beginning = beginning_of(line, match.end(), following)
            out.append(Chunk(context_of(line, begin, match.start()), owner, beginning))
            begin = match.end()
        behind = match.end()
    return out


def _judged(whole: Counter[bytes], torn: Sequence[tuple[bytes, bytes]]) -> Tears:
    """Sort contexts by what follows them."""
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
    real_at, text_at, mixed_at = (frozenset(sorted(texts)[:MOST]) for texts in (sure, own, mixed))
    return Tears(real_at, text_at, mixed_at)
