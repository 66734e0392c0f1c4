"""Stacks that somebody dumped from outside (py-spy): where each process stood, innermost call first."""

from __future__ import annotations

import re

import numpy as np

from l4tui.engine.evidence.case import Case
from l4tui.engine.model import UNKNOWN
from l4tui.engine.roles import Sighting

LONGEST = 400  # rows of one process' dump
_FRAME = re.compile(r"^\s+(?P<name>[\w.<>]+) \((?P<file>[^():]+):(?P<line>\d+)\)")
_THREAD = re.compile(r"^\s*Thread \S+ \(.*?\)(?P<name>.*)")
_LIBRARY = re.compile(
    r"(?:^|/)(?:torch|deepspeed|accelerate|transformers|threading|selectors|socket|queue|mpi4py)[/.]|-packages/"
)
_RANK = re.compile(r"(?:--(?:global[-_])?rank[= ]|--local[-_]rank[= ]|\bRANK=)(\d{1,7})\b")


def standing(case: Case) -> dict[int, tuple[str, int]]:
    """Return for each rank with a dump the innermost place in the program's own code, and the row that tells it."""
    heads = case.of("dump.process")
    out: dict[int, tuple[str, int]] = {}
    for at, head in enumerate(heads):
        rank = _rank(case, head)
        end = heads[at + 1].row if at + 1 < len(heads) else len(case.journal)
        place = _place(case, head.row + 1, min(end, head.row + LONGEST))
        if rank >= 0 and place is not None:
            out[rank] = place
    return out


def _rank(case: Case, head: Sighting) -> int:
    told = _RANK.search(head.text)
    if head.rank >= 0:
        return head.rank
    return case.homes.rank.get(int(head.groups["pid"]), int(told[1]) if told else UNKNOWN)


def _place(case: Case, first: int, end: int) -> tuple[str, int] | None:
    """Find the first frame of the main thread that is no library's, else its first frame."""
    j = case.journal
    rows = np.arange(first, end)
    rows = rows[j.source[first:end] == j.source[first - 1]].astype(np.int64)
    found: tuple[str, int] | None = None
    is_main = True
    for row, text in zip(rows.tolist(), j.read(rows), strict=True):
        if thread := _THREAD.match(text):
            is_main = not thread["name"].strip(" :") or "MainThread" in thread["name"]
        match = _FRAME.match(text) if is_main else None
        if match is None:
            continue
        place = (f"{match['file'].rsplit('/', 1)[-1]}:{match['line']} in {match['name']}", row)
        if not _LIBRARY.search(match["file"]):
            return place
        found = found or place
    return found
