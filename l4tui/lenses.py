"""Lenses: ways to show the same job as rows. A new one is a class and a line in make_lenses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import starmap
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from l4tui.engine.model import NO_TIME, Flag, Kind, Level, LineClass
from l4tui.engine.view import Ids, Rows, Scope, Viewer
from l4tui.widgets.cells import clean, unframed
from l4tui.widgets.glyphs import glyphs
from l4tui.widgets.line import Facts, Line

if TYPE_CHECKING:
    from l4tui.engine.leads import Lead
    from l4tui.engine.snapshot import Snapshot
    from l4tui.study import Analyst

SORTS = {Kind.RANK: "rank", Kind.MIXED: "mixed", Kind.LAUNCHER: "launcher", Kind.UNKNOWN: "unknown"}
NODE_MAX = 10  # cells of a node's name up to which it stands whole
TIMED_SHARE = 0.03  # of lines that must have a time for a column of times
TAIL = 20_000  # entries looked at to see which columns the log needs
SHOWN = 1 << 18  # bytes of a line that can be scrolled through; decoding 16 MB takes 0.3 s a line


class Lens(Protocol):
    """A way to show a job."""

    def rows(self, snapshot: Snapshot, scope: Scope, stop: Event) -> Rows:
        """Select and order what the scope shows; called from a thread."""

    def lacks(self, snapshot: Snapshot, rows: Rows) -> bool:
        """Say whether these are not yet all rows of the snapshot: asked again, the lens gives more."""

    def lines(self, snapshot: Snapshot, rows: Rows, keys: Ids, *, quick: bool = False) -> list[Line]:
        """Make rows ready to be painted; called from a thread, reads files. `quick`: leave out what takes long."""

    def is_heavy(self, rows: Rows, keys: Ids) -> bool:
        """Say whether `quick` is of use."""

    def facts(self, snapshot: Snapshot, facts: Facts) -> Facts:
        """Adapt the columns to what this lens shows in them."""

    def changed(self, old: Rows, new: Rows) -> Ids | None:
        """Say which rows read differently than before; None: all."""

    def mark(self, leads: Iterable[Lead]) -> Ids:
        """Mark the rows that `d` visits; return the keys that look differently now."""


class EntryLens:
    """One row per line (or per rank's part of one), in merged order."""

    def __init__(self, viewer: Viewer, ascii_only: bool) -> None:
        self._viewer = viewer
        self._ascii = ascii_only
        self._signs = glyphs(ascii_only)
        self._marks: dict[int, str] = {}  # entry → what `d` goes there for

    def rows(self, snapshot: Snapshot, scope: Scope, stop: Event) -> Rows:
        """Select the scope's entries."""
        return self._viewer.rows(snapshot, scope, stop)

    def lacks(self, snapshot: Snapshot, rows: Rows) -> bool:
        """All lines are there at once."""
        return False

    def is_heavy(self, rows: Rows, keys: Ids) -> bool:
        """A line is read in no time."""
        return False

    def facts(self, snapshot: Snapshot, facts: Facts) -> Facts:
        """The columns are made for lines; where ranks are compared there is a place for what sets one apart."""
        return facts._replace(has_level=facts.has_level or len(snapshot.counts().per_rank) > 1)

    def changed(self, old: Rows, new: Rows) -> Ids | None:
        """A line stays what it is."""
        return np.zeros(0, np.int64)

    def mark(self, leads: Iterable[Lead]) -> Ids:
        """Mark the lines that `d` visits."""
        old, self._marks = self._marks, {lead.entry: self._signs.of(lead.kind) for lead in leads}
        return np.array(sorted({entry for entry, _ in old.items() ^ self._marks.items()}), np.int64)

    def lines(self, snapshot: Snapshot, rows: Rows, keys: Ids, *, quick: bool = False) -> list[Line]:
        """Read the texts of a page and who wrote them."""
        keys = keys[keys < snapshot.length]
        nodes = node_labels(tuple(snapshot.nodes))
        columns = zip(
            keys.tolist(),
            snapshot.texts(keys.tolist(), SHOWN),
            snapshot.record[keys].tolist(),
            told_of(snapshot, keys),
            strict=True,
        )
        lines = []
        for key, text, record, told in columns:
            sort = told.sort
            if told.flags & Flag.SPLIT and sort != "note" and is_mixed(snapshot, key):
                sort = "mixed"
            lines.append(
                Line(
                    key=key,
                    text=clean(unframed(text), self._ascii),
                    who=told.who,
                    node=clean(nodes[told.node], self._ascii) if told.node >= 0 else "",
                    sort=sort,
                    level=told.level,
                    time=told.time,
                    site=site_words(snapshot, told.site, self._ascii),
                    head=record == key,
                    mark=self._marks.get(key) or ("!" if told.is_raised else ""),
                )
            )
        return lines


class Told(NamedTuple):
    """What the columns tell of an entry."""

    flags: int
    kind: int
    rank: int
    local: int
    node: int
    site: int
    level: int  # of an exception at least an error's
    is_raised: bool
    time: int  # NO_TIME where its line has none

    @property
    def sort(self) -> str:
        """Whose line it is, as the log view tells it."""
        return "note" if self.flags & Flag.NOTE else SORTS[Kind(self.kind)]

    @property
    def who(self) -> str:
        """The rank, or of an unknown one the local rank that its line says."""
        if self.rank >= 0:
            return str(self.rank)
        return str(self.local) if self.local >= 0 and self.kind == Kind.UNKNOWN else ""


def told_of(snapshot: Snapshot, entries: Ids) -> Iterator[Told]:
    """Look up what the columns tell of some entries."""
    speakers, plans, flags = snapshot.speaker[entries], snapshot.plan[entries], snapshot.flags[entries]
    table = snapshot.ranks
    raised = snapshot.plans.line_class[plans] == LineClass.RAISED
    columns = (
        flags,
        table.kind[speakers],
        table.rank[speakers],
        table.local_rank[speakers],
        table.node[speakers],
        snapshot.plans.site[plans],
        np.maximum(snapshot.plans.level[plans], raised * int(Level.ERROR)),
        raised,
        np.where(flags & Flag.TIMED, snapshot.clock[entries], NO_TIME),
    )
    return starmap(Told, zip(*(column.tolist() for column in columns), strict=True))


def site_words(snapshot: Snapshot, site: int, ascii_only: bool) -> str:
    """Write a call site for its column."""
    return clean(short_site(snapshot.sites[site]), ascii_only) if site >= 0 else ""


def is_mixed(snapshot: Snapshot, entry: int) -> bool:
    """Say whether the physical line of an entry holds text of several ranks."""
    first, last = entry, entry + 1
    while first > 0 and snapshot.flags[first] & Flag.SEGMENT:
        first -= 1
    while last < snapshot.length and snapshot.flags[last] & Flag.SEGMENT:
        last += 1
    speakers = snapshot.speaker[first:last]
    kinds, ranks = snapshot.ranks.kind[speakers].tolist(), snapshot.ranks.rank[speakers].tolist()
    return len(set(zip(kinds, ranks, strict=True))) > 1


@lru_cache(maxsize=4)
def node_labels(nodes: tuple[str, ...]) -> tuple[str, ...]:
    """Shorten node names that are too long for a column by what all of them begin or end with."""
    if len(nodes) < 2 or max(map(len, nodes)) <= NODE_MAX:
        return nodes
    head = _common_start(nodes)
    head = head[: max(head.rfind(mark) for mark in "-._") + 1]  # digits are not torn from their number
    tail = _common_start([node[len(head) :][::-1] for node in nodes])[::-1]
    tail = tail[tail.find(".") :] if "." in tail else ""  # a domain
    return tuple(node[len(head) : len(node) - len(tail)] or node for node in nodes)


def _common_start(words: Sequence[str]) -> str:
    first, last = min(words), max(words)  # what these two share, all between them share
    same = 0
    while same < len(first) and first[same] == last[same]:
        same += 1
    return first[:same]


def short_site(site: str) -> str:
    """Shorten a call site to file and line: what a narrow column is read for."""
    return ":".join(site.rpartition("/")[2].split(":")[:2])


def facts_of(snapshot: Snapshot) -> Facts:
    """See which columns the log needs and how wide they are."""
    tail = slice(max(snapshot.length - TAIL, 0), snapshot.length)
    plans = np.unique(snapshot.plan[tail])
    sites = np.unique(snapshot.plans.site[plans])
    names = [short_site(snapshot.sites[i]) for i in sites[sites >= 0].tolist()]
    classes = snapshot.plans.line_class[plans]
    counts = snapshot.counts()
    top = max(counts.per_rank, default=0)
    who = len(str(top)) if counts.per_rank else 1
    local = int(snapshot.ranks.local_rank.max(initial=-1)) if counts.unknown else -1
    return Facts(
        who_width=max(who + (1 if counts.mixed else 0), 1 + len(str(local)) if local >= 0 else 1),
        node_width=max(map(len, node_labels(tuple(snapshot.nodes)))) if len(snapshot.nodes) > 1 else 0,
        site_width=max((len(name) for name in names), default=0),
        has_time=bool(snapshot.length) and float(np.mean((snapshot.flags[tail] & Flag.TIMED) != 0)) > TIMED_SHARE,
        has_level=bool((snapshot.plans.level[plans] > 0).any() or (classes == LineClass.RAISED).any()),
    )


def make_lenses(viewer: Viewer, analyst: Analyst, ascii_only: bool) -> dict[str, Lens]:
    """Make the lenses of a job by name; the first is what a job of many ranks is shown through."""
    from l4tui.collapsed import CollapsedLens  # knows this module

    return {"collapsed": CollapsedLens(viewer, analyst, ascii_only), "lines": EntryLens(viewer, ascii_only)}
