"""Seats: processes as lines show them, before any conclusion; the words that claims are made in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from l4tui.engine.facts import Grade
from l4tui.engine.model import SourceName, Speaker

LARGEST = 10**7  # a larger number is no rank, local rank or attempt
_ADDRESSES = 10**9  # a larger thread id is a pointer, as absl and older Pythons print it
_ADDRESS = re.compile(r"[\d.]+|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*")
_HERE = frozenset({"localhost", "localhost.localdomain", "unknown", "0.0.0.0", "::1", "None", "null"})


class Seat(NamedTuple):
    """A local rank as it was shown; node is None where the line does not say it."""

    source: int
    era: int
    node: str | None
    number: int
    local: int


class Process(NamedTuple):
    """A process as it was shown: by its pid, or by a thread that no other process has (see `process_id`)."""

    source: int
    era: int
    node: str | None
    pid: int


class Number(NamedTuple):
    """A launcher's task id (in the label) or the number in a file's name."""

    source: int
    in_label: bool
    number: int


Key = Seat | Process | Number
Origin = tuple[str | int | None, ...]


@dataclass(slots=True)
class Claimed:
    """The ranks claimed for a key, by grade."""

    strong: set[int] = field(default_factory=set)
    weak: set[int] = field(default_factory=set)
    spoken: set[int] = field(default_factory=set)  # of them, what lines of its own say

    def add(self, rank: int, grade: Grade) -> bool:
        """Add a claim; say whether it is new."""
        ranks = self.strong if grade is Grade.STRONG else self.weak
        if rank in ranks:
            return False
        ranks.add(rank)
        return True


class Member(NamedTuple):
    """A rank told within a communicator; its ranks are the job's only if the whole job is in it."""

    comm_id: str | None
    keys: tuple[Key, ...]
    rank: int


class Writer(NamedTuple):
    """Who wrote lines of some habit, as the lines show it."""

    source: int
    era: int
    node: str | None
    number: int
    local: int
    rank: int
    pid: int
    actor: str | None


class Shown(NamedTuple):
    """Who a speaker is before any conclusion."""

    name: SourceName
    era: int
    node: str | None
    in_label: bool
    number: int
    local: int


def host(text: str | None) -> str | None:
    """Cut a host name at its first dot; None for what names no particular host."""
    if not text or text in _HERE or text.startswith("127."):
        return None
    return text if _ADDRESS.fullmatch(text) or "/" in text else text.partition(".")[0]  # role/0 is no host name


def process_id(speaker: Speaker, name: SourceName) -> int:
    """Return the pid, or a negative number for an address of a thread, which differs between processes."""
    if speaker.pid >= 0:
        return speaker.pid
    return name.pid if speaker.tid < _ADDRESSES else -2 - speaker.tid


def in_tree(name: SourceName) -> bool:
    """Say whether a path is of a run folder with one file for each local rank and attempt."""
    return name.group is not None and name.local_rank >= 0


def origin_of(speaker: Speaker, who: Shown) -> Origin:
    """Return what tells one sayer of a self-reported rank from another; only alike kinds can contradict."""
    if who.number >= 0:
        return ("number", who.number)
    if who.local >= 0:
        return ("seat", who.node or who.name.node or who.name.group or speaker.source, who.local)
    if speaker.actor is not None and speaker.pid >= 0:
        return ("actor", who.node, speaker.pid)
    node = who.node or host(who.name.node)
    return ("node", node) if node is not None else ("source", who.name.group or speaker.source)
