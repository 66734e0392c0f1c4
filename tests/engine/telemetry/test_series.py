"""Series read from lines: names, units, types and values as a person reads them off."""

from __future__ import annotations

import math
import re
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from l4tui.engine.telemetry import TelemetryIndex, Type, rules_from_config
from l4tui.engine.telemetry.fields import fields_of
from tests.engine.telemetry.jobs import job_of, snap_of

MEGATRON = (
    " iteration {i:8d}/    1000 | consumed samples: {s:12d} | elapsed time per iteration (ms): {t:.1f} |"
    " learning rate: {lr:.3E} | lm loss: {loss:.6E} | grad norm: {g} | number of nan iterations:   0 |\n"
)

AXES = {"iteration", "iteration total", "step", "step total", "epoch", "Iteration"}  # read, and not listed

# a line: {name: (value, unit)}; identity, times, versions, paths and ranges are no values
READ_OFF = [
    (
        "iteration       20/    1000 | elapsed time per iteration (ms): 1354.9 | lm loss: 1.203115E+01 | nan rows: 0 |",
        {
            "iteration": (20, ""), "iteration total": (1000, ""), "elapsed time per iteration": (1354.9, "ms"),
            "lm loss": (12.03115, ""), "nan rows": (0, ""),
        },
    ),
    (
        "step 7 local loss 6.45, times ms: data 291.1 forward 130.4 total 1285.4",
        {"step": (7, ""), "local loss": (6.45, ""), "data": (291.1, "ms"), "forward": (130.4, "ms"),
         "total": (1285.4, "ms")},
    ),
    (
        "step 1/80 | loss 6.4324 | lr 3.000e-04 | 1363.9 ms/step | 94 tok/s",
        {"step": (1, ""), "step total": (80, ""), "loss": (6.4324, ""), "lr": (3e-4, ""),
         "ms/step": (1363.9, "ms/step"), "tok/s": (94, "tok/s")},
    ),
    ("{'loss': 2.31, 'learning_rate': 5e-05, 'epoch': 0.1}",
     {"loss": (2.31, ""), "learning_rate": (5e-5, ""), "epoch": (0.1, "")}),
    ("{'loss': '3.913', 'learning_rate': '1.0416666666666668e-05', 'grad_norm': 'nan'}",
     {"loss": (3.913, ""), "learning_rate": (1.0416666666666668e-05, ""), "grad_norm": (math.nan, "")}),
    ("step:  1  loss:  7.98765  memory:  5.20GiB(6.60%)  tps: 12,345  mfu: 3.20%",
     {"step": (1, ""), "loss": (7.98765, ""), "memory": (5.2, "GiB"), "memory %": (6.6, "%"), "tps": (12345, ""),
      "mfu": (3.2, "%")}),
    ("Train:  12%|#2        | 1/8 [00:00<00:06, 1.10it/s, loss=2.31]",
     {"progress": (1, ""), "progress total": (8, ""), "it/s": (1.1, "it/s"), "loss": (2.31, "")}),
    ("epoch=0/micro_step=20, CurrSamplesPerSec=45.1, MemAllocated=2.1GB",
     {"epoch": (0, ""), "micro_step": (20, ""), "CurrSamplesPerSec": (45.1, ""), "MemAllocated": (2.1, "GB")}),
    ("time (ms) | forward: 0.50 | backward: 1.25", {"forward": (0.5, "ms"), "backward": (1.25, "ms")}),
    ("| epoch 003 | loss 4.2 | wps 1.5e+07 | gnorm 39.7 | wall 60",
     {"epoch": (3, ""), "loss": (4.2, ""), "wps": (1.5e7, ""), "gnorm": (39.7, ""), "wall": (60, "")}),
    ("done step: 9, seconds: 1.341, TFLOP/s/device: 257.9, Tokens/s/device: 36653.2, loss: -0.5",
     {"done step": (9, ""), "seconds": (1.341, ""), "TFLOP/s/device": (257.9, ""), "Tokens/s/device": (36653.2, ""),
      "loss": (-0.5, "")}),
    ("Iteration 4031 | train_acc : 0.7227 % | iteration_time : 71.67 ms",
     {"Iteration": (4031, ""), "train_acc": (0.7227, "%"), "iteration_time": (71.67, "ms")}),
    ("loss nan, scale inf", {"loss": (math.nan, ""), "scale": (math.inf, "")}),
    (':::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": "POINT", "key": "eval_acc", "value": 0.75,'
     ' "metadata": {"lineno": 33, "epoch_num": 4}}', {"eval_acc": (0.75, ""), "epoch_num": (4, "")}),
    (':::MLL 1560849010.052 eval_acc: {"value": 0.5, "metadata": {"lineno": 3}}', {"eval_acc": (0.5, "")}),
    ("times ms: forward nan backward 1.5", {"forward": (math.nan, "ms"), "backward": (1.5, "ms")}),
    ("Time 0.123 (0.456)\tTok/s 1234", {"Time": (0.123, ""), "Time #2": (0.456, ""), "Tok/s": (1234, "")}),
    ("Saved checkpoint to /data/iter_100/x.pt in 3.2s", {"Saved checkpoint": (3.2, "s")}),
    ("grad/layer.12: 0.5 grad/layer.13: 0.75", {"grad/layer.12": (0.5, ""), "grad/layer.13": (0.75, "")}),
    ("torch 2.13.0 at 10.0.0.7:29500 on 2026-01-02 10:11:12, ranks 0-7, fp16, H100, 12:30:45", {}),
    ("Channel 03/16 via P2P to rank 3 of device 2, Errno 5 on port 29500, gpu 85%", {"gpu": (85, "%")}),
    ("hidden_size .................... 4096", {}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "values"), READ_OFF, ids=[line[:40] for line, _ in READ_OFF])
