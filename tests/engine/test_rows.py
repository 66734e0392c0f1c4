"""Collapsed rows: what is one row, in which order, and that any cut of the log gives the same rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from l4tui.engine.nodeset import nodeset
from l4tui.engine.outline import LINE, Folds, Outline
from l4tui.engine.rowkeys import KeyIndex
from l4tui.engine.rows import RowBuilder
from l4tui.engine.rowtable import RowFlag, RowTable
from l4tui.engine.rowvalues import row_texts
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.speakersets import SpeakerSets, _distinct
from tests.engine.small_jobs import Growing, read, stamp, trainer


def shown(snap: Snapshot, table: RowTable) -> list[tuple[int, str, str]]:
    """Return (iteration, ranks, text) of all rows in order."""
    rows = table.order.astype(np.int64)
    ranks = table.rank_texts(rows, snap.ranks)
    texts = [row.text for row in row_texts(snap, table, rows)]
    return list(zip(table.blocks.iteration[table.block[rows]].tolist(), ranks, texts, strict=True))


def content(snap: Snapshot, table: RowTable) -> set[tuple[object, ...]]:
    """Return the rows without their numbers: what must not depend on how the log came."""
    bits = table.sets.bits(np.arange(table.length))
    names = [tuple(snap.ranks.rank[np.flatnonzero(b)].tolist()) for b in bits]
    out = set()
    for row in table.order.tolist():
        block = table.block[row]
        members = tuple(sorted(names[row]))
        where = (int(table.blocks.attempt[block]), int(table.blocks.iteration[block]), int(table.blocks.stage[block]))
        template = snap.templates[table.event[table.signature[row]]]
        lines = len(table.entries(row))
        out.add(
            (where, template, int(table.occurrence[row]), members, int(table.count[row]), int(table.flags[row]), lines)
        )
    return out


def test_what_all_say_is_one_row(tmp_path: Path) -> None:
    snap = read(
        tmp_path / "job.log", trainer(3, odd=lambda step, r: ["WARNING - io.py:5 - slow read"] * (step == 2 == r))
    ).snapshot()
    table = RowBuilder().update(snap)
    assert shown(snap, table) == [
        (-1, "[0-3]", "building model on device 0..3"),
        (1, "0", "step 1/3 | loss 2.990 | lr 1.0e-04"),
        (1, "[0-3]", "step 1 local loss 2.9900..2.9930"),
        (2, "0", "step 2/3 | loss 2.980 | lr 1.0e-04"),
        (2, "[0-3]", "step 2 local loss 2.9800..2.9830"),
        (3, "2", "slow read"),
        (3, "0", "step 3/3 | loss 2.970 | lr 1.0e-04"),
        (3, "[0-3]", "step 3 local loss 2.9700..2.9730"),
    ]


def test_occurrences_are_rows_until_they_are_a_flood(tmp_path: Path) -> None:
    lines = [f" {r}: {stamp(r / 10)} - INFO - data.py:1 - opened shard {i}" for r in range(2) for i in range(80)]
    snap = read(tmp_path / "job.log", lines).snapshot()
    table = RowBuilder().update(snap)
    assert table.length == 65
    assert table.count.tolist() == [2] * 64 + [32]
    assert table.flags[64] == RowFlag.FLOODED
    assert len(table.entries(64)) == 32


def test_numbers_alone_are_never_merged_and_continuations_fold(tmp_path: Path) -> None:
    lines = ["0: 17 42", "1: 17 43", "0: failed at", "0:     deeper", "0:     deepest", "1: failed at"]
    snap = read(tmp_path / "job.log", lines).snapshot()
    table = RowBuilder().update(snap)
    assert table.length == 3
    assert [table.entries(row).tolist() for row in range(3)] == [[0], [1], [2, 3, 4, 5]]
    assert table.flags[:2].tolist() == [RowFlag.APART] * 2


def test_tracebacks_show_their_exception(tmp_path: Path) -> None:
    def crash(step: int, rank: int) -> list[str]:
        text = [
            "Traceback (most recent call last):",
            '  File "a.py", line 3, in f',
            f"{('Key', 'Value')[rank == 1]}Error: x",
        ]
        return [f"{rank}: {line}" for line in text] if step == 3 and rank < 3 else []

    snap = read(tmp_path / "job.log", trainer(3, odd=crash)).snapshot()
    table = RowBuilder().update(snap)
    last = shown(snap, table)[-3:]
    assert [(ranks, text) for _, ranks, text in last] == [
        ("[0-2]", "Traceback (most recent call last):"),
        ("[0,2]", "KeyError: x"),
        ("1", "ValueError: x"),
    ]


def test_outliers_are_named(tmp_path: Path) -> None:
    def line(step: int, r: int) -> str:
        took, loss = 900 if r == 5 else 100 + r, ("2.5", "nan")[r == 6]
        return f"{r}: {stamp(step + r / 100)} - INFO - t.py:1 - step {step} took {took} ms, loss {loss}"

    lines = [line(step, r) for step in range(2) for r in range(8)]
    snap = read(tmp_path / "job.log", lines).snapshot()
    table = RowBuilder().update(snap)
    first = row_texts(snap, table, np.array([0]))[0]
    assert first.text == "step 0 took 100..107 ms, loss 2.5"
    assert {(odd.rank, odd.text) for odd in first.odd} == {(5, "900"), (6, "nan")}
    assert [first.text[s.start : s.end] for s in first.spans] == ["100..107"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_cut_gives_the_same_rows(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    odd = data.draw(st.sets(st.tuples(st.integers(1, 6), st.integers(0, 3)), max_size=4))
    lines = list(trainer(6, odd=lambda s, r: ["WARNING - io.py:5 - slow", "INFO - io.py:6 - again"] * ((s, r) in odd)))
    folder = tmp_path_factory.mktemp("cut")
    whole = read(folder / "whole.log", ["# log", *lines]).snapshot()
    expected = content(whole, RowBuilder().update(whole))
    growing = Growing(tmp_path_factory.mktemp("live"))
    builder = RowBuilder()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(lines) - 1), max_size=6)))
    for a, b in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        growing.add("".join(f"{line}\n" for line in lines[a:b]))
        table = builder.update(growing.job.snapshot())
    assert content(growing.job.snapshot(), table) == expected
    gathered = RowBuilder()  # the same bit by bit, as the rows of a huge job are
    most = data.draw(st.integers(1, len(lines)))
    while len((table := gathered.update(whole, most)).row) < whole.length:
        pass
    assert content(whole, table) == expected
    positions = [table.position[row] for row in table.order]
    assert positions == list(range(len(positions)))


@pytest.mark.parametrize("pieces", [1, 3, 7])
def test_sources_without_markers_follow_the_others(tmp_path: Path, pieces: int) -> None:
    """Only one file says iterations; the other's lines belong to the iteration of their time."""
    texts = [[], []]
    for step in range(1, 20):
        texts[0].append(f"{stamp(step)} - INFO - t.py:1 - iteration {step}/20 | loss 1.0\n")
        texts[1].append(f"{stamp(step - 0.5)} - INFO - c.py:2 - cache hit rate 0.9\n")
    growing = Growing(tmp_path, ("a.log", "b.log"))
    builder = RowBuilder()
    size = -(-19 // pieces)
    for at in range(0, 19, size):
        for file in (0, 1):
            growing.add("".join(texts[file][at : at + size]), file)
        table = builder.update(growing.job.snapshot())
    snap = growing.job.snapshot()
    found = {
        table.blocks.iteration[table.block[r]]: text
        for r, (_, _, text) in zip(table.order, shown(snap, table), strict=True)
        if "cache" in text
    }
    assert sorted(found) == [-1, *range(2, 20)]


def test_files_read_one_after_another_stand_in_order_of_time(tmp_path: Path) -> None:
    """A later file tells what came first: rows and their first lines are those of a reading all at once."""
    parts = [
        [(30, "store closed"), (40, "cache flushed")],
        [(10, "shard opened"), (20, "store closed"), (50, "cache flushed")],
    ]
    for rank, ends in enumerate(parts):
        lines = [f"{stamp(1)} - INFO - t.py:1 - iteration 1/9 | loss 1.0"]
        lines += [f"{stamp(1 + ms / 1000)} - INFO - {part[:3]}.py:2 - {part}" for ms, part in ends]
        (tmp_path / f"rank{rank}.log").write_text("".join(f"{line}\n" for line in lines))
    snap = read(tmp_path).snapshot()
    builder = RowBuilder()
    builder.update(snap, 3)  # the first file
    table = builder.update(snap)
    texts = [text for _, _, text in shown(snap, table)]
    assert texts == ["iteration 1/9 | loss 1.0", "shard opened", "store closed", "cache flushed"]
    assert snap.rank(table.first[table.order]).tolist() == [0, 1, 1, 0]
    assert shown(snap, RowBuilder().update(snap)) == shown(snap, table)


def test_view_unfolds_and_finds(tmp_path: Path) -> None:
    snap = read(tmp_path / "job.log", trainer(3)).snapshot()
    table = RowBuilder().update(snap)
    folded = Outline(table)
    assert folded.length == len(table.order) + len(folded.blocks) * folded.has_rules
    row = int(table.row[snap.length - 1])
    unfolded = Folds(opened=frozenset({row}))
    view = Outline(table, folds=unfolded)
    assert view.length == folded.length + 4
    keys = view.keys(0, 100)
    assert [view.position(int(key)) for key in keys] == list(range(view.length))
    assert keys[-4:].tolist() == [LINE + e for e in table.entries(row)]
    assert view.entries(keys[-5:]).tolist() == [table.first[row], *table.entries(row)]
    only = np.zeros(snap.length, np.bool_)
    only[-1] = True
    assert Outline(table, only, unfolded).keys(0, 9).tolist() == [row, LINE + snap.length - 1]
    assert table.rows_of(np.array([0, 1, snap.length - 1])).tolist() == [0, row]


def test_nodeset() -> None:
    assert nodeset([3]) == "3"
    assert nodeset([]) == "[]"
    assert nodeset(np.array([0, 1, 2, 5, 8, 9])) == "[0-2,5,8-9]"
    assert nodeset([0, 2, 4, 6], most=2) == "[0,2,+2]"


def test_key_index_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("l4tui.engine.rowkeys.FRESH", 3)
    index = KeyIndex()
    for at in range(0, 20, 2):
        index.add(np.array([at * 7 % 20, 100 + at]), np.array([at, at + 1]))
    assert index.find(np.array([7 * 4 % 20, 104, 5])).tolist()[1:] == [5, -1]
    assert len(index) == 20


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 150)), max_size=400), st.integers(1, 60))
def test_speaker_sets_forget_nothing(pairs: list[tuple[int, int]], size: int) -> None:
    sets = SpeakerSets(open_bytes=1, fewest=4)
    truth: set[tuple[int, int]] = set()
    for at in range(0, len(pairs), size):
        part = pairs[at : at + size]
        rows, speakers = np.array([r for r, _ in part]), np.array([s for _, s in part])
        sets.grow(int(rows.max()) + 1, int(speakers.max()) + 1)
        sets.put(rows, speakers, np.unique(rows))
        truth |= set(part)
    if pairs:
        found = sets.frozen().bits(np.arange(sets.rows))
        assert set(zip(*(x.tolist() for x in np.nonzero(found)), strict=True)) == truth
        assert all(sets.has(np.array([r]), np.array([s]))[0] for r, s in truth)


