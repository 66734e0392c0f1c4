"""Format entries: TOML tables become compiled, frozen `Format` objects."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypedDict

from l4tui.engine.formats.shape import exact_literal, first_bytes, is_anchored, needed_literals, second_bytes
from l4tui.engine.model import Level, Marker

LAYERS = ("prefix", "header", "tag", "marker", "launcher", "fact", "writer")
FAMILIES = ("line", "chunk", "chunk+nl")
_IDENTITY = "mpi_job task rank local_rank self_rank own_device node pid tid actor stream group_rank attempt"
_TIME = "Y m d H M S f mon ampm epoch epoch_ms zone zone_h zone_m"
RANK_FIELDS = frozenset(("task", "rank", "local_rank", "self_rank"))
FIELDS = frozenset(f"{_IDENTITY} {_TIME} level file line func logger iter".split(" "))
KEYS = frozenset(
    ["name", "layer", "pattern", "family", "weak", "order", "samples", "not", "levels", "kind", "first", "with"]
)
HABITS = ("first", "last", "chief", "coordinator", "sign")  # kinds of writers; see writers.toml
LEVEL_WORDS = {
    **dict.fromkeys(("trace", "verbose", "v"), Level.TRACE),
    **dict.fromkeys(("debug", "d"), Level.DEBUG),
    **dict.fromkeys(("info", "i", "notice", "event"), Level.INFO),
    **dict.fromkeys(("warn", "warning", "w"), Level.WARNING),
    **dict.fromkeys(("error", "err", "e"), Level.ERROR),
    **dict.fromkeys(("fatal", "critical", "crit", "f", "c", "panic", "alert", "emerg"), Level.FATAL),
}
_PART = re.compile(r"\(\?&(\w+)\)")  # (?&name): the entry of that name in the file's [parts]
_DEEPEST = 5  # parts within parts
_SAME_FIELD = re.compile(r"__\d$")  # level__2 is another place where a pattern finds its level


class FormatError(ValueError):
    """An entry that cannot be used; the text names the entry and why."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line that an entry must read; `text` is what follows the match."""

    line: bytes
    fields: tuple[tuple[str, str], ...]
    text: bytes | None


@dataclass(frozen=True, slots=True)
class Format:
    """One entry: where it applies, its regex and the tests it carries."""

    name: str
    layer: str
    regex: re.Pattern[bytes]
    fields: tuple[tuple[str, int], ...]  # field and the number of its group
    family: str = "line"
    weak: bool = False
    order: int = 50
    levels: tuple[tuple[str, Level], ...] = ()
    marker: Marker = Marker.NONE
    own: bool = False  # a prefix: the text behind it is the launcher's own
    habit: str = ""  # a writer: which process of a job writes such lines
    beside: str = ""  # a writer: believed only in jobs where the writer of that name writes too
    samples: tuple[Sample, ...] = ()
    refusals: tuple[bytes, ...] = ()
    first: frozenset[int] | None = None  # bytes a match can begin with; None: any
    second: frozenset[int] | None = None  # bytes that can stand second in one
    key: bytes = b""  # exactly this text stands in every match
    literals: tuple[bytes, ...] = ()  # lower case; every match holds one of them in some case; (): anything
    anchored: bool = False  # a match begins at the start of the text
    reach: int = 4096  # bytes from where it is tried that it may see; own formats see less

    def narrowed(self, pattern: str) -> Format:
        """Return the same format with the regex a dialect has learnt (latin-1 text)."""
        regex = re.compile(pattern.encode("latin-1"))
        return replace(self, regex=regex, fields=_fields(regex), **_needs(regex))

    def level_of(self, text: bytes) -> Level:
        """Translate what a level group holds; NONE for an unknown word."""
        word = text.decode("latin-1").strip()
        for name, level in self.levels:
            if name == word:
                return level
        return LEVEL_WORDS.get(word.lower(), Level.NONE)


class _Needs(TypedDict):
    first: frozenset[int] | None
    second: frozenset[int] | None
    key: bytes
    literals: tuple[bytes, ...]
    anchored: bool


def _needs(regex: re.Pattern[bytes]) -> _Needs:
    """Return what tells that a regex cannot match without running it."""
    return _Needs(
        first=first_bytes(regex),
        second=second_bytes(regex),
        key=exact_literal(regex),
        literals=needed_literals(regex),
        anchored=is_anchored(regex),
    )


def _fields(regex: re.Pattern[bytes]) -> tuple[tuple[str, int], ...]:
    named = ((_SAME_FIELD.sub("", name), index) for name, index in regex.groupindex.items())
    return tuple((name, index) for name, index in named if name in FIELDS)


def _text(table: Mapping[str, object], key: str, default: str = "") -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise FormatError(f"{key} must be a string, not {type(value).__name__}")
    return value


def _samples(rows: object) -> tuple[Sample, ...]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FormatError("samples must be a list of {line, fields, text}")
    out = []
    for row in rows:
        fields = row.get("fields", {})
        if not isinstance(row.get("line"), str) or not isinstance(fields, dict):
            raise FormatError("a sample needs a line (string) and fields (table)")
        text = row.get("text")
        out.append(
            Sample(
                row["line"].encode(),
                tuple(sorted((str(k), str(v)) for k, v in fields.items())),
                None if text is None else str(text).encode(),
            )
        )
    return tuple(out)


