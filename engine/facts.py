"""Facts: what a line tells of who is where, read by the patterns of facts.toml."""

from __future__ import annotations

import base64
import binascii
import json
import re
import tomllib
from ast import literal_eval
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from l4tui.engine.model import UNKNOWN, Speaker

MOST_RANKS = 1 << 20  # a list that names more is no list of ranks
LONGEST = 4096  # bytes of a line that are searched
_NOBODY = Speaker(UNKNOWN)
_NUMBERS = ("rank", "local_rank", "node_index", "pid", "world_size", "nodes", "per_node", "attempt", "comm_size")


class About(IntEnum):
    """Whom a fact is about."""

    WRITER = 0  # the process that wrote the line
    PROCESS = 1  # a process, told by another
    NODE = 2  # the node of the agent or script that wrote the line
    JOB = 3
    PLACE = 4  # on which node ranks or tasks are
    TABLE = 5  # one row of a launcher's table; rows of one block belong together
    HEADING = 6  # whoever wrote the lines that follow


class Grade(IntEnum):
    """How far a fact is to be trusted."""

    WEAK = 1  # a program says it of itself
    STRONG = 2  # the framework or the launcher wrote it


class Fact(NamedTuple):
    """One thing a line tells; UNKNOWN and empty where it does not."""

    about: About
    grade: Grade
    speaker: Speaker
    rank: int = UNKNOWN
    local_rank: int = UNKNOWN
    node: str | None = None
    node_index: int = UNKNOWN
    pid: int = UNKNOWN
    world_size: int = UNKNOWN
    nodes: int = UNKNOWN
    per_node: int = UNKNOWN
    attempt: int = UNKNOWN
    comm_size: int = UNKNOWN  # the rank counts in a communicator of this size
    comm_id: str | None = None
    ranks: tuple[int, ...] = ()
    layout: tuple[tuple[str, tuple[int, ...]], ...] = ()  # node → its ranks, in the job's order
    ends: bool = False  # the process is no more
    console: bool = False  # the node's launcher shows logs of its workers here
    closes: bool = False  # a launcher's last word on its job
    begins: bool = False  # said at the start of a launcher or process


_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A pattern of facts.toml."""

    name: str
    about: About
    grade: Grade
    needs: tuple[bytes, ...]
    regex: re.Pattern[bytes]
    ends: bool = False
    closes: bool = False
    begins: bool = False


@cache
def lessons() -> tuple[Lesson, ...]:
    """Load facts.toml once."""
    table = tomllib.loads(Path(__file__).with_name("facts.toml").read_text(encoding="utf-8"))
    return tuple(
        Lesson(
            row["name"],
            About[row["about"].upper()],
            Grade[row["grade"].upper()],
            tuple(need.lower().encode() for need in row["needs"]),
            re.compile(row["pattern"].encode()),
            row.get("ends", False),
            row.get("closes", False),
            row.get("begins", False),
        )
        for row in table["fact"]
    )


@cache
def _any_need() -> re.Pattern[bytes]:
    needs = sorted({need for lesson in lessons() for need in lesson.needs})
    return re.compile(b"|".join(re.escape(need) for need in needs))


@lru_cache(1024)
def _candidates(key: bytes) -> tuple[Lesson, ...]:
    """Return the lessons that a message may hold, by its key in lower case: thousands of processes say the same."""
    return tuple(one for one in lessons() if any(need.translate(_ZEROS) in key for need in one.needs))


@cache
def _turning() -> re.Pattern[bytes]:
    needs = sorted({need for lesson in lessons() if lesson.closes or lesson.begins for need in lesson.needs})
    return re.compile(b"|".join(re.escape(need) for need in needs))


def turns(text: bytes) -> bool:
    """Say whether a message may close a job or begin one: a cheap test before `read`."""
    return _turning().search(text[:LONGEST].lower()) is not None


def teaches(text: bytes) -> bool:
    """Say whether a message tells something of who is where; for use once per new shape."""
    head = text[:LONGEST]
    low = head.lower()
    if _any_need().search(low) is None:
        return False
    some = _candidates(low.translate(_ZEROS))
    return any(any(need in low for need in one.needs) and one.regex.search(head) for one in some)


def read(text: bytes, speaker: Speaker) -> list[Fact]:
    """Return what a message tells; the speaker is the line's, with its source and epoch."""
    return [fact._replace(speaker=speaker) for fact in _read(text[:LONGEST])]


