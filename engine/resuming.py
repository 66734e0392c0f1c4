"""A job's kept index: loading it into the job, and keeping what a reading found."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from l4tui.engine.cache import IndexCache, file_row, is_keepable, matches, options_mark
from l4tui.engine.cachefile import Contents
from l4tui.engine.identity import Ranks
from l4tui.engine.keeping import Unusable, dialect_of, dialect_row, restore, state_of
from l4tui.engine.layout import Contradiction
from l4tui.engine.sources import SourceError

if TYPE_CHECKING:
    from l4tui.engine.job import Job
    from l4tui.engine.options import Options

_BROKEN = (Unusable, KeyError, IndexError, TypeError, ValueError, AttributeError)


def options_of(options: Options) -> str:
    """Return the mark of what a person told that changes an index."""
    told = options.map_file.read_bytes() if options.map_file is not None else b""
    formats = [(f.name, f.layer, f.regex.pattern, f.weak, f.order) for f in options.formats]
    return options_mark([options.ranks_per_node, options.world_size, told, options.utc_offset_s, formats])


def take_up(job: Job, cache: IndexCache) -> bool:
    """Load the job's kept index if it still fits; the job is then as if it had read so far."""
    sources = job.sources
    if not is_keepable(sources):
        return False
    contents = cache.load(sources, options_of(job.options))
    if contents is None:
        return False
    try:
        return _take_up(job, contents)
    except _BROKEN:
        return False


def _take_up(job: Job, contents: Contents) -> bool:
    table: dict[str, Any] = contents.table
    by_identity = {reader.source.identity: reader for reader in job.readers}
    old = []
    for row in table["readers"]:
        reader = by_identity.get((row["file"][0], row["file"][1]))
        if reader is None or not matches(reader.source, row["file"]) or reader.source.name != _name(row):
            return False
        old.append(reader)
    place = {row["index"]: reader.source.index for row, reader in zip(table["readers"], old, strict=True)}
    if any(a != b for a, b in place.items()):
        _renumber(contents, place)
    restore(job.store, job.merger, table, contents.arrays)
    for row, reader in zip(table["readers"], old, strict=True):
        reader.at, reader.inside = row["file"][2], row["inside"]
        reader.judged, reader.is_settled = row["judged"], row["settled"]
        reader.dialect = dialect_of(row["dialect"])
    if len(old) == len(job.readers):
        job.resume(_ranks(table["ranks"], contents.arrays))
    return True


def _name(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row["name"])


def _renumber(contents: Contents, place: dict[int, int]) -> None:
    """Give sources the places they have now: files have been added in front of them."""
    table: dict[str, Any] = contents.table
    of = np.zeros(max(place) + 1, np.int64)
    of[list(place)] = list(place.values())
    contents.arrays["block.source"] = of[contents.arrays["block.source"]]
    for speaker in table["speakers"]:
        speaker[0] = place[speaker[0]]
    for carry in table["sources"]:
        carry[0] = place[carry[0]]
        if carry[6]:
            carry[6][0] = place[carry[6][0]]
    table["stages"][1] = [[place[source], *rest] for source, *rest in table["stages"][1]]


def keep(job: Job, cache: IndexCache) -> str:
    """Keep what the job has read; return in words why it is not kept, "" if it is or need not be."""
    sources = job.sources
    if not is_keepable(sources) or job.problems or job.store.notes:
        return ""
    try:
        table, arrays = state_of(job.store, job.merger)
        table["readers"] = [
            {
                "index": reader.source.index, "file": file_row(reader.source, reader.at), "inside": reader.inside,
                "judged": reader.judged, "settled": reader.is_settled, "dialect": dialect_row(reader.dialect),
                "name": list(reader.source.name),
            }
            for reader in job.readers
        ]  # fmt: skip
    except SourceError as error:
        return f"the index is not kept: {error}"
    table["ranks"] = _ranks_row(job.resolved(), arrays)
    return cache.store(sources, options_of(job.options), table, arrays)


def _ranks_row(ranks: Ranks, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for one in fields(ranks):
        value = getattr(ranks, one.name)
        if isinstance(value, np.ndarray):
            arrays[f"ranks.{one.name}"] = value
        else:
            row[one.name] = value
    return row


def _ranks(row: dict[str, Any], arrays: dict[str, np.ndarray]) -> Ranks:
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
    values["contradictions"] = tuple(Contradiction(*one) for one in values["contradictions"])
    values |= {name[6:]: array for name, array in arrays.items() if name.startswith("ranks.")}
    return Ranks(**values)
