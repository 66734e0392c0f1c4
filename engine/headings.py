"""Headings: lines that say whose lines follow, where many files or hosts were put into one text.

`tail` and `head` write ``==> logs/rank_3.log <==``, dshbak and ``clush -b`` a host between two rules, pssh and Ansible
a line that ends a host's work. Up to the next one, what follows is of that file or host; a name that tells a rank tells
it of each line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath

from l4tui.engine.filenames import names_of
from l4tui.engine.formats.labels import NO_HOST
from l4tui.engine.model import UNKNOWN, Speaker

RULES = (b"-" * 15, b"-" * 16)  # clush's and dshbak's: the line between two of them is a heading
NO_HEADING = ""
_OWN = "\n"  # of the lines of a heading itself
_FILE = re.compile(rb"==> (?=\S*[./\d])(\S{1,300}) <==")
_ENDED = re.compile(
    rb"\[\d+\] \d\d:\d\d:\d\d \[(?:SUCCESS|FAILURE)\] (?:\w+@)?([\w.-]+)(?: Exited with error code \d+)?|"
    rb"([\w.-]+) \| (?:SUCCESS|CHANGED|FAILED) \| rc=-?\d+ >>"
)
_HOST = re.compile(rb"([a-z](?=\S*\d)[a-z0-9_.-]{0,254}(?:\[[\d,-]+\][a-z0-9_.-]*)?)(?: \(\d+\))?")


def heading_of(text: bytes) -> str | None:
    """Return what a telling line heads, NO_HEADING where it heads something unknown; None where it is no heading.

    The text of a rule is that of three lines, fewer at the end of a block: what stands there is not known.
    """
    found = _FILE.fullmatch(text)
    if found is not None:
        return found[1].decode("utf-8", "replace")
    ended = _ENDED.fullmatch(text)
    if ended is not None:
        return "\n" + (ended[1] or ended[2]).decode()
    rule, _, rest = text.partition(b"\n")
    if rule not in RULES:
        return None
    named, _, end = rest.partition(b"\n")
    if not end:
        return NO_HEADING
    host = _HOST.fullmatch(named) if end == rule else None
    return None if host is None or NO_HOST.fullmatch(host[1].decode()) else "\n" + host[1].decode()


def cuts(told: Sequence[tuple[int, bytes]], speakers: Sequence[Speaker], current: str) -> list[tuple[int, str]]:
    """Return (entry, heading) from which on lines stand under it; entry 0 comes first.

    Args:
        told: telling lines of a block; speakers: who wrote each of them, as its own text shows it.
        current: the heading that the block begins under.
    """
    out = [(0, current)]
    for (entry, text), speaker in zip(told, speakers, strict=True):
        heading = heading_of(text) if entry >= out[-1][0] else None
        if heading is None or _is_tagged(speaker):
            continue
        if heading:
            out.append((entry, _OWN))
            entry += text.count(b"\n") + 1
        out.append((entry, heading))
    return out


def under(speaker: Speaker, heading: str) -> Speaker:
    """Return a speaker with what the heading of its lines tells and they do not."""
    if not heading or _is_tagged(speaker):
        return speaker
    if heading == _OWN:
        return speaker._replace(launcher=True)
    rank, node, stream = _told(heading)
    if speaker.rank >= 0 or speaker.self_rank >= 0:
        rank = UNKNOWN
    return speaker._replace(
        actor=heading.strip("\n"), rank=rank if rank >= 0 else speaker.rank, node=speaker.node or node,
        stream=speaker.stream or stream,
    )  # fmt: skip


def _is_tagged(speaker: Speaker) -> bool:
    return speaker.task >= 0 or speaker.local_rank >= 0 or speaker.actor is not None


@lru_cache(1024)
def _told(heading: str) -> tuple[int, str | None, str | None]:
    """Return the rank, node and stream that a heading names."""
    if heading.startswith("\n"):
        return UNKNOWN, heading[1:] if "[" not in heading else None, None
    name = names_of([PurePath(heading)])[0]
    return name.rank, name.node, name.stream
