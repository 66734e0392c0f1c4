"""Drain with its inner loop in C; loaded only where a message is new, for it costs 170 ms of CPU."""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq

import drain3.drain


class Drain(drain3.drain.Drain):  # type: ignore[misc]
    """Drain as it comes, but for the comparison of a text with a template: a fifth of the time."""

    def get_seq_distance(self, seq1: Sequence[str], seq2: Sequence[str], include_params: bool) -> tuple[float, int]:
        """Return the share of a template's words that a text has, and how many of the template's are open."""
        words = len(seq1)
        if not words:
            return 1.0, 0
        opened = seq1.count(self.param_str)
        same = sum(map(eq, seq1, seq2))
        if opened and self.param_str in seq2:  # where both are open nothing is the same
            same -= sum(one == self.param_str == other for one, other in zip(seq1, seq2, strict=True))
        return (same + opened if include_params else same) / words, opened
