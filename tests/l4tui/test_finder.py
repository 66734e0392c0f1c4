"""One search of a job, run from more than one thread: every hit counts once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from l4tui.engine.snapshot import Snapshot
from l4tui.finder import Finder

hits = np.array([1, 4, 7])


def snapshot(length: int) -> Snapshot:
    return cast(Snapshot, SimpleNamespace(length=length))


def test_a_second_run_waits_for_the_first_and_finds_nothing_new() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def matcher(snap: Any, pattern: str, start: int, stop: threading.Event) -> Iterator[np.ndarray]:
        inside.set()
        go_on.wait(5)
        yield hits[hits >= start]

    finder = Finder("oom", matcher)
    runs = [threading.Thread(target=lambda: list(finder.run(snapshot(10)))) for _ in range(2)]
    for run in runs:
        run.start()
    assert inside.wait(5)
    go_on.set()
    for run in runs:
        run.join(5)
    assert finder.count == 3
    assert np.flatnonzero(finder.bits).tolist() == hits.tolist()
    assert not finder.running


def test_a_run_after_growth_searches_only_what_was_added() -> None:
    starts: list[int] = []

    def matcher(snap: Any, pattern: str, start: int, stop: threading.Event) -> Iterator[np.ndarray]:
        starts.append(start)
        yield hits[(hits >= start) & (hits < snap.length)]

    finder = Finder("oom", matcher)
    assert list(finder.run(snapshot(5))) == [2]
    assert list(finder.run(snapshot(10))) == [3]
    assert starts == [0, 5]


def test_an_older_snapshot_whose_turn_comes_later_takes_no_hits_away() -> None:
    def matcher(snap: Any, pattern: str, start: int, stop: threading.Event) -> Iterator[np.ndarray]:
        yield hits[(hits >= start) & (hits < snap.length)]

    finder = Finder("oom", matcher)
    assert list(finder.run(snapshot(10))) == [3]
    assert list(finder.run(snapshot(5))) == []
    assert (len(finder.bits), finder.covered, finder.count) == (10, 10, 3)
