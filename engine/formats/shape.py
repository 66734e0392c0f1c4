"""What a regex tells without running it: its possible first bytes and texts that a match needs."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

ANY = frozenset(range(256))
_DIGIT = frozenset(b"0123456789")
_SPACE = frozenset(b" \t\n\r\f\v")
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CATEGORY = {
    "CATEGORY_DIGIT": _DIGIT,
    "CATEGORY_NOT_DIGIT": ANY - _DIGIT,
    "CATEGORY_SPACE": _SPACE,
    "CATEGORY_NOT_SPACE": ANY - _SPACE,
    "CATEGORY_WORD": _WORD,
    "CATEGORY_NOT_WORD": ANY - _WORD,
}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
MOST_LITERALS = 16  # a longer list costs more than the search it saves
Node = tuple[object, object]


@lru_cache(64)  # five questions are asked of each format's pattern in turn
def tree_of(regex: re.Pattern[bytes]) -> Sequence[Node] | None:
    """Parse a pattern with the standard library's own parser; None when that is not to be had."""
    try:
        # private since 3.11, and the only parser of this grammar: every caller works without it, only slower
        parsed = importlib.import_module("re._parser").parse(regex.pattern, regex.flags & ~re.DEBUG)
    except (ImportError, AttributeError, re.error, TypeError):
        return None
    return list(parsed)


def _members(items: Iterable[Node]) -> frozenset[int]:
    out: set[int] = set()
    negate = False
    for op, value in items:
        name = str(op)
        if name == "NEGATE":
            negate = True
        elif name == "LITERAL" and isinstance(value, int):
            out.add(value)
        elif name == "RANGE" and isinstance(value, tuple):
            out.update(range(value[0], value[1] + 1))
        else:
            out |= _CATEGORY.get(str(value), ANY)
    return ANY - out if negate else frozenset(out)


def _first(nodes: Iterable[Node]) -> tuple[frozenset[int], bool]:
    """Return (first bytes, whether the nodes can match nothing)."""
    seen: frozenset[int] = frozenset()
    for op, value in nodes:
        some, empty = _first_of(str(op), value)
        seen |= some
        if not empty:
            return seen, False
    return seen, True


def _first_of(name: str, value: object) -> tuple[frozenset[int], bool]:
    if name == "LITERAL" and isinstance(value, int):
        return frozenset((value,)), False
    if name == "NOT_LITERAL" and isinstance(value, int):
        return ANY - {value}, False
    if name == "IN" and isinstance(value, list):
        return _members(value), False
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return frozenset(), True
    if name in _REPEATS and isinstance(value, tuple):
        some, empty = _first(value[2])
        return some, empty or value[0] == 0
    if name == "SUBPATTERN" and isinstance(value, tuple):
        some, empty = _first(value[3])
        return _both_cases(some) if value[1] & re.IGNORECASE else some, empty
    if name == "ATOMIC_GROUP" and isinstance(value, Iterable):
        return _first(value)
    if name == "BRANCH" and isinstance(value, tuple):
        parts = [_first(branch) for branch in value[1]]
        return frozenset().union(*(some for some, _ in parts)), any(empty for _, empty in parts)
    return ANY, False


def _both_cases(some: frozenset[int]) -> frozenset[int]:
    return some | frozenset(b for c in some for b in bytes((c,)).swapcase())


def first_bytes(regex: re.Pattern[bytes]) -> frozenset[int] | None:
    """Return the bytes a match can begin with, or None when it can begin with any or be empty."""
    nodes = tree_of(regex)
    if nodes is None:
        return None
    some, empty = _first(nodes)
    if regex.flags & re.IGNORECASE:
        some = _both_cases(some)
    return None if empty or len(some) == 256 else some


def second_bytes(regex: re.Pattern[bytes]) -> frozenset[int] | None:
    """Return the bytes that can stand second in a match, or None when any can or a match can be one byte long."""
    nodes = tree_of(regex)
    some = None if nodes is None else _second(list(nodes))
    if some is None or len(some) == 256:
        return None
    if regex.flags & re.IGNORECASE:
        some |= frozenset(b for c in some for b in bytes((c,)).swapcase())
    return some


def _second(nodes: list[Node]) -> frozenset[int] | None:
    while nodes:
        (op, value), rest = nodes[0], nodes[1:]
        name = str(op)
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            nodes = rest
        elif name == "SUBPATTERN" and isinstance(value, tuple) and not value[1] and not value[2]:
            nodes = [*value[3], *rest]
        elif name == "BRANCH" and isinstance(value, tuple):
            parts = [_second([*branch, *rest]) for branch in value[1]]
            return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
        elif name in ("LITERAL", "IN", "NOT_LITERAL"):
            some, empty = _first(rest)
            return None if empty else some
        else:
            return None
    return None


