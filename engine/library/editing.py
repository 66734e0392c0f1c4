"""Keep a person's library: add, test, export and import entries; data only, never code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from l4tui.engine.children import spawning
from l4tui.engine.library.loading import USER_FILE, load, read_patterns, user_directory
from l4tui.engine.library.pattern import LONGEST_TEXT, Pattern, PatternError

SECONDS = 2.0  # a pattern that takes longer over its samples and over hostile lines is refused
_TEXT_FIELDS = ("meaning", "severity", "cause", "stage", "reference")


class Check(NamedTuple):
    """What a test of one entry found."""

    id: str
    problems: tuple[str, ...]


def check(pattern: Pattern, lines: Sequence[str] = ()) -> Check:
    """Test an entry: its samples match, its counter-samples do not, its keys hold, and it is fast enough.

    Runs in a process of its own, which is ended after `SECONDS`.
    """
    context = spawning()
    ours, theirs = context.Pipe(duplex=False)
    job = (pattern.regex.pattern, pattern.samples, pattern.rejects, (*lines, *hostile(pattern.regex.pattern)))
    worker = context.Process(target=_run, args=(theirs, job), daemon=True)
    worker.start()
    theirs.close()
    try:
        problems = ours.recv() if ours.poll(SECONDS + _START) else ("takes too long",)
    except EOFError:
        problems = ("could not be tested",)
    worker.kill()
    worker.join()
    return Check(pattern.id, tuple(problems))


_START = 5.0  # seconds a fresh interpreter may need on a busy machine


def hostile(pattern: str) -> list[str]:
    """Return long lines made of the pattern's own letters, on which a bad regex takes for ever."""
    letters = [c for c in dict.fromkeys(pattern) if c.isalnum() or c in " ._-"] or ["a"]
    words = [c * LONGEST_TEXT for c in letters[:8]]
    return [*words, "".join(letters) * (LONGEST_TEXT // len(letters)), ("a1 " * LONGEST_TEXT)[:LONGEST_TEXT] + "!"]


def _run(pipe: object, job: tuple[str, Sequence[str], Sequence[str], Sequence[str]]) -> None:
    text, samples, rejects, lines = job
    regex = re.compile(text)
    problems = [f"does not match its sample {s!r}" for s in samples if not regex.search(s[:LONGEST_TEXT])]
    problems += [f"matches {s!r}" for s in rejects if regex.search(s[:LONGEST_TEXT])]
    for line in lines:
        regex.search(line[:LONGEST_TEXT])
    send = getattr(pipe, "send")  # noqa: B009 - a Connection, whose class is private
    send(tuple(problems))


def add(pattern: Pattern, directory: Path | None = None) -> None:
    """Append an entry to the person's library, or replace the one of its id; raise PatternError if its test fails."""
    merge([pattern], directory)


def merge(patterns: Iterable[Pattern], directory: Path | None = None) -> list[str]:
    """Import entries into the person's library and return their ids; none is taken if one fails its test."""
    incoming = list(patterns)
    for pattern in incoming:
        if problems := check(pattern).problems:
            raise PatternError(f"{pattern.id}: {problems[0]}")
    folder = directory or user_directory()
    kept = {p.id: p for p in load(folder).patterns if p.user} | {p.id: p for p in incoming}
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / USER_FILE
    draft = target.with_suffix(".tmp")
    draft.write_text(dump(kept.values()), "utf-8")
    draft.replace(target)
    return [p.id for p in incoming]


def import_file(path: Path, directory: Path | None = None) -> list[str]:
    """Import a library file; raise PatternError for a broken entry."""
    found = []
    for entry in read_patterns(path.read_text("utf-8"), user=True):
        if isinstance(entry, PatternError):
            raise entry
        found.append(entry)
    return merge(found, directory)


def dump(patterns: Iterable[Pattern]) -> str:
    """Write entries as TOML that `read_patterns` reads back."""
    return "\n".join(_table(p) for p in patterns)


def _table(p: Pattern) -> str:
    lines = ["[[pattern]]", f"id = {_quote(p.id)}", f"pattern = {_quote(p.regex.pattern)}"]
    lines += [f"role = {_quote(str(p.role))}", f"blames = {_quote(str(p.blames))}"]
    lines += [f"{name} = {_quote(getattr(p, name))}" for name in _TEXT_FIELDS if getattr(p, name)]
    lines += [f'certainty = "{"strong" if p.strong else "weak"}"', f"order = {p.order}"]
    lines += ['kind = "hardware"'] if p.hardware else []
    lines += [f"{name} = true" for name in ("once", "secondhand", "lasting") if getattr(p, name)]
    lists = {"keys": p.keys, "explains": p.explains, "actions": p.actions, "samples": p.samples, "not": p.rejects}
    lines += [f"{name} = [{', '.join(map(_quote, values))}]" for name, values in lists.items() if values]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """Write a TOML basic string."""
    out = "".join(
        _ESCAPES.get(c, c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 65536 else "?") for c in text
    )
    return f'"{out}"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
