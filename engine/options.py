"""What a person tells of a job, and how it is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from l4tui.engine.cache import IndexCache
from l4tui.engine.formats import Format


@dataclass(frozen=True, slots=True)
class Options:
    """What a person knows and the text may not tell."""

    ranks_per_node: int = 0
    world_size: int = 0
    map_file: Path | None = None
    utc_offset_s: int = 0  # of clocks that name no zone
    formats: tuple[Format, ...] = ()
    jobs: int = 1  # processes that map; with one the caller's thread does
    dask: str = ""  # address of a scheduler whose workers map instead
    cache: IndexCache | None = None  # where finished indexes are kept
    max_mem: int = 0  # bytes of columns in memory; 0: half of the machine's
    beside: tuple[str, ...] = ()  # files that are no logs and may hold hardware telemetry
    tail_first: bool = False  # show the end of a large job before the rest is read
