"""What the ranks of a row said differently: ranges of numbers, and who is far off; for visible rows only."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import LineClass, Span
from l4tui.engine.numerals import Split, split_numbers, worth
from l4tui.engine.rowtable import RowTable
from l4tui.engine.snapshot import Snapshot

MOST_READ = 4096  # lines of a row whose values are compared
FAR = 8.0  # robust z from which a value is named
MOST_NAMED = 3

Ints = NDArray[np.int64]


class Odd(NamedTuple):
    """A rank whose value is far from the others', or whose words are."""

    rank: int  # −1 unknown
    entry: int
    text: str  # the value, or the whole message where its words differ


class RowText(NamedTuple):
    """A row as text: numbers that differ are written as ranges."""

    text: str
    spans: tuple[Span, ...]  # "range" fields, in characters of text
    odd: tuple[Odd, ...]
    lines: int  # lines of the row


def row_texts(snap: Snapshot, table: RowTable, rows: Ints) -> list[RowText]:
    """Read the lines of rows and return each as one text."""
    members = table.entries_of(rows)
    leads = []
    for entries in members:
        plans = snap.plan[entries]
        is_lead = (snap.record[entries] == entries) | (snap.plans.line_class[plans] == LineClass.RAISED)
        chosen = entries[is_lead] if is_lead.any() else entries[:1]
        leads.append(chosen[:MOST_READ])
    flat = np.concatenate(leads) if leads else np.zeros(0, np.int64)
    texts = snap.texts(flat.tolist())
    out, at = [], 0
    for entries, chosen in zip(members, leads, strict=True):
        out.append(_joined(snap, chosen, texts[at : at + len(chosen)])._replace(lines=len(entries)))
        at += len(chosen)
    return out


def _joined(snap: Snapshot, entries: Ints, texts: list[str]) -> RowText:
    """Join the messages of one row."""
    if not texts:
        return RowText("", (), (), 0)
    if len(set(texts)) == 1:
        return RowText(texts[0], (), (), 0)
    ranks = snap.rank(entries)
    parts = [split_numbers(text) for text in texts]
    usual = _most_common(parts)
    alike = [i for i, part in enumerate(parts) if part.words == usual]
    odd = [Odd(int(ranks[i]), int(entries[i]), texts[i]) for i, part in enumerate(parts) if part.words != usual]
    if 2 * len(odd) >= len(parts):
        odd = []
    columns = list(zip(*(parts[i].numbers for i in alike), strict=True))
    shown = []
    for numbers in columns:
        values = np.array([worth(number) for number in numbers])
        far = far_off(values) if len(alike) > 2 else np.zeros(0, np.int64)
        odd += [Odd(int(ranks[alike[i]]), int(entries[alike[i]]), numbers[i]) for i in far.tolist()]
        shown.append(_range(numbers, np.delete(values, far), np.delete(np.arange(len(values)), far)))
    text, spans = _written(usual, shown)
    return RowText(text, spans, tuple(odd[:MOST_NAMED]), 0)


def _most_common(parts: list[Split]) -> tuple[str, ...]:
    return Counter(part.words for part in parts).most_common(1)[0][0]


def _range(numbers: tuple[str, ...], values: NDArray[np.float64], at: Ints) -> str:
    low, high = int(at[np.argmin(values)]), int(at[np.argmax(values)])
    return numbers[low] if numbers[low] == numbers[high] else f"{numbers[low]}..{numbers[high]}"


def _written(words: tuple[str, ...], shown: list[str]) -> tuple[str, tuple[Span, ...]]:
    out, spans, at = [words[0]], [], len(words[0])
    for number, word in zip(shown, words[1:], strict=True):
        if ".." in number:
            spans.append(Span("range", at, at + len(number)))
        out += [number, word]
        at += len(number) + len(word)
    return "".join(out), tuple(spans)


def far_off(values: NDArray[np.float64], limit: float = FAR) -> Ints:
    """Return which values are no number, or far from the median of the others; at most a third of them."""
    finite = np.isfinite(values)
    odd = ~finite
    if finite.any():
        odd |= np.abs(robust_z(np.where(finite, values, np.median(values[finite])))) >= limit
    return np.flatnonzero(odd) if 3 * np.count_nonzero(odd) <= len(values) else np.zeros(0, np.int64)


def robust_z(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from the median in units of the usual spread (1.4826 MAD; at least 1 % of the median's size)."""
    middle = np.median(values)
    spread = max(1.4826 * float(np.median(np.abs(values - middle))), 0.01 * abs(float(middle)), 1e-12)
    return (values - middle) / spread