def test_snapshot_fills_iterations_by_time(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "".join(f"{stamp(s)} - INFO - t.py:1 - iteration {s}/9 | loss 1.0\n" for s in range(1, 9))
    )
    (tmp_path / "b.log").write_text("".join(f"{stamp(s / 2)} - INFO - c.py:2 - hit rate 0.9\n" for s in range(1, 9)))
    snap = read(tmp_path).snapshot()
    silent = snap.source_of(np.arange(snap.length)) == 1
    assert (snap.columns["iteration"][silent] == -1).all()
    assert snap.iteration[silent].tolist() == [-1, 2, 2, 3, 3, 4, 4, 5]


def test_a_snapshot_of_the_same_lines_costs_nothing(tmp_path: Path) -> None:
    made = read(tmp_path / "job.log", trainer(3))
    builder = RowBuilder()
    table = builder.update(made.snapshot())
    assert builder.update(made.snapshot()) is table


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300), st.booleans()), max_size=60), st.integers(1, 5))
def test_frozen_sets_are_those_of_the_moment(steps: list[tuple[int, int, bool]], every: int) -> None:
    """Whatever is put, taken and frozen in between: each frozen copy holds what had been put by then."""
    sets, told = SpeakerSets(open_bytes=1, fewest=4), [set[int]() for _ in range(41)]
    sets.grow(41, 1)
    for n, (row, speaker, gone) in enumerate(steps):
        sets.grow(41, speaker + 1)
        one, who = np.array([row]), np.array([speaker])
        if gone and speaker in told[row]:
            sets.take(one, who)
            told[row].discard(speaker)
        else:
            sets.put(one, who, one)
            told[row].add(speaker)
        if n % every == 0:
            frozen = sets.frozen()
            assert [set(np.flatnonzero(bits).tolist()) for bits in frozen.bits(np.arange(41))] == told
            assert len(np.unique(frozen.of_row)) <= len({*map(frozenset, told)}) + frozen.packed.shape[0]


def test_single_ranks_differ_in_their_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = np.packbits(np.eye(1024, dtype=np.bool_), axis=1, bitorder="little")
    monkeypatch.setattr(np, "array_equal", lambda a, b: True)  # no second way
    distinct, place = _distinct(np.concatenate((packed, packed)))
    assert len(distinct) == 1024 and (distinct[place] == np.concatenate((packed, packed))).all()
