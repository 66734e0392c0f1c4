"""Patterns that could take for ever are told from those that only look like it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.backtracking import is_endless
from l4tui.engine.view import validate

ENDLESS = (
    "(a+)+$", "(a*)*b", r"(\w+\s*)+:", "(a|a?)+$", "(.*)*x", "(?i)(a+A?)+!", r"(\d+\.?)+x", "(x+x+)+y", "(.*,)*x",
    r"^(([a-z])+.)+[A-Z]([a-z])+$", "(?:a+){20,}b", "((a+)+)+b$", "(a+|b)+c", "(?=(a+)+b)c",
    r"(a+?)*\b", "(é+)+x",
)  # fmt: skip
SOUND = (
    "(a+)+", r"(\d+\.)+x", "loss.*nan", "(foo|fob)*x", "(a|ab)*c", r"(\w|\d)*x", r"\bstep \d+/\d+", "(?:a+){2}b",
    "(ab?){3}x", r"[a-z]+@[a-z.]+", "(?>a+)+b", "(a++)+b", ".*.*x", r"(\w+\s)*x", "é+x", "[^\n]+$", "(?P<x>a+)(?P=x)",
    "", "(a+)+b?", "rank (?:[0-7]|1[0-5])$", r"(?:\S+ ){3,}error", "(^|,)x",
)  # fmt: skip


@pytest.mark.parametrize("pattern", ENDLESS)
def test_repeats_of_what_repeats_are_refused(pattern: str) -> None:
    assert is_endless(pattern)
    with pytest.raises(ValueError, match="for ever"):
        validate(pattern)


@pytest.mark.parametrize("pattern", SOUND)
def test_patterns_that_end_are_taken(pattern: str) -> None:
    assert not is_endless(pattern)
    validate(pattern)


@settings(max_examples=150, deadline=None)
@given(st.recursive(st.sampled_from(["a", "b", ".", "[ab]"]), lambda p: st.one_of(
    st.tuples(p, p).map("".join), st.tuples(p, p).map(lambda x: f"(?:{x[0]}|{x[1]})"),
    st.tuples(p, st.sampled_from(["*", "+", "?"])).map(lambda x: f"(?:{x[0]}){x[1]}")), max_leaves=6))  # fmt: skip
def test_what_is_taken_ends_soon(pattern: str) -> None:
    """Whatever is not refused is done with lines on which endless ones are not in a lifetime."""
    if is_endless(f"{pattern}!"):
        return
    found = re.compile(f"{pattern}!")
    began = time.process_time()
    for text in ("a" * 24, "ab" * 12, "b" * 24, "aab" * 8):
        assert found.search(text) is None
    assert time.process_time() - began < 20


def test_odd_patterns_are_said() -> None:
    for pattern in ("[unclosed", "a{99999999999}", "(" * 2000 + ")" * 2000):
        with pytest.raises(ValueError, match=r"."):
            validate(pattern)
