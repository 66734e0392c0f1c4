"""Formats remembered by key: what they find is what asking each of them finds."""

import pytest

from l4tui.engine.formats import Format, built_in
from l4tui.engine.formats.candidates import Candidates
from l4tui.engine.formats.detection import _may_begin

LINES = [sample.line for fmt in built_in() for sample in fmt.samples if b"\r" not in sample.line]
PREFIXES = [fmt for fmt in built_in() if fmt.layer == "prefix"]


def begins(fmt: Format, text: bytes) -> bool:
    return fmt.regex.match(text) is not None


@pytest.mark.parametrize("digit", [b"0", b"3", b"9"])
def test_another_digit_changes_nothing(digit: bytes) -> None:
    rules = Candidates(PREFIXES, begins, _may_begin)
    rules.among(LINES)  # remembers
    texts = [b"", *(line.translate(bytes.maketrans(b"0123456789", digit * 10)) for line in LINES)]
    found = {i: [fmt.name for fmt in some if begins(fmt, text)] for i, text, some in rules.among(texts)}
    asked = {i: [fmt.name for fmt in PREFIXES if begins(fmt, text)] for i, text in enumerate(texts) if text}
    assert {i: names for i, names in found.items() if names} == {i: names for i, names in asked.items() if names}
