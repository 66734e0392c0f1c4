"""What of a job could not be read or kept, in words for a person: nothing is missing without being told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from l4tui.engine.sources import Source


def troubles_of(sources: Iterable[Source], others: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each trouble, lost lines first; `others` are what is known beyond the sources."""
    # a plain file has none of its own, and there may be thousands each time the screen asks
    fed = (source for source in sources if source.feed is not None)
    said = dict.fromkeys(words for source in fed for words in _of_source(source))
    said.update(dict.fromkeys(words for words in others if words))
    return tuple(said)


def _of_source(source: Source) -> Iterator[str]:
    if source.dropped_lines:
        why = source.problem or "no room"
        yield f"{source.path}: {source.dropped_lines:,} lines dropped, from line {source.kept_lines + 1:,} on: {why}"
    elif source.problem:
        yield f"{source.path}: {source.problem}"
