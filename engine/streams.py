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

from l4tui.engine.model import SourceName, Speaker
from l4tui.engine.seats import Shown

_NUMBER = re.compile(r"(?<![a-z0-9])[0-9a-f]{8,}(?![a-z0-9])|\d+")  # or a worker's random id


class Stream(NamedTuple):
    """What tells one text from others where no launcher numbers its writers."""

    where: int | str  # the source, or the group that it belongs to
    node: str | None
    actor: str | None


class Kind(NamedTuple):
    """What tells files of one kind from others."""

    path: str
    is_node: bool  # its name is a node's


_UNKNOWN = Kind("", False)


def stream_of(speaker: Speaker, who: Shown) -> Stream | None:
    """Return the stream that a speaker's lines stand in; None where a launcher's number or a local rank parts them."""
    if who.number >= 0 or who.local >= 0:
        return None
    return Stream(speaker.source if who.name.group is None else who.name.group, who.node, speaker.actor)


def kind_of(name: SourceName, path: PurePath | None) -> Kind:
    """Return what paths have in common that differ in numbers alone."""
    return Kind("" if path is None else _NUMBER.sub("0", path.as_posix()), name.node is not None)


def ranks_of_streams(
    told: Mapping[Stream, set[int]], kinds: Mapping[int | str, Kind], world: int, per_node: int
) -> dict[Stream | None, int]:
    """Return the rank of each stream where that is proven.

    Args:
        told: the ranks that lines of each stream say they are of.
        kinds: of files, by what `Stream.where` calls them.
        world: how many ranks the job has; it may be that lines count nodes, where a node has several ranks.
        per_node: of a node, 1 where nothing tells of more.
    """
    if world < 2 or len(told) < world or world % per_node:
        return {}
    alike: dict[tuple[int | str, bool], dict[Stream, int]] = defaultdict(dict)
    for stream, ranks in told.items():
        is_named = stream.node is not None or stream.actor is not None
        kind = kinds.get(stream.where, _UNKNOWN)
        is_node = stream.node is not None or (not is_named and kind.is_node)
        if len(ranks) == 1 and not (is_node and per_node > 1):
            alike[stream.where if is_named else kind.path, is_named][stream] = next(iter(ranks))
    for found in alike.values():
        if len(found) == world and set(found.values()) == set(range(world)):
            return {stream: rank for stream, rank in found.items()}  # noqa: C416 - keys of a wider type
    return {}
