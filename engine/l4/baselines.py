"""Named baselines: profiles of healthy jobs as plain JSON, one file a name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from l4tui.engine.l4.crossjob import EventCount, Profile

SCHEMA = "l4tui.baseline/1"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")  # a file name of its own, never a path


class BaselineError(ValueError):
    """A baseline that cannot be named, read or written; the message says which and why."""


def directory() -> Path:
    """Return where baselines are kept: $XDG_DATA_HOME/l4tui/baselines, else ~/.local/share/l4tui/baselines."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "l4tui" / "baselines"


def path_of(name: str, folder: Path | None = None) -> Path:
    """Return the file of a baseline; raise BaselineError where the name is none."""
    if not NAME.fullmatch(name):
        raise BaselineError(f"{name!r} is no name for a baseline: letters, digits, dot, dash and underscore")
    return (folder or directory()) / f"{name}.json"


def names(folder: Path | None = None) -> list[str]:
    """Return the names of the baselines that are kept."""
    where = folder or directory()
    return sorted(p.stem for p in where.glob("*.json")) if where.is_dir() else []


def load(name: str, folder: Path | None = None) -> tuple[Profile, ...]:
    """Read a baseline; raise BaselineError where there is none or the file is damaged."""
    path = path_of(name, folder)
    try:
        table = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BaselineError(f"no baseline {name!r}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise BaselineError(f"{path}: {error}") from None
    try:
        if table["schema"] != SCHEMA:
            raise BaselineError(f"{path}: schema {table['schema']!r}, not {SCHEMA!r}")
        return tuple(_profile(job) for job in table["jobs"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BaselineError(f"{path}: damaged ({type(error).__name__}: {error})") from None


def save(name: str, profiles: Iterable[Profile], folder: Path | None = None) -> Path:
    """Write a baseline in one step; raise BaselineError where that fails."""
    path = path_of(name, folder)
    table = {"schema": SCHEMA, "name": name, "jobs": [_table(p) for p in profiles]}
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(table, ensure_ascii=False, indent=1) + "\n", "utf-8", "replace")
        part.replace(path)
    except OSError as error:
        raise BaselineError(f"{path}: {error}") from None
    return path


def add(name: str, profiles: Iterable[Profile], folder: Path | None = None) -> tuple[Profile, ...]:
    """Add jobs to a baseline; a job of a name that it has replaces the old one. Return all its jobs."""
    old = load(name, folder) if path_of(name, folder).exists() else ()
    jobs = {p.name: p for p in (*old, *profiles)}
    save(name, jobs.values(), folder)
    return tuple(jobs.values())


def remove(name: str, folder: Path | None = None) -> None:
    """Delete a baseline; raise BaselineError where there is none."""
    try:
        path_of(name, folder).unlink()
    except FileNotFoundError:
        raise BaselineError(f"no baseline {name!r}") from None
    except OSError as error:
        raise BaselineError(str(error)) from None


def _table(profile: Profile) -> dict[str, object]:
    return {**profile._asdict(), "events": [e._asdict() for e in profile.events]}


def _profile(job: dict[str, object]) -> Profile:
    events = job["events"]
    if not isinstance(events, list):
        raise TypeError("events is no list")
    return Profile(
        name=str(job["name"]),
        ranks=max(1, _whole(job["ranks"])),
        iterations=max(1, _whole(job["iterations"])),
        lines=_whole(job["lines"]),
        events=tuple(_event(e) for e in events),
    )


def _event(e: dict[str, object]) -> EventCount:
    rate = e["rate"]
    if not isinstance(rate, int | float):
        raise TypeError("rate is no number")
    return EventCount(str(e["template"]), _whole(e["level"]), _whole(e["lines"]), _whole(e["peak"]), float(rate))


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value
