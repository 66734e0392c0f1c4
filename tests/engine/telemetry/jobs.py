"""Small jobs for tests: text in files, read whole."""

from __future__ import annotations

from pathlib import Path

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.snapshot import Snapshot


def job_of(folder: Path, **files: str | bytes) -> Job:
    """Write files (name without .log) and open them as one job, read to the end."""
    for name, text in files.items():
        (folder / f"{name}.log").write_bytes(text.encode() if isinstance(text, str) else text)
    found = discover([str(folder / f"{name}.log") for name in files])
    job = Job(found.whole().sources)
    job.read_all()
    return job


def snap_of(folder: Path, text: str | bytes) -> Snapshot:
    """Read one file and return its snapshot."""
    return job_of(folder, job=text).snapshot()
