"""Formats of the user's own: `[[format]]` tables of the config file and the entry point group l4tui.formats.

A user's regex must not be able to hang a reader, and Python cannot interrupt one. Three bounds hold it: a repeat
inside a repeat is refused, it sees at most REACH bytes, and before it is used it has to pass a trial on hostile texts
made from its samples, in a helper process that is ended at a deadline.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from l4tui.engine.formats.registry import Format, FormatError, build, built_in, check
from l4tui.engine.formats.shape import has_nested_repeat

REACH = 1024  # bytes of a line that an own format sees
SLOWEST = 0.02  # seconds that one match may take in the trial
DEADLINE = 1.5  # seconds for the whole trial of one format
GROUP = "l4tui.formats"

_TRIAL = """
import json, re, sys, time
job = json.load(sys.stdin)
regex = re.compile(job["pattern"].encode("latin-1"))
for text in job["texts"]:
    text = text.encode("latin-1")
    began = time.perf_counter()
    regex.match(text)
    regex.search(text)
    if time.perf_counter() - began > job["slowest"]:
        sys.exit(3)
"""


class Own(NamedTuple):
    """What could be used, and one line for each that could not."""

    formats: tuple[Format, ...]
    warnings: tuple[str, ...]


def formats_from_config(tables: Iterable[Mapping[str, object]]) -> Own:
    """Build `[[format]]` tables; a broken one is left out with a warning that names it."""
    return _collect((str(table.get("name", "?")), table) for table in tables)


def formats_from_plugins() -> Own:
    """Load every entry point of the group: each is a table, or a list of tables, in the schema of [[format]]."""
    from importlib.metadata import entry_points  # 20 ms

    named: list[tuple[str, Mapping[str, object]]] = []
    warnings: list[str] = []
    for point in entry_points(group=GROUP):
        try:
            offered = point.load()
            tables = [offered] if isinstance(offered, Mapping) else list(offered)
        except Exception as error:  # somebody else's code: whatever it raises must not stop us
            warnings.append(f"format plug-in {point.name!r}: {type(error).__name__}: {error}")
            continue
        named += [(f"{point.name}: {table.get('name', '?')}", table) for table in tables if isinstance(table, Mapping)]
    own = _collect(named)
    return Own(own.formats, (*warnings, *own.warnings))


def _collect(named: Iterable[tuple[str, Mapping[str, object]]]) -> Own:
    taken = {fmt.name for fmt in built_in()}
    formats: list[Format] = []
    warnings: list[str] = []
    for name, table in named:
        try:
            fmt = replace(build(table), reach=REACH)
            problem = _problem(fmt, taken)
        except FormatError as error:
            problem = str(error)
        if problem:
            warnings.append(f"format {name!r} left out: {problem}")
            continue
        taken.add(fmt.name)
        formats.append(fmt)
    return Own(tuple(formats), tuple(warnings))


def _problem(fmt: Format, taken: set[str]) -> str:
    if fmt.name in taken:
        return "another format has this name"
    if has_nested_repeat(fmt.regex):
        return "an unbounded repeat inside another one can take for ever; bound the inner one, as in {1,40}"
    if wrong := check(fmt):
        return wrong[0]
    return "" if passes_trial(fmt) else f"its pattern takes longer than {SLOWEST * 1000:.0f} ms on hostile text"


def hostile_texts(samples: Sequence[bytes]) -> list[bytes]:
    """Return texts of REACH bytes that make a careless pattern go back and forth."""
    texts: list[bytes] = []
    for sample in samples or (b"rank 0: text",):
        texts.append((sample * REACH)[:REACH])
        texts.append(((sample[:-1] + b"\x01") * REACH)[:REACH])
        for byte in sorted(set(sample[:80])):
            pad = bytes((byte,)) * REACH
            texts += [pad, (sample[: len(sample) // 2] + pad)[: REACH - 1] + b"\x01"]
    return texts[:400]


def passes_trial(fmt: Format) -> bool:
    """Say whether a format's pattern stays fast on hostile texts."""
    return is_fast(fmt.regex.pattern, [sample.line for sample in fmt.samples])


def is_fast(pattern: bytes, samples: Sequence[bytes]) -> bool:
    """Say whether a pattern stays fast on hostile texts; runs it in a process of its own with a deadline."""
    import subprocess  # 10 ms

    job = {
        "pattern": pattern.decode("latin-1"),
        "texts": [text.decode("latin-1") for text in hostile_texts(samples)],
        "slowest": SLOWEST,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _TRIAL],
            input=json.dumps(job).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=DEADLINE,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return False
    return done.returncode == 0