def test_values_are_those_a_person_reads(line: str, values: dict[str, tuple[float, str]], tmp_path: Path) -> None:
    snap = snap_of(tmp_path, "start\n" + f"{line}\n" * 2)
    index = TelemetryIndex()
    index.update(snap)
    listed = {s.info.name: s.info.unit for s in index.names()}
    assert listed == {name: unit for name, (_, unit) in values.items() if name not in AXES}
    for name, (value, _) in values.items():
        np.testing.assert_array_equal(index.values(name, snap).value, [value, value])


def test_values_stand_at_their_rank_and_iteration(tmp_path: Path) -> None:
    lines = [f"{r}: step {i} loss {i + r / 10:.2f} acc: {i}%\n" for i in range(8, 13) for r in range(4)]
    snap = snap_of(tmp_path, "".join(lines))
    index = TelemetryIndex()
    index.update(snap)
    loss = index.values("loss", snap)
    assert loss.rank.tolist() == [0, 1, 2, 3] * 5
    assert loss.iteration.tolist() == np.repeat(np.arange(8, 13), 4).tolist()
    np.testing.assert_allclose(loss.value, loss.iteration + loss.rank / 10)
    assert index.values("acc", snap, [2]).value.tolist() == [8, 9, 10, 11, 12]
    by_name = {s.info.name: s for s in index.names()}
    assert by_name["acc"].info.type is Type.INT and by_name["loss"].info.type is Type.FLOAT
    assert by_name["loss"].spans and by_name["loss"].low == 8.0 and by_name["loss"].high == 12.3


def test_values_that_are_not_finite_belong_to_the_series(tmp_path: Path) -> None:
    text = "".join(
        MEGATRON.format(i=i, s=i * 4, t=100.5, lr=1e-4, loss=2.5 if i != 3 else 0, g="1.5" if i % 2 else "nan")
        for i in range(1, 7)
    )
    snap = snap_of(tmp_path, text)
    index = TelemetryIndex()
    index.update(snap)
    norm = index.values("grad norm", snap)
    assert norm.iteration.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.isnan(norm.value).tolist() == [False, True] * 3
    assert next(s for s in index.names() if s.info.name == "grad norm").odd == 3
    assert index.values("number of nan iterations", snap).value.tolist() == [0] * 6


def test_texts_are_series_too(tmp_path: Path) -> None:
    snap = snap_of(tmp_path, "step=1 phase=warmup device=cuda:0\nstep=2 phase=main device=cuda:1\n")
    index = TelemetryIndex()
    index.update(snap)
    assert [index.words[int(v)] for v in index.values("phase", snap).value] == ["warmup", "main"]
    assert [index.words[int(v)] for v in index.values("device", snap).value] == ["cuda:0", "cuda:1"]


def test_json_fields_on_both_sides_of_the_message(tmp_path: Path) -> None:
    row = '{{"ts": "2026-01-02T10:11:{i:02d}Z", "level": "INFO", "rank": 3, "lr": 0.{i}, "msg": "go", "loss": {v}}}\n'
    snap = snap_of(tmp_path, "".join(row.format(i=i, v=i * 1.5) for i in range(10, 20)))
    index = TelemetryIndex()
    index.update(snap)
    assert {s.info.name for s in index.names()} == {"lr", "loss"}
    assert index.values("loss", snap).value.tolist() == [i * 1.5 for i in range(10, 20)]


def test_coloured_lines_and_bars(tmp_path: Path) -> None:
    text = "".join(f"\x1b[31mstep: {i:2d}  \x1b[32mloss: {i / 2:7.3f}\x1b[0m\n" for i in range(1, 12))
    text += "a\r 10%|# | 1/10 [00:00<00:01, 9.00it/s]\r 20%|## | 2/10 [00:00<00:01, 8.50it/s]\n"
    snap = snap_of(tmp_path, text)
    index = TelemetryIndex()
    index.update(snap)
    assert index.values("loss", snap).value.tolist() == [i / 2 for i in range(1, 12)]
    assert index.values("it/s", snap).value.tolist() == [8.5]


