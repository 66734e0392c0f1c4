"""Which entries a person looks at: a scope (ranks and filters) over a snapshot becomes an array of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.backtracking import is_endless
from l4tui.engine.model import NO_TIME, UNKNOWN
from l4tui.engine.outline import Folds
from l4tui.engine.rankset import RankSet, rank_items

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

Ids = NDArray[np.int64]
Bits = NDArray[np.bool_]
Matcher = Callable[["Snapshot", str, int, Event], Iterator[NDArray[np.integer]]]  # entries ≥ start that match a regex

ALTERNATIVES = ("event", "site", "stage", "iteration", "rank", "node")  # kinds whose filters that keep are united
CHUNK = 1 << 18  # rows looked at between two checks of `stop`


class Rows(Protocol):
    """What a lens shows, top to bottom: rows known by a key that stays theirs."""

    @property
    def length(self) -> int:
        """Number of rows."""

    def keys(self, start: int, stop: int) -> Ids:
        """Give the keys of rows start..stop, clipped to what exists."""

    def position(self, key: int) -> int:
        """Find the row of a key, or the nearest one before it; 0 if there is none."""

    def entries(self, keys: Ids) -> Ids:
        """Give the entry that each row stands for."""

    def key_of(self, entry: int) -> int:
        """Give the key of the row that shows an entry."""

    def tester(self, entries: Bits) -> Callable[[Ids], Bits]:
        """Give a test of keys: whether their rows show any of these entries (bool per entry)."""


class EntryRows:
    """Rows that are entries: an array of entry ids, or None for the first `length` entries in order."""

    def __init__(self, entries: Ids | None, length: int, ascending: bool = True) -> None:
        self._entries = entries
        self.length = length if entries is None else len(entries)
        self.ascending = ascending

    def entries(self, keys: Ids) -> Ids:
        """A row is an entry."""
        return keys

    def key_of(self, entry: int) -> int:
        """An entry is a row."""
        return entry

    def tester(self, entries: Bits) -> Callable[[Ids], Bits]:
        """A row shows its entry."""
        bits = np.append(entries, False)
        return lambda keys: bits[np.minimum(keys, len(bits) - 1)]

    def keys(self, start: int, stop: int) -> Ids:
        """Give the entries of rows start..stop."""
        start, stop = max(start, 0), min(stop, self.length)
        if self._entries is None:
            return np.arange(start, max(start, stop), dtype=np.int64)
        return self._entries[start:stop].astype(np.int64)

    def position(self, key: int) -> int:
        """Find the row of an entry, or of the nearest earlier one."""
        if self.length == 0:
            return 0
        if self._entries is None:
            return min(max(key, 0), self.length - 1)
        if self.ascending:
            return max(int(np.searchsorted(self._entries, key, side="right")) - 1, 0)
        found = np.flatnonzero(self._entries == key)
        if len(found):
            return int(found[0])
        return int(np.argmin(np.abs(self._entries - key)))


class Filter(NamedTuple):
    """One condition on entries; `keep` shows only what meets it, else it is hidden."""

    kind: str  # text event site level since until stage iteration iterations rank node; the last two: rankset.py
    value: str
    keep: bool
    label: str = ""

    @property
    def words(self) -> str:
        """What stands on the filter's chip."""
        sign = "" if self.keep else "!"
        shown = self.label or self.value
        return f"{sign}/{shown}/" if self.kind == "text" else f"{sign}{self.kind} {shown}"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a person has asked to see."""

    lens: str = "lines"
    ranks: str = ""  # grammar of rankset.py; empty: all
    filters: tuple[Filter, ...] = ()
    filtering: bool = True  # False: the filters stand by
    folds: Folds = field(default_factory=Folds)  # of the collapsed lens

    @property
    def conditions(self) -> tuple[str, ...]:
        """What narrows the view, as words: the choice of ranks item by item, then the filters."""
        return (*(ranks_words(item) for item in rank_items(self.ranks)), *(f.words for f in self.filters))

    def without(self, number: int) -> Scope:
        """Give the scope without one of its conditions, by its place among them."""
        items = rank_items(self.ranks)
        if number < len(items):
            return replace(self, ranks=",".join(items[:number] + items[number + 1 :]))
        at = number - len(items)
        return replace(self, filters=self.filters[:at] + self.filters[at + 1 :])

    @property
    def narrowed(self) -> bool:
        """Whether anything is hidden."""
        return bool(self.ranks) or (self.filtering and bool(self.filters))

    def adding(self, added: Filter) -> Scope:
        """Give the scope with one more filter, switched on; the same filter again changes nothing."""
        kept = tuple(f for f in self.filters if (f.kind, f.value) != (added.kind, added.value))
        return replace(self, filters=(*kept, added), filtering=True)


def ranks_words(item: str) -> str:
    """Word an item of a set of ranks as filters are worded: `!3` is `!rank 3`, `node:n12` is `node n12`."""
    sign, item = ("!", item[1:]) if item.startswith("!") else ("", item)
    if ":" in item:
        return sign + item.replace(":", " ", 1)
    return f"{sign}ranks {item}" if "-" in item else f"{sign}rank {item}"


def validate(pattern: str) -> None:
    """Raise ValueError with words if a pattern is no regex, or one that nothing could stop."""
    try:
        re.compile(pattern)
        re.compile(smart_case(pattern).encode("utf-8", "surrogateescape"))  # what the search uses
    except re.error as error:
        raise ValueError(f"{error.msg} at {error.pos}" if error.pos is not None else error.msg) from None
    except (RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from None
    if is_endless(smart_case(pattern)):
        raise ValueError("could take for ever: a repeat of what itself repeats")


def smart_case(pattern: str) -> str:
    """Make a pattern without capitals ignore case, as less and vim do."""
    told = re.match(r"\(\?[a-zA-Z]+\)", pattern) or any(c.isupper() for c in re.sub(r"\\.", "", pattern))
    return pattern if told else f"(?i){pattern}"


class Viewer:
    """Turns scopes into rows, remembering what the patterns have matched so far."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._matched: dict[str, tuple[Bits, int]] = {}  # pattern → (one per entry, entries covered)
        self._generation = 0

    def rows(self, snapshot: Snapshot, scope: Scope, stop: Event) -> EntryRows:
        """Select the scope's entries in merged order; raise ValueError for a bad rank set or pattern."""
        order = snapshot.order()
        ascending = len(snapshot.sources) <= 1
        if not scope.narrowed:
            return EntryRows(None if ascending else order, snapshot.length, ascending)
        bits = self.bits(snapshot, scope, stop)
        if ascending:
            return EntryRows(np.flatnonzero(bits), 0)
        order = order[: snapshot.length]
        return EntryRows(order[bits[order]], 0, ascending=False)

    def bits(self, snapshot: Snapshot, scope: Scope, stop: Event) -> Bits:
        """Say for each entry whether the scope shows it; bool array of the snapshot's length."""
        bits = np.ones(snapshot.length, np.bool_)
        if scope.ranks:
            bits &= RankSet.parse(scope.ranks).select(snapshot.ranks, snapshot.nodes)[snapshot.speaker]
        if scope.filtering:
            kept: dict[str, Bits] = {}  # filters of one kind that keep are alternatives
            for condition in scope.filters:
                met = self._met(snapshot, condition, stop)
                if not condition.keep:
                    bits &= ~met
                elif condition.kind in kept and condition.kind in ALTERNATIVES:
                    kept[condition.kind] |= met
                else:
                    key = condition.kind if condition.kind in ALTERNATIVES else condition.words
                    kept[key] = met
            for met in kept.values():
                bits &= met
        return bits

    def matched(self, snapshot: Snapshot, pattern: str, stop: Event) -> Bits:
        """Say for each entry whether its text matches; only entries not seen before are searched."""
        validate(pattern)
        if snapshot.generation != self._generation:  # entry ids mean something else now
            self._matched.clear()
            self._generation = snapshot.generation
        bits, covered = self._matched.get(pattern, (np.zeros(0, np.bool_), 0))
        covered = min(covered, snapshot.length)
        grown = np.zeros(snapshot.length, np.bool_)
        grown[:covered] = bits[:covered]
        if covered < snapshot.length:
            for hits in self._matcher(snapshot, smart_case(pattern), covered, stop):
                grown[hits] = True
                if stop.is_set():
                    return grown
            if len(self._matched) > 16:
                self._matched.clear()
            self._matched[pattern] = (grown, snapshot.length)
        return grown

    def _met(self, snapshot: Snapshot, condition: Filter, stop: Event) -> Bits:
        if condition.kind == "text":
            return self.matched(snapshot, condition.value, stop)
        plan = snapshot.plan
        if condition.kind in ("since", "until"):
            limit, clock = int(condition.value), snapshot.clock
            return clock >= limit if condition.kind == "since" else (clock <= limit) & (clock != NO_TIME)
        if condition.kind == "stage":
            return np.asarray(snapshot.stage == int(condition.value))
        if condition.kind in ("iteration", "iterations"):  # the second narrows, the first is one of several wanted
            low, _, high = condition.value.partition("-")
            iteration = snapshot.iteration
            return np.asarray((iteration >= int(low)) & (iteration <= int(high or low)))
        if condition.kind == "level":
            return np.asarray((snapshot.plans.level >= int(condition.value))[plan])
        if condition.kind in ("rank", "node"):
            return RankSet.parse(condition.value).select(snapshot.ranks, snapshot.nodes)[snapshot.speaker]
        column = snapshot.plans.site if condition.kind == "site" else snapshot.plans.event
        return np.asarray((column == int(condition.value))[plan])


def find_row(rows: Rows, start: int, step: int, test: Callable[[Ids], Bits], stop: Event) -> int:
    """Find the next row from `start` (not itself) in direction `step` (±1) whose key passes; −1 if none does."""
    size = 4096
    at = start + step
    while 0 <= at < rows.length and not stop.is_set():
        if step > 0:
            hit = np.flatnonzero(test(rows.keys(at, at + size)))
            if len(hit):
                return at + int(hit[0])
            at += size
        else:
            low = max(at - size + 1, 0)
            hit = np.flatnonzero(test(rows.keys(low, at + 1)))
            if len(hit):
                return low + int(hit[-1])
            at = low - 1
        size = min(size * 4, CHUNK)
    return UNKNOWN
