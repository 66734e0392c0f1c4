"""Crews: do numbers that lines carry stand for the processes of one job? Many lines together show it.

Processes of one job race, say more than one thing, say the same things, and say them of the same steps. Numbers of a
program's own (epochs, classes, devices, rows of a table) come in one order, or something else is said of each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

BACK = 0.03  # share of changes of number that go down where ranks take turns
SAID = 60  # bytes that tell what a line says
LARGEST = 1 << 20  # a larger number is no rank
TWICE = 0.3  # share of what was said of a step that one number says again: two nodes' numbers
_VALUES = re.compile(rb"\d[\d.,:e+-]*")
_UP_TO_NUMBER = re.compile(rb"[^\d]{0,60}\d++(?!\.\d)")
_TOLD = re.compile(
    rb"\W*(?i:(?:is|was|has|are|did|does|will|got|not|no|never|still|now|already|again|also|only|and|but)\b|"
    rb"reach|arriv|report|regist|acknowledg|finish|complet|ready|join|connect|respond|return|answer|miss|lost|fail|die|"
    rb"exit|crash|hang|hung|stuck|stall|timed|slow|late|lag|behind|sent|receiv|want|need|ask|request|assign)"
)
MOST_KINDS = 64  # of things said
THRONG = 128  # numbers of which a sample shows few twice
TOGETHER = 8  # of them that say one thing


class Crew(NamedTuple):
    """Numbers in the order of their lines, and what each line says besides."""

    ids: Sequence[int]
    texts: Sequence[bytes]

    def is_whole(self) -> bool:
        """Say whether the numbers are 0 to n-1."""
        distinct = set(self.ids)
        return len(distinct) > 1 and max(distinct) == len(distinct) - 1

    def is_block(self) -> bool:
        """Say whether the numbers are all of 0 to n-1, or those of one node among nodes of as many."""
        distinct = set(self.ids)
        low = min(distinct, default=0)
        return len(distinct) > 1 and low % len(distinct) == 0 and max(distinct) - low < len(distinct)

    def fills(self) -> bool:
        """Say whether the numbers are about those of 0 to n-1, or all of one node among nodes of as many."""
        distinct = set(self.ids)
        top = max(distinct, default=0)
        if len(distinct) < 2 or top >= LARGEST:
            return False
        return self.is_block() or (0 in distinct and 2 * len(distinct) > top)

    def kinds(self) -> list[Counter[int]]:
        """Return who says each kind of thing how often, whatever its values and however one word differs."""
        kinds: list[list[bytes]] = []
        known: dict[bytes, int] = {}
        said: dict[int, Counter[int]] = {}
        for number, text in zip(self.ids, self.texts, strict=True):
            thing = _VALUES.sub(b"0", text[:SAID])
            if thing not in known:
                known[thing] = _kind_of(thing.split(), kinds)
            said.setdefault(known[thing], Counter())[number] += 1
        return list(said.values())

    def common(self) -> int:
        """Count the kinds of things that many say about as often."""
        return _shared((set(who) for who in self.kinds() if _is_even(who)), len(set(self.ids)), 0.5)

    def is_about_others(self) -> bool:
        """Say whether most texts are of the kind that somebody says of another: it has reached, it reported."""
        return sum(_TOLD.match(text) is not None for text in self.texts) > 0.6 * len(self.texts)

    def in_step(self) -> int:
        """Count the steps of which nearly all say something: texts up to their first number, which is a whole one."""
        said: dict[bytes, set[int]] = {}
        for number, text in zip(self.ids, self.texts, strict=True):
            step = _UP_TO_NUMBER.match(text)
            if step is not None:
                said.setdefault(step[0], set()).add(number)
        return _shared(said.values(), len(set(self.ids)), 0.75)

    def is_throng(self) -> bool:
        """Say whether they are so many that a sample shows each once or twice, and many say the same things."""
        distinct = len(set(self.ids))
        if distinct < THRONG or len(self.ids) > 4 * distinct or rises(self.ids):
            return False
        return _shared((set(who) for who in self.kinds()), TOGETHER, 1.0) >= 2

    def is_led(self) -> bool:
        """Say whether number 0 talks more than twice as much as any other and repeats what no other says."""
        talk = Counter(self.ids)
        said: dict[bytes, Counter[int]] = {}
        for number, text in zip(self.ids, self.texts, strict=True):
            said.setdefault(_VALUES.sub(b"0", text[:SAID]), Counter())[number] += 1
        own = max((who[0] for who in said.values() if len(who) == 1), default=0)
        return own > 2 and talk[0] > 2 * max(n for number, n in talk.items() if number)

    def is_doubled(self) -> bool:
        """Say whether one number often says the same of the same step twice: numbers of two nodes."""
        steps = ((number, _UP_TO_NUMBER.match(text)) for number, text in zip(self.ids, self.texts, strict=True))
        seen = Counter((number, step[0]) for number, step in steps if step is not None)
        return sum(n > 1 for n in seen.values()) > TWICE * len(seen)


def _kind_of(words: list[bytes], kinds: list[list[bytes]]) -> int:
    """Return the first kind of as many words, half of them the same; a new one is added."""
    for k, kind in enumerate(kinds):
        if len(kind) == len(words) and 2 * sum(a == b for a, b in zip(kind, words, strict=True)) >= len(words):
            return k
    if len(kinds) < MOST_KINDS:
        kinds.append(words)
    return len(kinds) - 1


def _is_even(who: Counter[int]) -> bool:
    """Say whether all but number 0, which often says more, say a thing about as often."""
    counts = [n for number, n in who.items() if number] or [1]
    return max(counts) <= 1.5 * min(counts) + 1


def _shared(groups: Iterable[set[int]], everybody: int, share: float) -> int:
    """Count the groups that hold this share of all, and two."""
    least = max(2.0, share * everybody)
    return sum(len(who) >= least for who in groups)


def counts_jobs(ids: Sequence[int]) -> bool:
    """Say whether the numbers are 1 to n: of jobs, slots or lines, for processes count from 0."""
    distinct = set(ids)
    return len(distinct) > 1 and min(distinct) == 1 and max(distinct) == len(distinct)


def counts_up(ids: Sequence[int]) -> bool:
    """Say whether the numbers run upward like line numbers."""
    pairs = list(pairwise(ids))
    return len(ids) >= 4 and sum(b - a == 1 for a, b in pairs) >= 0.8 * len(pairs) and len(set(ids)) >= 0.8 * len(ids)


def rises(ids: Sequence[int]) -> bool:
    """Say whether the numbers hardly go back, as epochs do."""
    steps = [(a, b) for a, b in pairwise(ids) if a != b]
    return sum(b < a for a, b in steps) < BACK * len(steps)


def is_a_race(ids: Sequence[int]) -> bool:
    """Say whether the numbers come in rounds, each of all of them, in changing orders: a loop keeps one order."""
    rounds, orders = _rounds(ids)
    whole = orders.total()
    return whole >= 0.8 * rounds and orders.most_common(1)[0][1] < 0.9 * whole


def is_a_loop(ids: Sequence[int]) -> bool:
    """Say whether the numbers come in rounds of one order again and again: somebody walks through them."""
    rounds, orders = _rounds(ids)
    return len(set(ids)) > 2 and rounds > 2 and bool(orders) and orders.most_common(1)[0][1] >= 0.8 * rounds


def _rounds(ids: Sequence[int]) -> tuple[int, Counter[tuple[int, ...]]]:
    """Cut at each number that comes again; return how many rounds that gives, and the orders of those with all."""
    everybody = len(set(ids))
    rounds: list[list[int]] = [[]]
    for number in ids:
        if number in rounds[-1]:
            rounds.append([])
        rounds[-1].append(number)
    return len(rounds), Counter(tuple(one) for one in rounds if len(one) == everybody)
