"""Entries made from events that a person has understood."""

from __future__ import annotations

import pytest

from l4tui.engine.library import load
from l4tui.engine.library.confirming import confirmed
from l4tui.engine.library.pattern import PatternError, Role, zero_digits


def test_an_event_becomes_a_pattern_of_its_words() -> None:
    text = "fan 3 of card 0x7f runs at 12.5 % (limit [40])"
    made = confirmed("fan <*> of card <*> runs at <*> % (limit [<*>])", text, cause="gpu", remedy="clean; replace")
    assert made.user and made.order == 0 and made.actions == ("clean", "replace")
    assert made.search(text) and made.search("fan 7 of card 0x10 runs at 3 % (limit [9])")
    assert not made.search("fan 3 of rack 0x7f runs at 12.5 % (limit [40])")
    assert made.may_match(zero_digits(text))


def test_a_known_pattern_keeps_what_it_knows() -> None:
    known = load().get("c10d.monitored-barrier")
    assert known is not None
    text = "Rank 3 failed to pass monitoredBarrier in 30000 ms"
    template = "Rank <*> failed to pass monitoredBarrier in <*> ms"
    made = confirmed(template, text, cause="network", note="a cable", known=known)
    assert made.id == "own.c10d.monitored-barrier" and made.blames == known.blames and made.role == known.role
    assert made.meaning == "a cable" and made.actions == known.actions and made.cause == "network"


def test_a_template_that_does_not_fit_gives_way_to_the_text() -> None:
    made = confirmed("all <*> different", "disk 12 is full", cause="storage")
    assert made.search("disk 99 is full") and made.role is Role.INITIATING


@pytest.mark.parametrize(("text", "cause"), [("12 34", "gpu"), ("words of a line", "moonshine")])
def test_what_cannot_be_known_again_is_refused(text: str, cause: str) -> None:
    with pytest.raises(PatternError):
        confirmed(text, text, cause=cause)