@lru_cache(256)  # a message is read for its restarts, its writer and its job
def _read(head: bytes) -> tuple[Fact, ...]:
    low = head.lower()
    if _any_need().search(low) is None:
        return ()
    found = []
    for one in _candidates(low.translate(_ZEROS)):
        if any(need in low for need in one.needs):
            match = one.regex.search(head)
            if match is not None:
                found.append(_fact(one, match.groupdict()))
    return tuple(found)


def spoken_by(told: list[Fact], speaker: Speaker) -> Speaker:
    """Return who wrote a line that tells its writer's rank: the speaker, with that rank where it shows none."""
    if speaker.launcher or speaker.rank >= 0 or speaker.self_rank >= 0:
        return speaker
    ranks = {(fact.grade, fact.rank) for fact in told if fact.about is About.WRITER and fact.comm_size < 0}
    best = max(ranks, default=(Grade.WEAK, UNKNOWN))
    if best[1] < 0 or sum(grade == best[0] and rank >= 0 for grade, rank in ranks) > 1:
        return speaker
    return speaker._replace(rank=best[1]) if best[0] is Grade.STRONG else speaker._replace(self_rank=best[1])


def attempt_told(text: bytes) -> int:
    """Return the restart that a message says its writer belongs to or begins; UNKNOWN where it says none."""
    low = text[:LONGEST].lower()
    if b"restart" not in low and b"attempt" not in low:
        return UNKNOWN
    return max((fact.attempt for fact in _read(text[:LONGEST])), default=UNKNOWN)


def _fact(one: Lesson, groups: dict[str, bytes | None]) -> Fact:
    text = {name: value.decode("ascii", "replace") for name, value in groups.items() if value is not None}
    numbers = {name: _number(text[name]) for name in _NUMBERS if name in text}
    if "peers" in text:
        numbers["comm_size"] = _number(text["peers"]) + 1
    if "turn" in text:
        numbers["attempt"] = _number(text["turn"]) - 1
    if "left" in text:
        numbers["attempt"] = max(UNKNOWN, _number(text["turns"]) - _number(text["left"]) + 1)
    if "standalone" in text:
        numbers["nodes"] = 1
    layout = _layout(text)
    if layout:
        numbers["world_size"] = sum(len(ranks) for _, ranks in layout)
        numbers["nodes"] = len(layout)
    ranks = expand(text.get("ranks") or text.get("tasks") or "")
    node = text.get("node", "").rstrip(".") or None
    return Fact(
        one.about, one.grade, _NOBODY, node=node, comm_id=text.get("comm_id"),
        ranks=ranks, layout=layout, ends=one.ends, console="console" in text, closes=one.closes, begins=one.begins,
        **numbers,
    )  # fmt: skip


def _number(text: str) -> int:
    """Return a number that fits the columns; UNKNOWN for a longer one."""
    return int(text) if len(text) < 10 else UNKNOWN


def expand(text: str) -> tuple[int, ...]:
    """Expand Slurm's and Python's lists of numbers: ``0-1,3`` and ``0, 1, 3``."""
    out: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or len(first) > 9 or (last and (not last.isdigit() or len(last) > 9)):
            continue
        if len(out) + int(last or first) - int(first) >= MOST_RANKS:
            return ()
        out.extend(range(int(first), int(last or first) + 1))
    return tuple(out)


def _layout(text: dict[str, str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Count ranks up in the order of a DeepSpeed host list."""
    try:
        if "world_info" in text:
            slots = json.loads(base64.urlsafe_b64decode(text["world_info"] + "=="))
        elif "layout" in text:
            slots = literal_eval(text["layout"])
        else:
            return ()
    except (ValueError, SyntaxError, binascii.Error, RecursionError, MemoryError):
        return ()
    if not isinstance(slots, dict):
        return ()
    out = []
    at = 0
    for node, devices in slots.items():
        if not isinstance(node, str) or not isinstance(devices, list):
            return ()
        out.append((node, tuple(range(at, at + len(devices)))))
        at += len(devices)
    return tuple(out)
