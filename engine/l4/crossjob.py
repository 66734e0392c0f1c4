"""Cross-job filter: what healthy jobs of the same settings write is removed before jobs are compared with themselves.

An event is *usual* when all of this holds:

- at least half of the healthy jobs (`FREQUENT`) have an event of the same shape: templates alike word by word, numbers,
  paths and names of nodes masked, a word that one job's Drain made a parameter standing for any word;
- in this job it is not of a higher level than in any of them;
- the rank that wrote it most did not write it `FLOOD` times as often as the most talkative rank of any of them, neither
  in all nor per iteration (a job that fails early has few iterations, one that runs long many lines).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.evidence.record import Ints, Journal
from l4tui.engine.l4.counts import event_peaks

FREQUENT = 0.5  # share of the healthy jobs that must have it
FLOOD = 8  # times as often on one rank: a retry or two are usual, a flood of retries is not
LITERAL = 0.5  # share of the words that must be equal as words where a parameter stands for a word
MOST_EVENTS = 50_000  # of one job: a log that is all noise must not make a baseline without end

ANY = "<*>"
_NUMBER = re.compile(r"[-+]?(?:0x)?<\*>(?:(?:[.,:x/_+-]|e[-+]?)*<\*>)*%?")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\w.~<*>+@-]*/){2,}[\w.<*>+@-]*|(?<![\w/])/[\w.<*>+@-]+")
_NOT_FINITE = frozenset({"nan", "inf", "-inf", "+inf", "infinity", "-infinity", "none", "null"})
_PUNCTUATION = "()[]{}<>,;:='\"|"


class EventCount(NamedTuple):
    """One event of a healthy job."""

    template: str  # masked, see `mask`
    level: int  # highest
    lines: int
    peak: int  # lines of the rank that wrote it most
    rate: float  # lines per rank and iteration


class Profile(NamedTuple):
    """What one healthy job wrote."""

    name: str
    ranks: int
    iterations: int  # distinct iterations that were marked, at least 1
    lines: int
    events: tuple[EventCount, ...]


def mask(template: str, names: Sequence[str] = ()) -> str:
    """Return a template without what differs between jobs of the same settings: numbers, paths, names of nodes."""
    for name in names:
        template = template.replace(name, ANY)
    template = _PATH.sub(ANY, template)
    return " ".join(_NUMBER.sub(ANY, template).split())


def node_names(journal: Journal) -> list[str]:
    """Return the names of nodes as templates show them (digits masked), longest first."""
    names = {re.sub(r"\d+", ANY, name) for name in (*journal.nodes, *journal.node_ranks)}
    return sorted((n for n in names if len(n) >= 3 and n != ANY), key=lambda n: (-len(n), n))


def count_iterations(journal: Journal) -> int:
    """Return the number of distinct iterations of a job's attempts, at least 1."""
    known = journal.iteration >= 0
    if not known.any():
        return 1
    pairs = journal.era[known].astype(np.int64) << 32 | journal.iteration[known]
    return len(np.unique(pairs))


def profile_of(journal: Journal, name: str) -> Profile:
    """Count what a healthy job wrote; events that the mask makes equal are one."""
    lines, peak, level = event_peaks(journal)
    ranks, iterations = max(1, len(journal.ranks)), count_iterations(journal)
    names = node_names(journal)
    joined: dict[str, tuple[int, int, int]] = {}
    for e in np.flatnonzero(lines).tolist():
        text = mask(journal.templates[e], names)
        known = joined.get(text, (0, 0, 0))
        joined[text] = max(known[0], int(level[e])), known[1] + int(lines[e]), max(known[2], int(peak[e]))
    most = sorted(joined.items(), key=lambda item: (-item[1][1], item[0]))[:MOST_EVENTS]
    events = tuple(EventCount(t, v, n, p, round(n / ranks / iterations, 6)) for t, (v, n, p) in sorted(most))
    return Profile(name, ranks, iterations, len(journal), events)


