"""No pattern goes back and forth for long on a line that was made to make it: a log is anybody's text."""

from __future__ import annotations

import re
import signal
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

import l4tui.engine
from l4tui.engine import facts
from l4tui.engine.formats import built_in
from l4tui.engine.library import load
from l4tui.engine.library.pattern import LONGEST_TEXT

MOST_S = 0.1  # CPU; a line takes 8 ms at most, one that costs the square of its length from 80 ms to minutes
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
TOKENS = 40  # of a sample that are repeated
COMMON = (" ", "0", "a", "a.", "1 ", "[", ":")


def hostile(samples: list[str], length: int) -> Iterator[str]:
    """Yield lines that begin like a sample, repeat its next words up to a length, and then end otherwise."""
    for sample in samples[:2]:
        tokens = TOKEN.findall(sample[:600])
        for at, token in enumerate(tokens[:TOKENS]):
            head = "".join(tokens[:at])
            for again in (token, token[-1:]):
                yield (head + again * (length // len(again)))[: length - 1] + "\x01"
    for text in COMMON:
        yield text * (length // len(text))


def slow(read: Callable[[str], object], samples: list[str], length: int) -> list[str]:
    """Return the beginnings of the lines that take long; at most one that takes for ever."""
    found = []
    for line in hostile(samples, length):
        began = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, 20 * MOST_S)
        try:
            read(line)
        except TimeoutError:
            return [*found, line[:80]]
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if time.process_time() - began > MOST_S:
            found.append(line[:80])
    return found


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """A regex looks for signals while it runs: one that takes for ever is a failure, and no endless test."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, end)
    yield
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("fmt", built_in(), ids=lambda fmt: fmt.name)
def test_formats(fmt) -> None:
    begins = fmt.layer in ("prefix", "header", "tag")
    look = fmt.regex.match if begins else fmt.regex.search
    samples = [sample.line.decode() for sample in fmt.samples]
    assert slow(lambda line: look(line.encode(), 0, fmt.reach), samples, fmt.reach) == []


@pytest.mark.parametrize("pattern", load().patterns, ids=lambda pattern: pattern.id)
def test_library(pattern) -> None:
    assert slow(pattern.search, [*pattern.samples], LONGEST_TEXT) == []


FACTS = tomllib.loads(Path(l4tui.engine.__file__).with_name("facts.toml").read_text("utf-8"))["fact"]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact["name"])
def test_facts(fact) -> None:
    regex = re.compile(fact["pattern"])
    assert slow(regex.search, [sample["line"] for sample in fact.get("samples", ())], facts.LONGEST) == []
