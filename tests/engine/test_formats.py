"""Format entries: every sample of every entry is a test."""

from __future__ import annotations

import pytest

from l4tui.engine.formats import Dialect, Format, Parser, built_in, check


@pytest.mark.parametrize("fmt", built_in(), ids=lambda fmt: fmt.name)
def test_entry_reads_its_own_samples(fmt: Format) -> None:
    assert check(fmt) == []
    assert fmt.samples, "an entry without a sample is untested"


@pytest.mark.parametrize("fmt", built_in(), ids=lambda fmt: fmt.name)
def test_dispatch_never_hides_a_match(fmt: Format) -> None:
    for sample in fmt.samples:
        if fmt.layer in ("prefix", "header", "tag"):
            assert fmt.first is None or sample.line[0] in fmt.first
            assert fmt.second is None or sample.line[1] in fmt.second
        assert fmt.key in sample.line
        assert not fmt.literals or any(text in sample.line.lower() for text in fmt.literals)


def test_a_logger_called_after_its_rank_tells_it() -> None:
    line = b"INFO:rank12:loading shard 6"
    spans = [(s.field, line[s.start : s.end]) for s in Parser(Dialect()).parse(line).spans]
    assert ("self_rank", b"12") in spans and "logger" not in dict(spans)
