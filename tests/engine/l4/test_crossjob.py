"""The cross-job filter and its store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.evidence.record import Journal, Said, journal_of
from l4tui.engine.l4 import baselines
from l4tui.engine.l4.crossjob import FLOOD, CrossJob, mask, profile_of
from l4tui.engine.model import Level
from tests.engine.l4.jobs import healthy, merged, planted


def usual(baseline: CrossJob, journal: Journal) -> set[str]:
    return {t for t, is_usual in zip(journal.templates, baseline.usual(journal), strict=True) if is_usual}


def job(*lines: Said) -> Journal:
    return journal_of(list(lines))


def test_a_job_like_the_healthy_one_is_removed_whole_whatever_its_hosts_paths_and_numbers() -> None:
    other = merged(healthy(ranks=16, iterations=33, host="gpu-b"))
    baseline = CrossJob([profile_of(merged(healthy()), "a")])
    assert usual(baseline, other) == set(other.templates)


def test_what_healthy_jobs_never_wrote_is_kept() -> None:
    failed = merged(healthy(iterations=9), planted("ring exchange gave up", 3, 9))
    kept = set(failed.templates) - usual(CrossJob([profile_of(merged(healthy()), "a")]), failed)
    assert kept == {"ring exchange gave up"}


def test_a_higher_level_is_kept() -> None:
    calm = profile_of(job(Said("link speed changed", 0, level=Level.INFO)), "a")
    assert not usual(CrossJob([calm]), job(Said("link speed changed", 0, level=Level.ERROR)))
    assert usual(CrossJob([calm]), job(Said("link speed changed", 0, level=Level.DEBUG)))


@pytest.mark.parametrize(("jobs_with", "is_usual"), [(0, False), (1, False), (2, True), (4, True)])
def test_half_of_the_healthy_jobs_make_an_event_frequent(jobs_with: int, is_usual: bool) -> None:
    said, other = Said("retrying the fetch", 0), Said("all is well", 0)
    profiles = [profile_of(job(said, other) if n < jobs_with else job(other), str(n)) for n in range(4)]
    assert bool(usual(CrossJob(profiles), job(said))) is is_usual


def test_a_flood_of_a_usual_event_is_kept() -> None:
    baseline = CrossJob([profile_of(job(Said("retrying the fetch", 0), Said("x", 1)), "a")])
    few = job(*[Said("retrying the fetch", 1)] * FLOOD)
    many = job(*[Said("retrying the fetch", 1)] * (FLOOD + 1))
    assert usual(baseline, few) and not usual(baseline, many)


def test_a_long_job_may_write_more() -> None:
    short, long = merged(healthy(iterations=5)), merged(healthy(iterations=500))
    assert usual(CrossJob([profile_of(short, "a")]), long) == set(long.templates)


@pytest.mark.parametrize("loss", ["nan", "inf", "-inf"])
def test_no_number_is_no_number(loss: str) -> None:
    baseline = CrossJob([profile_of(job(Said("step 5 loss 2.5", 0)), "a")])
    assert usual(baseline, job(Said("step 9 loss 3.5", 0)))
    assert not usual(baseline, job(Said(f"step 9 loss {loss}", 0)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("reading /mnt/a/b/c.bin now", "reading /data/x.bin now"),
        ("lr -<*>e-<*> at <*>:<*>", "lr <*> at <*>"),
        ("took <*>.<*> ms", "took <*> ms"),
    ],
)
def test_masks_join_what_differs_between_jobs(one: str, other: str) -> None:
    assert mask(one) == mask(other)


def test_masks_keep_words_and_units_apart() -> None:
    assert mask("cuda:<*> lost") != mask("npu:<*> lost")
    assert mask("peer closed") != mask("peer opened")


words = st.lists(st.sampled_from(["ring", "peer", "<*>", "closed", "/a/b/c", "n<*>", "nan", "a=<*>,", ""]), max_size=6)


@given(st.lists(words.map(" ".join), min_size=1, max_size=12), st.lists(words.map(" ".join), max_size=12))
def test_any_job_explains_itself_and_more_jobs_of_its_kind_change_nothing(mine: list[str], other: list[str]) -> None:
    journal = job(*[Said(text, 0) for text in mine])
    own = CrossJob([profile_of(journal, "a")])
    assert own.usual(journal).all()
    both = CrossJob([*own.profiles, profile_of(job(*[Said(t, 0) for t in other]), "b")]) if other else own
    assert both.usual(journal).all()


def test_no_lines_at_all() -> None:
    empty = CrossJob([profile_of(job(), "a")])
    assert not usual(empty, job(Said("x", 0))) and not len(empty.usual(job()))


def test_baselines_are_plain_json_and_come_back(tmp_path: Path) -> None:
    one, two = profile_of(merged(healthy()), "one"), profile_of(merged(healthy(iterations=9)), "two")
    baselines.add("llama-8", [one], tmp_path)
    assert baselines.add("llama-8", [two], tmp_path) == (one, two)
    assert baselines.load("llama-8", tmp_path) == (one, two) and baselines.names(tmp_path) == ["llama-8"]
    table = json.loads((tmp_path / "llama-8.json").read_text())
    assert table["schema"] == baselines.SCHEMA and [j["name"] for j in table["jobs"]] == ["one", "two"]
    assert baselines.add("llama-8", [one._replace(lines=1)], tmp_path)[0].lines == 1  # read again: replaced
    baselines.remove("llama-8", tmp_path)
    assert baselines.names(tmp_path) == []
    with pytest.raises(baselines.BaselineError, match="no baseline"):
        baselines.remove("llama-8", tmp_path)


@pytest.mark.parametrize("name", ["", ".hidden", "../up", "a/b", "a b", "x" * 101])
def test_a_name_is_never_a_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(baselines.BaselineError, match="no name"):
        baselines.save(name, [], tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"schema": "l4tui.baseline/1"}', '{"schema": "l4tui.baseline/9", "jobs": []}', "[" * 9999,
     '{"schema": "l4tui.baseline/1", "jobs": [{"name": "a", "ranks": "x", "iterations": 1, "lines": 1, "events": []}]}',
     '{"schema": "l4tui.baseline/1", "jobs": [{"name": "a", "ranks": 1, "iterations": 1, "lines": 1, "events": [1]}]}'],
)  # fmt: skip
def test_a_damaged_file_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(baselines.BaselineError, match=r"bad\.json"):
        baselines.load("bad", tmp_path)