def build(table: Mapping[str, object]) -> Format:
    """Compile one entry.

    Raises FormatError with a one-line reason for anything that the schema does not allow.
    """
    if odd := sorted(set(table) - KEYS):
        raise FormatError(f"unknown key {odd[0]!r}")
    name, layer, family = _text(table, "name"), _text(table, "layer", "prefix"), _text(table, "family", "line")
    if not name:
        raise FormatError("an entry needs a name")
    if layer not in LAYERS:
        raise FormatError(f"layer {layer!r} is none of {', '.join(LAYERS)}")
    if family not in FAMILIES:
        raise FormatError(f"family {family!r} is none of {', '.join(FAMILIES)}")
    regex = _compiled(_text(table, "pattern"))
    order, weak, refusals = table.get("order", 50), table.get("weak", False), table.get("not", [])
    if not isinstance(order, int) or not isinstance(weak, bool) or not isinstance(refusals, list):
        raise FormatError("order is a number, weak true or false, not a list of lines")
    kind = _text(table, "kind")
    if layer == "writer" and kind not in ("", *HABITS):
        raise FormatError(f"kind {kind!r} is none of {', '.join(HABITS)}")
    return Format(
        name=name,
        layer=layer,
        regex=regex,
        fields=_fields(regex),
        family=family,
        weak=weak,
        order=order,
        levels=_levels(table.get("levels", {})),
        marker={"open": Marker.OPEN, "close": Marker.CLOSE}.get(kind, Marker.NONE),
        own=kind == "launcher",
        habit=kind if layer == "writer" else "",
        beside=_text(table, "with"),
        samples=_samples(table.get("samples", [])),
        refusals=tuple(str(line).encode() for line in refusals),
        **_needs(regex),
    )


def _compiled(pattern: str) -> re.Pattern[bytes]:
    try:
        return re.compile(pattern.encode())
    except (re.error, RecursionError, OverflowError) as error:
        raise FormatError(f"pattern: {error}") from None


def _levels(table: object) -> tuple[tuple[str, Level], ...]:
    if not isinstance(table, dict):
        raise FormatError("levels must be a table")
    try:
        return tuple((str(word), Level[str(level).upper()]) for word, level in table.items())
    except KeyError as error:
        raise FormatError(f"level {error} is unknown") from None


def check(fmt: Format) -> list[str]:
    """Run an entry's own samples; return one line for each that fails.

    The fields a sample lists are compared exactly; one that tells a rank must be listed.
    """
    wrong = []
    for sample in fmt.samples:
        found = _apply(fmt, sample.line)
        if found is None:
            wrong.append(f"{fmt.name}: does not match {sample.line!r}")
            continue
        told = {name for name, _ in sample.fields}
        fields = tuple(
            sorted(
                (name, found[i].decode("utf-8", "replace"))
                for name, i in fmt.fields
                if found[i] is not None and (name in told or name in RANK_FIELDS)
            )
        )
        if fields != sample.fields:
            wrong.append(f"{fmt.name}: {sample.line!r} gives {dict(fields)}, not {dict(sample.fields)}")
        if sample.text is not None and sample.line[found.end() :] != sample.text:
            wrong.append(f"{fmt.name}: {sample.line!r} leaves {sample.line[found.end() :]!r}, not {sample.text!r}")
    wrong += [f"{fmt.name}: must not match {line!r}" for line in fmt.refusals if _apply(fmt, line)]
    return wrong


def _apply(fmt: Format, line: bytes) -> re.Match[bytes] | None:
    return fmt.regex.match(line) if fmt.layer in ("prefix", "header", "tag") else fmt.regex.search(line)


def _with_parts(table: Mapping[str, object], parts: Mapping[str, str]) -> Mapping[str, object]:
    """Replace (?&name) in a pattern by the part of that name; parts may hold parts."""
    pattern = _text(table, "pattern")
    for _ in range(_DEEPEST):
        try:
            pattern = _PART.sub(lambda found: parts[found[1]], pattern)
        except KeyError as error:
            raise FormatError(f"no part is called {error}") from None
    return {**table, "pattern": pattern}


def read_entries(text: str) -> list[Format]:
    """Build every [[format]] of a TOML text; raises FormatError naming the entry."""
    out = []
    document = tomllib.loads(text)
    for table in document.get("format", []):
        try:
            out.append(build(_with_parts(table, document.get("parts", {}))))
        except FormatError as error:
            raise FormatError(f"format {table.get('name', '?')!r}: {error}") from None
    return out


@cache
def built_in() -> tuple[Format, ...]:
    """Return the shipped formats, by layer and order; names are unique."""
    out: list[Format] = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        out += read_entries(path.read_text(encoding="utf-8"))
    names = [fmt.name for fmt in out]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FormatError(f"two formats are called {twice[0]!r}")
    return tuple(in_order(out))


def in_order(formats: Iterable[Format]) -> Sequence[Format]:
    """Sort by layer, then order, then name."""
    return sorted(formats, key=lambda fmt: (LAYERS.index(fmt.layer), fmt.order, fmt.name))
