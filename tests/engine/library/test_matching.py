"""Which patterns a text may match: found for many texts at once as for each alone."""

import random

from l4tui.engine.library.loading import load
from l4tui.engine.library.matching import _that_may_match
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