def _best(found: Iterable[tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """Return the choice of texts that is most telling: long and few."""
    return max(found, key=lambda texts: 2 * min(map(len, texts)) - len(texts), default=())


def _choices(nodes: Iterable[Node]) -> Iterable[tuple[bytes, ...]]:
    """Yield tuples of texts of which every match holds at least one."""
    run = bytearray()
    for op, value in nodes:
        name = str(op)
        if name == "LITERAL" and isinstance(value, int):
            run.append(value)
            continue
        if name == "AT":
            continue
        if run:
            yield (bytes(run),)
            run.clear()
        if name == "SUBPATTERN" and isinstance(value, tuple):
            yield from _choices(value[3])
        elif name in _REPEATS and isinstance(value, tuple) and value[0] > 0:
            yield from _choices(value[2])
        elif name == "BRANCH" and isinstance(value, tuple):
            each = [_best(_choices(branch)) for branch in value[1]]
            if all(each) and sum(map(len, each)) <= MOST_LITERALS:
                yield tuple(text for texts in each for text in texts)
    if run:
        yield (bytes(run),)


def needed_literals(regex: re.Pattern[bytes]) -> tuple[bytes, ...]:
    """Return lower-case texts of which every match holds one in some case; empty when nothing is needed."""
    nodes = tree_of(regex)
    if nodes is None:
        return ()
    texts = {text.lower() for text in _best(_choices(nodes))}
    return tuple(sorted(text for text in texts if not any(other in text for other in texts if other != text)))


def exact_literal(regex: re.Pattern[bytes]) -> bytes:
    """Return a text of at least three bytes that every match holds as it is; empty when there is none."""
    nodes = tree_of(regex)
    if nodes is None or regex.flags & re.IGNORECASE:
        return b""
    found = max(_exact(nodes), key=len, default=b"")
    return found if len(found) >= 3 else b""


def _exact(nodes: Iterable[Node]) -> Iterable[bytes]:
    run = bytearray()
    for op, value in nodes:
        name = str(op)
        if name == "LITERAL" and isinstance(value, int):
            run.append(value)
        elif name != "AT":
            yield bytes(run)
            run.clear()
            if name == "SUBPATTERN" and isinstance(value, tuple) and not value[1] and not value[2]:
                yield from _exact(value[3])
            elif name in _REPEATS and isinstance(value, tuple) and value[0] > 0:
                yield from _exact(value[2])
    yield bytes(run)


def is_anchored(regex: re.Pattern[bytes]) -> bool:
    """Tell whether every match must begin at the start of the text."""
    nodes = tree_of(regex)
    return nodes is not None and not regex.flags & re.MULTILINE and _anchored(nodes)


def _anchored(nodes: Iterable[Node]) -> bool:
    for op, value in nodes:
        name = str(op)
        if name == "AT":
            return str(value) in ("AT_BEGINNING", "AT_BEGINNING_STRING")
        if name == "SUBPATTERN" and isinstance(value, tuple):
            return _anchored(value[3])
        if name == "BRANCH" and isinstance(value, tuple):
            return all(_anchored(branch) for branch in value[1])
        return False
    return False


def has_nested_repeat(regex: re.Pattern[bytes]) -> bool:
    """Tell whether an unbounded repeat stands inside another one, the usual cause of endless matching."""
    nodes = tree_of(regex)
    return nodes is None or _nested(nodes, False)


def _nested(nodes: Iterable[Node], inside: bool) -> bool:
    for op, value in nodes:
        name = str(op)
        if name in _REPEATS and isinstance(value, tuple):
            wide = int(value[1]) > 16
            if (wide and inside) or _nested(value[2], inside or wide):
                return True
        elif name == "SUBPATTERN" and isinstance(value, tuple):
            if _nested(value[3], inside):
                return True
        elif name == "BRANCH" and isinstance(value, tuple):
            if any(_nested(branch, inside) for branch in value[1]):
                return True
        elif name == "ATOMIC_GROUP" and isinstance(value, Iterable):
            if _nested(value, inside):
                return True
        elif name in ("ASSERT", "ASSERT_NOT") and isinstance(value, tuple) and _nested(value[1], inside):
            return True
    return False


def plain_literal(regex: re.Pattern[bytes]) -> bytes:
    """Return the text that a regex consists of, in lower case where it ignores case; empty when it is more."""
    nodes = tree_of(regex)
    if not nodes or any(str(op) != "LITERAL" or not isinstance(value, int) for op, value in nodes):
        return b""
    text = bytes(value for _, value in nodes if isinstance(value, int))
    return text.lower() if regex.flags & re.IGNORECASE else text


def treats_digits_alike(regex: re.Pattern[bytes]) -> bool:
    """Tell whether a regex matches a text whatever its digits are: exactly if it does with all of them as 0."""
    nodes = tree_of(regex)
    return nodes is not None and _alike(nodes)


def _alike(nodes: Iterable[Node]) -> bool:
    for op, value in nodes:
        name = str(op)
        if name in ("LITERAL", "NOT_LITERAL"):
            if value in _DIGIT:
                return False
        elif name == "IN" and isinstance(value, list):
            if len(_members(value) & _DIGIT) not in (0, len(_DIGIT)):
                return False
        elif name == "BRANCH" and isinstance(value, tuple):
            if not all(_alike(branch) for branch in value[1]):
                return False
        elif name in _REPEATS and isinstance(value, tuple):
            if not _alike(value[2]):
                return False
        elif name == "SUBPATTERN" and isinstance(value, tuple):
            if not _alike(value[3]):
                return False
        elif name in ("ASSERT", "ASSERT_NOT") and isinstance(value, tuple):
            if not _alike(value[1]):
                return False
        elif name == "ATOMIC_GROUP":
            if not isinstance(value, Iterable) or not _alike(value):
                return False
        elif name not in ("ANY", "AT", "FAILURE"):
            return False  # back references and what is not known here
    return True
