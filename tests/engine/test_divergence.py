"""Divergence: each kind, healthy noise, what is pending, and that live and offline agree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from l4tui.engine.discovery import discover
from l4tui.engine.divergence import Divergence, Mark, survey
from l4tui.engine.job import Job
from l4tui.engine.library import load
from l4tui.engine.report.divergence import divergence_tables
from l4tui.engine.rows import RowBuilder
from l4tui.engine.snapshot import Snapshot
from tests.engine.small_jobs import Growing, read, stamp, trainer

JOBS = Path(__file__).parents[3] / "shared" / "cases" / "jobs"
STEPS = 30
Odd = Callable[[int, int], list[str]]


def job(folder: Path, odd: Odd | None = None, ranks: int = 8, ends: list[str] | None = None) -> Snapshot:
    return read(folder / "job.log", [*trainer(STEPS, ranks, odd), *(ends or clean(ranks))]).snapshot()


def clean(ranks: int) -> list[str]:
    return [f"{r}: {stamp(STEPS + 1 + r / 100)} - INFO - train.py:90 - done" for r in range(ranks)]


def crash(ranks: int, culprit: int) -> list[str]:
    lines = []
    for r in [culprit, *(r for r in range(ranks) if r != culprit)]:
        error = "ValueError: bad shard" if r == culprit else "RuntimeError: Connection closed by peer"
        line = 40 if r == culprit else 50
        lines += [
            f"{r}: Traceback (most recent call last):",
            f'{r}:   File "train.py", line {line}, in fit',
            f"{r}: {error}",
        ]
    return lines


def stops(snap: Snapshot) -> list[Divergence]:
    return survey(snap).stops


def test_healthy_noise_makes_no_stop(tmp_path: Path) -> None:
    def noise(step: int, rank: int) -> list[str]:
        return ["WARNING - io.py:5 - slow read of 3 s"] * (step % 7 == rank) + ["ERROR - m.py:9 - push failed"] * (
            step == 20 and rank == 5
        )

    snap = job(tmp_path, noise)
    found = survey(snap)
    assert found.stops == []
    assert Mark.MINORITY in found.marks and Mark.STOP not in found.marks


def test_first_exception_comes_first(tmp_path: Path) -> None:
    snap = job(tmp_path, ends=crash(8, 5))
    first = stops(snap)[0]
    assert (first.kind, first.ranks) == ("extra", (5,))
    assert snap.text(first.entry) == "ValueError: bad shard"
    found = survey(snap).found
    assert {d.kind for d in found if d.ranks == (5,)} == {"extra", "missing", "order"}
    elsewhere = next(d for d in found if d.kind == "order")
    assert "train.py:40" in elsewhere.words and "train.py:50" in elsewhere.words


def test_who_stood_elsewhere_is_found_among_thousands(tmp_path: Path) -> None:
    lines = [re.sub(r"^(\d+):", r"[rank\1]:", line) for line in [*trainer(2, 2500), *crash(2500, 5)]]
    snap = read(tmp_path / "job.log", lines).snapshot()
    elsewhere = [d for d in survey(snap).found if d.kind == "order" and d.ranks == (5,)]
    assert ["train.py:40" in d.words for d in elsewhere] == [True]


def test_a_late_complaint_of_a_rank_that_went_on(tmp_path: Path) -> None:
    ends = clean(8)
    ends.insert(-1, f"7: {stamp(STEPS + 1)} - WARNING - net.py:4 - accept failed")  # the others are done already
    assert stops(job(tmp_path, ends=ends)) == []


def test_plain_words_after_an_exception_are_no_progress(tmp_path: Path) -> None:
    lines = [f"{r}: {stamp(r / 100)} - INFO - init.py:1 - joining as rank {r} of 8" for r in range(8)]
    for r in range(2, 8):
        lines += [
            f"{r}: Traceback (most recent call last):",
            f"{r}: ValueError: invalid usage",
            f"{r}: this is often a mix of versions",
        ]
    found = stops(read(tmp_path / "job.log", lines).snapshot())
    assert [(d.kind, d.ranks) for d in found] == [("missing", (0, 1))]


def test_report_tables(tmp_path: Path) -> None:
    snap = job(tmp_path, ends=crash(8, 5))
    first = divergence_tables(snap, load())[0]
    line = 1 + next(i for i, text in enumerate((tmp_path / "job.log").read_text().splitlines()) if "ValueError" in text)
    assert (first["kind"], first["ranks"], first["stop"]) == ("extra", [5], True)
    assert first["lines"] == [[str(tmp_path / "job.log"), line, line]]


def test_a_rank_that_falls_silent(tmp_path: Path) -> None:
    def is_kept(line: str) -> bool:
        step = line.partition("- step ")[2].partition(" ")[0]
        return not (line.startswith("3:") and step.isdigit() and int(step) > 14)

    lines = [line for line in [*trainer(STEPS, 8), *clean(8)] if is_kept(line)]
    snap = read(tmp_path / "job.log", lines).snapshot()
    assert [(d.kind, d.ranks, d.iteration) for d in stops(snap)] == [("missing", (3,), 15)]


def test_a_value_that_is_no_number(tmp_path: Path) -> None:
    lines = [
        line.replace("local loss 2.", "local loss nan") if line.startswith("6:") and "step 20 " in line else line
        for line in [*trainer(STEPS, 8), *clean(8)]
    ]
    found = stops(read(tmp_path / "job.log", lines).snapshot())
    assert [(d.kind, d.ranks, d.iteration) for d in found] == [("value", (6,), 20)]


def test_numbers_far_off_for_good(tmp_path: Path) -> None:
    def slow(step: int, rank: int) -> list[str]:
        return [f"INFO - t.py:7 - forward {400 + step if rank == 2 and step > 12 else 100 + rank + step % 3} ms"]

    found = stops(job(tmp_path, slow))
    assert [(d.kind, d.ranks) for d in found] == [("value", (2,))]
    assert "is usual" in found[0].words


def test_words_of_one_rank(tmp_path: Path) -> None:
    def loads(step: int, rank: int) -> list[str]:
        return [f"INFO - a.py:3 - attention backend {'eager' if rank == 4 else 'flash'} chosen"] * (step == 1)

    found = stops(job(tmp_path, loads))
    assert [(d.kind, d.ranks) for d in found] == [("value", (4,))]


def test_complaints_again_and_again(tmp_path: Path) -> None:
    found = stops(job(tmp_path, lambda step, rank: ["WARNING - io.py:5 - retry 1 of 5"] * (rank == 7 and step > 11)))
    assert [(d.kind, d.ranks, d.iteration) for d in found] == [("extra", (7,), 13)]  # after the line that ends 12


def test_later_than_before(tmp_path: Path) -> None:
    lines = []
    for line in [*trainer(60, 8), *clean(8)]:
        step = line.partition("- step ")[2].partition(" ")[0]
        if line.startswith("1:") and step.isdigit() and int(step) > 40:
            line = line.replace(f":{int(step) % 60:02d},010", f":{int(step) % 60:02d},990")
        lines.append(line)
    found = survey(read(tmp_path / "job.log", lines).snapshot()).found
    assert [(d.kind, d.ranks) for d in found if d.is_stop] == [("late", (1,))]


def test_two_ranks_accuse_nobody(tmp_path: Path) -> None:
    snap = job(tmp_path, ranks=2, ends=["1: Traceback (most recent call last):", "1: ValueError: bad shard"])
    found = stops(snap)
    assert found and all(d.ranks == () for d in found)


def test_fresh_lines_are_pending(tmp_path: Path) -> None:
    ends = [f"{r}: {stamp(STEPS + 1)} - ERROR - train.py:80 - lost peer" for r in range(7)]
    snap = job(tmp_path, ends=ends)
    assert [d.ranks for d in stops(snap)] == [(7,)]
    live = survey(snap, final=False)
    assert live.stops == [] and not live.found[0].is_settled and live.marks[live.found[0].row] == Mark.PENDING
    later = job(tmp_path, ends=[*ends, f"0: {stamp(STEPS + 30)} - ERROR - train.py:81 - giving up"])
    assert (7,) in [d.ranks for d in survey(later, final=False).stops]


def test_the_launcher_speaks_for_the_dead(tmp_path: Path) -> None:
    ends = [
        "srun: error: n1: task 3: Killed",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
    ]
    snap = job(tmp_path, ends=ends)
    assert [snap.text(d.entry).removeprefix("srun: ") for d in stops(snap)] == ["error: n1: task 3: Killed"]


def told(snap: Snapshot, found: Sequence[Divergence]) -> list[tuple[object, ...]]:
    return sorted((d.kind, d.score, d.ranks, d.iteration, snap.templates[d.event], d.words, d.is_stop) for d in found)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_live_ends_as_offline(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(0, 7))
    noisy = data.draw(st.sets(st.tuples(st.integers(1, STEPS), st.integers(0, 7)), max_size=6))
    lines = [
        *trainer(STEPS, 8, lambda step, rank: ["WARNING - io.py:5 - slow read"] * ((step, rank) in noisy)),
        *(crash(8, culprit) if data.draw(st.booleans()) else clean(8)),
    ]
    whole = read(tmp_path_factory.mktemp("whole") / "job.log", ["# log", *lines]).snapshot()
    growing = Growing(tmp_path_factory.mktemp("live"))
    builder = RowBuilder()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(lines) - 1), max_size=5)))
    for a, b in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        growing.add("".join(f"{line}\n" for line in lines[a:b]))
        snap = growing.job.snapshot()
        table = builder.update(snap)
        survey(snap, table, final=False)
    assert told(snap, survey(snap, table).found) == told(whole, survey(whole).found)


@pytest.mark.skipif(not JOBS.is_dir(), reason="labelled cases are not here")
@pytest.mark.parametrize("case", sorted(p.name for p in JOBS.glob("*")) if JOBS.is_dir() else [])
def test_labelled_jobs(case: str) -> None:
    truth = json.loads((JOBS / case / "truth.json").read_text())
    paths = [str(p) for p in sorted((JOBS / case).iterdir()) if p.name not in ("truth.json", "healthy")]
    opened = Job(discover(paths).whole().sources)
    opened.read_all()
    snap = opened.snapshot()
    found = stops(snap)
    culprits = set(truth["culprit_ranks"])
    if truth["fault"].startswith("healthy"):
        assert len([d for d in found if d.iteration > 10]) <= 3
    elif culprits and len(culprits) < truth["world_size"] and truth["fault"] != "rank_kill":
        assert any(d.ranks and set(d.ranks) <= culprits for d in found[:3])
    elif truth["fault"] == "rank_kill":  # it says nothing; the launcher names its process
        assert any("exitcode: -9" in snap.text(d.entry) for d in found[:3])
