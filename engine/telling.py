"""Telling: the lines of a block whose text the merge reads, for they say who is where or who writes."""

from __future__ import annotations

import numpy as np

from l4tui.engine.headings import RULES
from l4tui.engine.keys import LONGEST_KEY
from l4tui.engine.plans import NAMES, Plans
from l4tui.engine.segments import Segments
from l4tui.engine.trails import Trail

NEAR = 200  # lines between a traceback's line and text that may belong to it
Told = list[list[tuple[int, bytes]]]  # by part: entry in the part, and message


def taught(
    table: Plans, data: bytes, begin: np.ndarray, plan: np.ndarray, used: np.ndarray, speaker: np.ndarray,
    segments: Segments,
) -> Told:  # fmt: skip
    """Return each different telling line once per speaker; untagged ones each time, for they tell their writer."""
    out: Told = [[] for _ in segments.ends]
    if not table.teaches[used].any():
        return out
    known: set[tuple[int, int, bytes]] = set()
    rows = np.flatnonzero(table.teaches.take(plan))
    for i, k in zip(rows.tolist(), segments.of(rows).tolist(), strict=True):
        at = int(begin[i])
        parse = table.infos[int(plan[i])].parse
        end = data.index(b"\n", at)
        text = data[at + parse.text_at : end][:LONGEST_KEY]
        if text in RULES:  # what stands between two rules is a heading
            last = int(begin[min(i + 3, int(segments.ends[k])) - 1])
            text = data[at : data.index(b"\n", last)]
        told = (k, int(speaker[i]), text)
        if told not in known or NAMES.isdisjoint(span.field for span in parse.spans):
            known.add(told)
            out[k].append((i - int(segments.starts[k]), text))
    return out


def woven(
    table: Plans, data: bytes, begin: np.ndarray, plan: np.ndarray, used: np.ndarray, segments: Segments
) -> Told:
    """Return the lines that weaving reads; indented text only near a traceback, or where one may have begun."""
    out: Told = [[] for _ in segments.ends]
    if not table.told[used].any():
        return out
    told = table.told.take(plan)
    index = np.arange(len(told))
    near = np.maximum.accumulate(np.where((told > 0) & (told != Trail.CODE), index, 0))
    near = np.maximum(near, segments.first())
    rows = np.flatnonzero((told > 0) & ((told != Trail.CODE) | (index - near < NEAR)))
    for i, k in zip(rows.tolist(), segments.of(rows).tolist(), strict=True):
        at = int(begin[i])
        text_at = at + table.infos[int(plan[i])].parse.text_at
        text = data[text_at : min(data.index(b"\n", at), text_at + LONGEST_KEY)]
        out[k].append((i - int(segments.starts[k]), text))
    return out
