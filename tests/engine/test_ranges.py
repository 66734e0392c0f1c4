"""Ranges of sources mapped one after the other by one worker."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine import ranges
from l4tui.engine.clock import ClockContext
from l4tui.engine.discovery import discover
from l4tui.engine.formats import Dialect, detect


def line(k: int) -> str:
    stamp = f"2026-03-01 10:{k // 240 % 60:02d}:{k // 4 % 60:02d},{k % 1000:03d}"
    if k % 53 == 0:
        return f"[default{k % 4}]:object at 0x7f{k:08x} id {k * 7919:032x} was freed\n"
    return f"[default{k % 4}]:{stamp} INFO train.py:{100 + k % 9}: iteration {k // 4}/9000 | loss: {1 / (k + 1):.6f}\n"


def test_what_earlier_tasks_have_shown_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.log").write_text("".join(line(k) for k in range(6000)))
    source = discover([str(tmp_path)]).choose(0).sources[0]
    dialect = detect(source.pread(0, source.size()).split(b"\n"))
    whole = ranges.Range(source, 0, source.size(), dialect, ClockContext(), True)
    monkeypatch.setattr(ranges, "TASK", 100_000)
    tasks = list(ranges.tasks_of([whole], whole.end, 1, ()))
    assert len(tasks) > 2
    for task in tasks:
        warm, cold = list(ranges.mapped(task)), list(ranges.mapped(task))  # the same number again: nothing is kept
        for one, other in zip(warm, cold, strict=True):
            for name, mine, its in zip(one.part._fields, one.part, other.part, strict=True):
                if name == "plans":  # the shape of text that varies is that of the first line seen
                    mine, its = ([info._replace(shape=b"") for info in some] for some in (mine, its))
                assert np.array_equal(mine, its) if isinstance(mine, np.ndarray) else mine == its, name


def test_a_later_task_tells_an_earlier_one_nothing(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(line(53) + line(106))
    source = discover([str(tmp_path)]).choose(0).sources[0]
    whole = ranges.Range(source, 0, source.size(), Dialect(), ClockContext(), True)
    places = [0, len(line(53)), source.size()]
    pieces = [replace(whole, begin=begin, end=end) for begin, end in pairwise(places)]
    tasks = [ranges.Task((piece,), (), "reading", number) for number, piece in enumerate(pieces)]

    def shapes(task: ranges.Task) -> list[bytes]:
        return [info.shape for one in ranges.mapped(task) if isinstance(one, ranges.Mapped) for info in one.part.plans]

    later = shapes(tasks[1])
    earlier = shapes(tasks[0])
    assert earlier != later
    assert shapes(tasks[1]) == earlier
    assert shapes(replace(tasks[1], reading="another")) == later
