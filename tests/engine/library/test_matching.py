"""Which patterns a text may match: found for many texts at once as for each alone."""

import random

from l4tui.engine.evidence.record import Said, journal_of
from l4tui.engine.library.loading import load
from l4tui.engine.library.matching import LINES_PER_SHAPE, _that_may_match, scan
from l4tui.engine.library.pattern import zero_digits


def test_many_texts_at_once_are_as_each_alone() -> None:
    patterns = load().patterns
    samples = [zero_digits(text) for pattern in patterns for text in pattern.samples]
    chance = random.Random(7)
    texts = [*samples, "", "0", "ünïcode → rank 0", *(a + b for a, b in zip(samples, samples[5:], strict=False))]
    chance.shuffle(texts)
    found = _that_may_match(texts, patterns)
    assert found == [[pattern for pattern in patterns if pattern.may_match(text)] for text in texts]
    assert sum(map(len, found)) > len(samples) / 2
    assert _that_may_match([], patterns) == []


def test_of_a_flood_some_lines_of_every_rank_are_found() -> None:
    """A shape that 5,000 ranks write once, behind one rank's 6,000 lines of it."""
    error = "FloatingPointError: loss has been nan for 3 steps"
    flood = [Said(error, rank=0) for _ in range(6000)]
    journal = journal_of([*flood, *(Said(error, rank=rank) for rank in range(1, 5001))])
    hits = scan(journal, load()).hits
    assert {int(journal.rank[hit.row]) for hit in hits} == set(range(5001))
    assert sum(int(journal.rank[hit.row]) == 0 for hit in hits) == LINES_PER_SHAPE
