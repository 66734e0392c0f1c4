"""Read the library that ships and the one a person keeps."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from l4tui.engine.library.pattern import Pattern, PatternError, parse_pattern

SHIPPED = ("collectives", "launch", "frameworks", "gpu", "numerics", "host", "ascend", "general")
USER_FILE = "library.toml"


@dataclass(frozen=True, slots=True)
class Library:
    """Patterns in the order in which they are tried; a person's own come first."""

    patterns: tuple[Pattern, ...]
    warnings: tuple[str, ...] = ()

    def get(self, name: str) -> Pattern | None:
        """Return the pattern of that id."""
        return next((p for p in self.patterns if p.id == name), None)


def user_directory() -> Path:
    """Return where a person's library lives: $XDG_CONFIG_HOME/l4tui, else ~/.config/l4tui."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "l4tui"


def read_patterns(text: str, *, user: bool = False) -> Iterator[Pattern | PatternError]:
    """Yield each pattern of a TOML text, or the error in its place."""
    try:
        tables = tomllib.loads(text).get("pattern", [])
    except tomllib.TOMLDecodeError as error:
        yield PatternError(str(error))
        return
    for entry in tables if isinstance(tables, list) else []:
        try:
            yield parse_pattern(entry, user=user)
        except PatternError as error:
            yield error


def load(directory: Path | None = None) -> Library:
    """Load the shipped library and, first in order, the person's own from `directory`.

    A broken entry of a person's file becomes a warning; a broken shipped one raises PatternError.
    """
    own: list[Pattern] = []
    warnings: list[str] = []
    path = (directory or user_directory()) / USER_FILE
    if path.is_file():
        for found in read_patterns(path.read_text("utf-8", "replace"), user=True):
            if isinstance(found, PatternError):
                warnings.append(f"{path}: {found}")
            else:
                own.append(found)
    shipped = [p for name in SHIPPED for p in _shipped(name)]
    ordered = sorted(shipped, key=lambda p: p.order)
    return Library(tuple(own + ordered), tuple(warnings))


def _shipped(name: str) -> Iterator[Pattern]:
    text = files("l4tui.engine.library").joinpath(f"{name}.toml").read_text("utf-8")
    for found in read_patterns(text):
        if isinstance(found, PatternError):
            raise found
        yield found