class CrossJob:
    """Healthy jobs as a filter; satisfies `evidence.case.Baseline`."""

    def __init__(self, profiles: Iterable[Profile]) -> None:
        self.profiles = tuple(profiles)

    @property
    def jobs(self) -> int:
        """Number of healthy jobs."""
        return len(self.profiles)

    def usual(self, journal: Journal) -> NDArray[np.bool_]:
        """Tell for each event of a job whether healthy jobs write it, at that level and about that often."""
        lines, peak, level = event_peaks(journal)
        iterations = count_iterations(journal)
        names = node_names(journal)
        found = np.zeros(len(lines), dtype=np.bool_)
        known: dict[str, list[int]] = {}
        for e in np.flatnonzero(lines).tolist():
            text = mask(journal.templates[e], names)
            if text not in known:
                known[text] = self._alike.find(text)
            found[e] = self._covers(known[text], int(level[e]), int(peak[e]), iterations)
        return found

    @cached_property
    def _events(self) -> list[tuple[int, EventCount]]:
        return [(at, e) for at, p in enumerate(self.profiles) for e in p.events]

    @cached_property
    def _alike(self) -> _Alike:
        return _Alike([e.template for _, e in self._events], self.jobs)

    def _covers(self, alike: list[int], level: int, peak: int, iterations: int) -> bool:
        jobs = {self._events[i][0] for i in alike}
        if not jobs or len(jobs) < FREQUENT * self.jobs:
            return False
        if level > max(self._events[i][1].level for i in alike):
            return False
        most = max(self._events[i][1].peak for i in alike)
        per_iteration = max(self._events[i][1].peak / self.profiles[self._events[i][0]].iterations for i in alike)
        return peak <= FLOOD * most or peak / iterations <= FLOOD * per_iteration


class _Alike:
    """Finds templates that are the same word by word, a parameter standing for any word."""

    def __init__(self, templates: Sequence[str], jobs: int) -> None:
        self._jobs = jobs
        self._words: dict[str, int] = {ANY: 0}
        self._exact: dict[str, list[int]] = defaultdict(list)
        by_length: dict[int, list[int]] = defaultdict(list)
        for i, template in enumerate(templates):
            self._exact[template].append(i)
            by_length[len(template.split())].append(i)
        self._of_length: dict[int, tuple[Ints, Ints]] = {}
        for length, members in by_length.items():
            rows = [[self._words.setdefault(_bare(w), len(self._words)) for w in templates[i].split()] for i in members]
            table = np.array(rows, dtype=np.int64).reshape(len(members), length)
            self._of_length[length] = (table, np.array(members, dtype=np.int64))

    def find(self, template: str) -> list[int]:
        """Return the indexes of the templates that are alike."""
        words = [_bare(w) for w in template.split()]
        exact = self._exact.get(template, [])
        if len(exact) == self._jobs:  # every job has it word by word: 20 times faster where logs are alike
            return exact
        if not words or len(words) not in self._of_length:
            return exact
        table, members = self._of_length[len(words)]
        mine = np.array([self._words.get(w, -1) for w in words], dtype=np.int64)
        strict = np.array([w.lower() in _NOT_FINITE for w in words])  # such a word is no number, whatever Drain says
        same = table == mine
        free = ((table == 0) | (mine == 0)) & ~strict
        literal = (same & (mine > 0)).sum(axis=1) >= max(1.0, LITERAL * len(words))
        found = members[(same | free).all(axis=1) & literal].tolist()
        return sorted({*exact, *found})


def _bare(word: str) -> str:
    """Return a word without the punctuation around it; what holds a number counts as a parameter."""
    bare = word if word == ANY else word.strip(_PUNCTUATION)
    return ANY if ANY in word and not re.search(r"[A-Za-z]{2}", word.replace(ANY, "")) else bare
