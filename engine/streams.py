"""Streams: texts that one process each has written, as their number and what they say of themselves prove it.

A file, a pod or a named process of which a few lines tell a rank has that rank everywhere, where a job's streams are
as many as its ranks and each tells another one: no rank is left that could have written in somebody else's. They must
be of one kind (names that differ in numbers alone, or names in one source), since a console beside the files of three
ranks may hold what all of them write to their stderr.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

from l4tui.engine.model import Speaker
from l4tui.engine.seats import Shown

_NUMBER = re.compile(r"(?<![a-z0-9])[0-9a-f]{8,}(?![a-z0-9])|\d+")  # or a worker's random id


class Stream(NamedTuple):
    """What tells one text from others where no launcher numbers its writers."""

    where: int | str  # the source, or the group that it belongs to
    node: str | None
    actor: str | None


def stream_of(speaker: Speaker, who: Shown) -> Stream | None:
    """Return the stream that a speaker's lines stand in; None where a launcher's number or a local rank parts them."""
    if who.number >= 0 or who.local >= 0:
        return None
    return Stream(speaker.source if who.name.group is None else who.name.group, who.node, speaker.actor)


def kind_of(path: PurePath) -> str:
    """Return what paths have in common that differ in numbers alone."""
    return _NUMBER.sub("0", path.as_posix())


def ranks_of_streams(
    told: Mapping[Stream, set[int]], kinds: Mapping[int | str, str], world: int
) -> dict[Stream | None, int]:
    """Return the rank of each stream where that is proven.

    Args:
        told: the ranks that lines of each stream say they are of.
        kinds: of files, by what `Stream.where` calls them.
        world: how many ranks the job has.
    """
    if world < 2 or len(told) < world:
        return {}
    alike: dict[tuple[int | str, bool], dict[Stream, int]] = defaultdict(dict)
    for stream, ranks in told.items():
        if len(ranks) == 1:
            is_named = stream.node is not None or stream.actor is not None
            kind = stream.where if is_named else kinds.get(stream.where, "")
            alike[kind, is_named][stream] = next(iter(ranks))
    for found in alike.values():
        if len(found) == world and set(found.values()) == set(range(world)):
            return {stream: rank for stream, rank in found.items()}  # noqa: C416 - keys of a wider type
    return {}
