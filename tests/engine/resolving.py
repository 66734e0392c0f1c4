"""Small jobs of speakers and facts, resolved at once."""

from __future__ import annotations

from l4tui.engine.facts import read
from l4tui.engine.identity import Identity, Ranks
from l4tui.engine.model import SourceName, Speaker

Line = tuple[Speaker, str]


def resolve(lines: list[Line], names: list[SourceName] | None = None, **told: int) -> tuple[list[int], Ranks]:
    """Return the rank of each line's speaker after all lines have been read."""
    identity = Identity(**told)
    for i, name in enumerate(names or [SourceName()]):
        identity.add_source(i, name)
    table = list(dict.fromkeys(speaker for speaker, _ in lines))
    for speaker, text in lines:
        identity.learn(read(text.encode(), speaker))
    ranks = identity.resolve(table)
    row = {speaker: i for i, speaker in enumerate(table)}
    return [int(ranks.rank[row[speaker]]) for speaker, _ in lines], ranks


def tag(local: int, source: int = 0, **more: int | str) -> Speaker:
    return Speaker(source, local_rank=local, **more)  # type: ignore[arg-type]
