"""Series rules of the user's own: `[[series]]` tables of the config file, a regex with named groups each.

    [[series]]
    pattern = '''card (?P<card>\\d+) fan (?P<fan>[\\d.]+)'''
    name = "card {card} {value}"  # {value}: the group's name, and the default; groups named here are no values
    units = {fan = "%"}
    samples = [{line = "card 3 fan 41.5", values = {"card 3 fan" = "41.5"}}]

The same bounds hold as for own formats: no repeat inside a repeat, a limited reach, a trial on hostile texts.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.formats.own import REACH, SLOWEST, is_fast
from l4tui.engine.formats.shape import exact_literal, has_nested_repeat


class RuleError(ValueError):
    """A rule that cannot be used, and why."""


class Rule(NamedTuple):
    """A pattern whose groups are values."""

    regex: re.Pattern[bytes]
    name: str  # format string
    units: Mapping[str, str]
    values: tuple[str, ...]  # groups that are values
    literal: bytes  # stands in every match; empty: nothing is known

    def candidates(self, data: bytes, begin: NDArray[np.int64]) -> Iterator[int]:
        """Yield the lines (rows of `begin`) of a block that may match, ascending."""
        if not self.literal:
            yield from range(len(begin))
            return
        at = data.find(self.literal)
        while at >= 0:
            row = int(np.searchsorted(begin, at, "right")) - 1
            yield row
            if row + 1 >= len(begin):
                return
            at = data.find(self.literal, int(begin[row + 1]))

    def read(self, line: bytes) -> Iterator[tuple[str, str, str]]:
        """Yield key, unit and value text of every match in a line."""
        for match in self.regex.finditer(line[:REACH]):
            groups = {key: (token or b"").decode("latin-1") for key, token in match.groupdict().items()}
            for group in self.values:
                if groups[group]:
                    yield self.name.format_map(groups | {"value": group}), self.units.get(group, ""), groups[group]


class Rules(NamedTuple):
    """What could be used, and one line for each that could not."""

    rules: tuple[Rule, ...]
    warnings: tuple[str, ...]


def rules_from_config(tables: Iterable[Mapping[str, object]]) -> Rules:
    """Build `[[series]]` tables; a broken one is left out with a warning that tells its pattern."""
    rules: list[Rule] = []
    warnings: list[str] = []
    for table in tables:
        try:
            rules.append(_build(table))
        except RuleError as error:
            warnings.append(f"series {str(table.get('pattern', '?'))[:60]!r} left out: {error}")
    return Rules(tuple(rules), tuple(warnings))


def _build(table: Mapping[str, object]) -> Rule:
    if unknown := sorted(set(table) - {"pattern", "name", "units", "samples"}):
        raise RuleError(f"unknown key {unknown[0]!r} (known: pattern, name, units, samples)")
    pattern, name, units = table.get("pattern"), table.get("name", "{value}"), table.get("units", {})
    if not isinstance(pattern, str) or not isinstance(name, str) or not isinstance(units, Mapping):
        raise RuleError("pattern and name are strings, units a table")
    try:
        regex = re.compile(pattern.encode())
        named = {field for _, field, _, _ in string.Formatter().parse(name) if field is not None}
    except (re.error, ValueError) as error:
        raise RuleError(str(error)) from None
    if bad := sorted(named - set(regex.groupindex) - {"value"}):
        raise RuleError(f"name speaks of {{{bad[0]}}}, which is no group of the pattern")
    values = tuple(group for group in regex.groupindex if group not in named)
    if not values:
        raise RuleError("no named group is left for the value")
    if has_nested_repeat(regex):
        raise RuleError("an unbounded repeat inside another one can take for ever; bound the inner one, as in {1,40}")
    rule = Rule(regex, name, {str(k): str(v) for k, v in units.items()}, values, exact_literal(regex))
    samples = _check(rule, table.get("samples", ()))
    if not is_fast(regex.pattern, samples):
        raise RuleError(f"its pattern takes longer than {SLOWEST * 1000:.0f} ms on hostile text")
    return rule


def _check(rule: Rule, samples: object) -> list[bytes]:
    lines = []
    for sample in samples if isinstance(samples, list) else ():
        line, values = (sample.get("line"), sample.get("values")) if isinstance(sample, Mapping) else (None, None)
        if not isinstance(line, str) or not isinstance(values, Mapping):
            raise RuleError("samples are tables of line and values")
        read = {key: value for key, _, value in rule.read(line.encode())}
        if read != dict(values):
            raise RuleError(f"sample {line!r} gives {read}, not {dict(values)}")
        lines.append(line.encode())
    return lines
