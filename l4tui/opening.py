"""From paths and settings to jobs that have been read: what every command without a screen begins with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from l4tui.config import Config
from l4tui.engine.cache import IndexCache, default_folder
from l4tui.engine.descriptors import SourceError
from l4tui.engine.discovery import Found, discover
from l4tui.engine.job import Job, Options
from l4tui.engine.model import NO_TIME
from l4tui.engine.moments import parse_moment, utc_offset
from l4tui.engine.parallel import cores
from l4tui.engine.rankset import RankSet
from l4tui.engine.sniff import Content
from l4tui.exits import UsageError
from l4tui.inputs import check_paths

if TYPE_CHECKING:
    from l4tui.engine.formats import Format
    from l4tui.engine.snapshot import Snapshot
    from l4tui.engine.telemetry.rules import Rule

SHOWN = 3  # files named in a message


def find(paths: Sequence[str], stdin: int = 0) -> Found:
    """Find the logs in paths that have been checked; raise UsageError where there are none."""
    try:
        return discover(paths, stdin=stdin)
    except SourceError as error:
        raise UsageError(str(error)) from None


def open_jobs(paths: Sequence[str], config: Config) -> Iterator[tuple[str, Job]]:
    """Yield each job that the paths hold by name, nothing of it read yet; say on stderr when there are several.

    A job lets go of what it has read when the next is asked for: one at a time is in memory.
    """
    found = find(check_paths(paths))
    for words, read_beside in (("left out, no log", False), ("read beside the log", True)):
        told = [item for item in found.left_out if item.content and (item.content is Content.MONITOR) is read_beside]
        few = ", ".join(f"{item.path} ({item.why})" for item in told[:SHOWN])
        if told:
            say(f"{words}: {few}" + (f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""))
    for words in found.unread:
        say(f"not read: {words}")
    if len(found.jobs) > 1:
        names = ", ".join(folder.name for folder in found.jobs)
        say(f"{len(found.jobs)} jobs, each read on its own: {names}")
    for number in range(len(found.jobs)):
        folder = found.choose(number)
        newest = max(source.mtime for source in folder.sources)
        job = Job(folder.sources, engine_options(config, newest, found))
        yield folder.name, job
        job.release()


def engine_options(config: Config, newest: int, found: Found) -> Options:
    """Turn settings into what the engine takes; `newest` (ns UTC) is when the logs were last written."""
    try:
        offset = utc_offset(config.tz, newest)
    except ValueError as error:
        raise UsageError(f"--tz: {error}") from None
    return Options(
        ranks_per_node=config.ranks_per_node,
        world_size=config.world_size,
        map_file=config.map,
        utc_offset_s=offset,
        beside=found.beside,
        formats=own_formats(config),
        jobs=config.jobs or cores(),
        dask=config.dask,
        max_mem=config.max_mem,
        cache=IndexCache(config.cache_dir or default_folder(), config.cache_max) if config.cache else None,
    )


def own_formats(config: Config) -> tuple[Format, ...]:
    """Return the formats of the config file and of plug-ins; one that is broken is named on stderr and left out."""
    from l4tui.engine.formats import formats_from_config, formats_from_plugins

    listed, plugged = formats_from_config(config.formats), formats_from_plugins()
    for warning in listed.warnings:
        say(f"{config.file}: {warning}")
    for warning in plugged.warnings:
        say(warning)
    return (*listed.formats, *plugged.formats)


def own_series(config: Config) -> tuple[Rule, ...]:
    """Return the series rules of the config file; one that is broken is named on stderr and left out."""
    from l4tui.engine.telemetry import rules_from_config

    found = rules_from_config(config.series)
    for warning in found.warnings:
        say(f"{config.file}: {warning}")
    return found.rules


def read(job: Job) -> Snapshot:
    """Read all there is to the end of every source and return the frozen state."""
    job.read_all(Event())
    for words in job.troubles:
        say(words)
    return job.snapshot()


def select(snap: Snapshot, config: Config) -> NDArray[np.bool_] | None:
    """Say for each entry whether --ranks, --since and --until show it; None for all.

    A line without a time of its own stands at the last time before it in its source.
    """
    if not (config.ranks or config.since or config.until):
        return None
    chosen = np.ones(snap.length, np.bool_)
    try:
        if config.ranks:
            chosen &= RankSet.parse(config.ranks).select(snap.ranks, snap.nodes)[snap.speaker]
        if config.since or config.until:
            known = snap.clock[snap.clock != NO_TIME]
            if not len(known):
                raise ValueError("--since and --until need lines with a time, and there are none")
            ends = int(known.min()), int(known.max())
            if config.since:
                chosen &= snap.clock >= parse_moment(config.since, *ends)
            if config.until:
                chosen &= (snap.clock <= parse_moment(config.until, *ends)) & (snap.clock != NO_TIME)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return chosen


def say(words: str) -> None:
    """Write one line for the person on stderr."""
    if sys.stderr is not None:
        shown = "".join(c if c.isprintable() else "�" for c in words)
        print(f"l4tui: {shown}", file=sys.stderr)
