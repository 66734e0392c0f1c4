"""Weak tags (R0:, Rank 3:) are read as identity only where a source begins its messages so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from l4tui.engine.formats.candidates import Candidates
from l4tui.engine.formats.labels import Hints, Hits, is_somebodys
from l4tui.engine.formats.registry import Format, built_in

TAG = "tag"  # key of Dialect.rest
SHARE = 0.3  # of the lines: a table of ranks that one rank prints stays below it
FEWEST = 10
READ = 200  # bytes in front of which a tag can stand: prefix, header


def accepted_tags(texts: Sequence[bytes]) -> tuple[tuple[str, str], ...]:
    """Return (TAG, name) for each weak tag that many of the sampled lines carry behind their header."""
    lines = [text for text in texts if text.strip()]
    least = max(FEWEST, SHARE * len(lines))
    hits = Counter(fmt.name for _, text, tags in _weak_tags().among(lines) for fmt in tags if _carries(fmt, text))
    good = [fmt for fmt in built_in() if hits[fmt.name] >= least]
    return tuple((TAG, fmt.name) for fmt in good if not _is_somebodys(fmt, lines))


def _is_somebodys(fmt: Format, lines: Sequence[bytes]) -> bool:
    """Say whether the ranks are those of results: one thing is said of each."""
    found = [match for text in lines if _carries(fmt, text) and (match := fmt.regex.search(text, 0, READ))]
    groups = [index for field, index in fmt.fields if field == "self_rank"]
    ids = [int(next((match[group] for group in groups if match[group]), b"0")) for match in found]
    return is_somebodys(Hits([], found, len(lines)), ids, Hints())


@cache
def _weak_tags() -> Candidates:
    return Candidates([fmt for fmt in built_in() if fmt.layer == "tag" and fmt.weak], _carries)


def _carries(fmt: Format, text: bytes) -> bool:
    found = fmt.regex.search(text, 0, READ)
    return found is not None and (found.start() == 0 or text[found.start() - 1 : found.start()] in b" ]-|:")
