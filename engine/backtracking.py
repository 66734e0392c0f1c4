"""Patterns that could take for ever: repeats whose parts can divide the same text among themselves in many ways.

The regex engine tries all of them before it gives up, holds the interpreter meanwhile and cannot be told to stop. A
repeat is ambiguous where its body, having matched, may go on with a character that could as well begin the next
round: ``(a+)+``, ``(\\w+\\s*)*``, but not ``(\\d+\\.)+``. It matters only where something behind it can fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

MANY = 12  # rounds from which 2 to their power is felt
_LAST = 255  # stands for all characters from here on
_EVERY = (1 << _LAST + 1) - 1
_CLASSES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}


class _Part(NamedTuple):
    """What is known of a part; sets of characters are bits."""

    first: int = 0  # characters it may begin with
    more: int = 0  # with which it may go on where it could also end
    can_be_empty: bool = True
    is_split: bool = False  # it has alternatives that may match the same
    is_endless: bool = False  # such a repeat is in it, and something behind it


def is_endless(pattern: str) -> bool:
    """Say whether a valid pattern may need exponential time on some text."""
    tree = import_module("re._parser").parse(pattern)
    return _sequence(list(tree), bool(tree.state.flags & re.IGNORECASE), followed=False).is_endless


def _sequence(items: Sequence[Any], fold: bool, *, followed: bool) -> _Part:
    out = _Part()
    for operation, argument in reversed(items):
        part = _part(str(operation), argument, fold, followed)
        followed = followed or not part.can_be_empty or str(operation) in ("AT", "ASSERT", "ASSERT_NOT", "GROUPREF")
        swallows = bool(part.more & out.first)  # what stands behind it may as well belong to it
        out = _Part(
            part.first | (out.first if part.can_be_empty else 0),
            out.more | (part.more if out.can_be_empty or swallows else 0) | (out.first if swallows else 0),
            part.can_be_empty and out.can_be_empty,
            part.is_split or out.is_split,
            part.is_endless or out.is_endless,
        )
    return out


def _part(operation: str, argument: Any, fold: bool, followed: bool) -> _Part:
    if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, body = argument
        inner = _sequence(list(body), fold, followed=followed)
        return _repeat(least, most, inner, followed, gives_back=operation != "POSSESSIVE_REPEAT")
    if operation == "SUBPATTERN":
        return _sequence(list(argument[3]), fold or bool(argument[1] & re.IGNORECASE), followed=followed)
    if operation == "ATOMIC_GROUP":
        return _sequence(list(argument), fold, followed=False)._replace(more=0, is_split=False)
    if operation == "BRANCH":
        return _branch([_sequence(list(one), fold, followed=followed) for one in argument[1]])
    if operation in ("ASSERT", "ASSERT_NOT"):
        return _Part(is_endless=_sequence(list(argument[1]), fold, followed=False).is_endless)
    if operation in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
        return _Part(_characters(operation, argument, fold), can_be_empty=False)
    return _Part(first=_EVERY if operation.startswith("GROUPREF") else 0)


def _repeat(least: int, most: int, inner: _Part, followed: bool, *, gives_back: bool) -> _Part:
    is_long = most >= MANY and most > least
    is_ambiguous = bool(inner.first & inner.more) or inner.is_split
    return _Part(
        inner.first,
        (inner.more | (inner.first if most > least else 0)) if gives_back else 0,
        least == 0 or inner.can_be_empty,
        inner.is_split,
        inner.is_endless or (gives_back and followed and is_long and is_ambiguous),
    )


def _branch(parts: list[_Part]) -> _Part:
    first, is_split = 0, sum(part.can_be_empty for part in parts) > 1  # the parser sets common beginnings in front
    for part in parts:
        is_split = is_split or part.is_split or bool(first & part.first)
        first |= part.first
    can_be_empty = any(part.can_be_empty for part in parts)
    more = first if can_be_empty else 0
    for part in parts:
        more |= part.more
    return _Part(first, more, can_be_empty, is_split, any(part.is_endless for part in parts))


def _characters(operation: str, argument: Any, fold: bool) -> int:
    if operation == "ANY":
        return _EVERY & ~(1 << ord("\n"))
    items = argument if operation == "IN" else [("LITERAL", argument)]
    out, is_negated = 0, operation == "NOT_LITERAL"
    for kind, value in ((str(kind), value) for kind, value in items):
        if kind == "NEGATE":
            is_negated = True
        elif kind == "CATEGORY":
            out |= _class(str(value))
        else:
            low, high = (min(code, _LAST) for code in (value if kind == "RANGE" else (value, value)))
            out |= _folded(low, high) if fold else (1 << high + 1) - (1 << low)
    return _EVERY & ~out if is_negated else out


def _folded(low: int, high: int) -> int:
    out = 0
    for code in range(low, high + 1):
        out |= 1 << code
        if chr(code).isalpha() and code < 128:
            out |= 1 << (code ^ 32)
    return out


@lru_cache
def _class(name: str) -> int:
    words = name.removeprefix("CATEGORY_")
    found = re.compile(_CLASSES[words.removeprefix("NOT_")])
    inside = sum(1 << code for code in range(_LAST + 1) if found.fullmatch(chr(code)))
    return _EVERY & ~inside if words.startswith("NOT_") else inside