def test_volatile_lines_are_read_one_by_one(tmp_path: Path) -> None:
    text = "".join(f"object {(i * 7919) % 2**40:#x} took {i}.5 ms\n" for i in range(100, 140))
    snap = snap_of(tmp_path, text)
    index = TelemetryIndex()
    index.update(snap)
    assert index.values("took", snap).value.tolist() == [i + 0.5 for i in range(100, 140)]


def test_query_gives_every_value_once_and_stops(tmp_path: Path) -> None:
    text = {f"log{n}": "".join(f"{n}: step {i} loss {i}.5\n" for i in range(50)) for n in range(5)}
    snap = job_of(tmp_path, **text).snapshot()
    index = TelemetryIndex()
    stop = Event()
    batches = list(index.query(snap, None, None, stop))
    assert {batch.name for batch in batches} == {"step", "loss"}
    entries = np.concatenate([batch.entry for batch in batches if batch.name == "loss"])
    assert sorted(entries.tolist()) == list(range(250))
    assert len(list(index.query(snap, ["loss"], [3], stop))) == 5
    stop.set()
    assert list(index.query(snap, None, None, stop)) == []


def test_values_past_the_bound_are_read_again(tmp_path: Path) -> None:
    text = {f"log{n}": "".join(f"{n}: step {i} loss {i}.5\n" for i in range(50)) for n in range(5)}
    snap = job_of(tmp_path, **text).snapshot()
    index = TelemetryIndex(most=150)
    assert index.update(snap)
    assert not index.update(snap)
    assert len(index.values("loss", snap).value) == 250
    assert {s.info.name: s.samples for s in index.names()} == {"loss": 250}


def test_what_only_counts_iterations_is_no_series(tmp_path: Path) -> None:
    line = "step {i} loss {v} Progress: {i}/99 at batch number {n}, seen samples: {i}, {i} ms\n"
    snap = snap_of(tmp_path, "".join(line.format(i=i, v=i / 7, n=i + 100) for i in range(10, 30)))
    index = TelemetryIndex()
    index.update(snap)
    assert {s.info.name for s in index.names()} == {"loss", "seen samples", "ms"}
    assert index.values("step", snap).value.tolist() == list(range(10, 30))


def test_spark_is_the_mean_over_ranks(tmp_path: Path) -> None:
    snap = snap_of(tmp_path, "".join(f"{r}: step {i} loss {i + r}\n" for i in range(10, 20) for r in range(3)))
    index = TelemetryIndex()
    index.update(snap)
    assert index.spark("loss", snap, 5).tolist() == [11.5, 13.5, 15.5, 17.5, 19.5]
    assert np.isnan(index.spark("no such", snap, 3)).all()


def test_own_rules_name_their_values(tmp_path: Path) -> None:
    rules = rules_from_config(
        [
            {
                "pattern": r"card (?P<card>\d+)~fan~(?P<fan>[\d.]+)",
                "name": "card {card} {value}",
                "units": {"fan": "%"},
                "samples": [{"line": "card 3~fan~41.5", "values": {"card 3 fan": "41.5"}}],
            },
            {"pattern": r"(?P<x>(a+)+)b"},
            {"pattern": r"(?P<x>\d+"},
            {"pattern": r"\d+"},
            {"pattern": r"(?P<x>\d+)", "samples": [{"line": "1", "values": {"x": "2"}}]},
        ]
    )
    assert len(rules.rules) == 1 and len(rules.warnings) == 4
    snap = snap_of(tmp_path, "card 3~fan~41.5\ncard 4~fan~40\nother\ncard 3~fan~43.5\n")
    index = TelemetryIndex(rules.rules)
    index.update(snap)
    assert index.values("card 3 fan", snap).value.tolist() == [41.5, 43.5]
    assert next(s for s in index.names() if s.info.name == "card 4 fan").info.unit == "%"


@pytest.mark.parametrize("line", ["loss: " + "9" * 400, "0" * 5000, "=" * 70, "a=" * 500, "loss: 1e999", "\xff=0: nan"])
def test_hostile_lines_do_no_harm(line: str, tmp_path: Path) -> None:
    snap = snap_of(tmp_path, f"{line}\nloss: 2\n".encode("latin-1"))
    index = TelemetryIndex()
    index.update(snap)
    assert 2 in index.values("loss", snap).value


def test_places_in_a_shape_are_places_in_bytes() -> None:
    shape = re.sub(r"\d+", "0", "损失 = 2.5, 12 µs".encode().decode("latin-1"))
    fields = fields_of(shape)
    assert [shape[f.start : f.end] for f in fields] == ["0.0", "0"]
    assert fields[1].unit == "µs"


def test_a_rate_between_two_values_names_the_second_where_nothing_else_does() -> None:
    def named(shape: str) -> list[tuple[str, str]]:
        return [(field.name, field.unit) for field in fields_of(shape)]

    assert named("step 0 loss 0.0 tok/s 0") == [("step", ""), ("loss", ""), ("tok/s", "")]
    assert named("throughput 0.0 tok/s, loss 0.0") == [("throughput", "tok/s"), ("loss", "")]
    assert named("speed 0.0 it/s 0 steps")[0] == ("speed", "it/s")
