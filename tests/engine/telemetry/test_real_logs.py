"""Metrics of public logs against values read off by hand; skipped where the logs are not at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job
from l4tui.engine.telemetry import TelemetryIndex

CASES = Path(__file__).parents[4] / "shared" / "cases"

# log: {series: (unit, number of samples, ((iteration or None where the log tells none there, value), …))}
READ_OFF: dict[str, dict[str, tuple[str, int, tuple[tuple[int | None, float], ...]]]] = {
    "real/resnet-16r-mpirun-tags-healthy/job.log": {
        "Speed": ("samples/sec", 1140, ((60, 21302.56), (100, 21660.57), (380, 22359.40))),
        "accuracy": ("", 1140, ((60, 0.101683), (380, 0.778606))),
        "Validation-accuracy": ("", 15, ((None, 0.333440), (None, 0.432320))),
        "eval_accuracy": ("", 15, ((None, 0.32678), (None, 0.42434))),
    },
    "real/lora-512r-healthy-warns-after-end/job.log": {
        "train_loss": ("", 13, ((None, 1.2879319190979004), (None, 1.2342462539672852))),
        "eval_accuracy": ("", 19, ((None, 0.960378110408783),)),
        "lr": ("", 13, ((None, 0.00034704346030046284), (None, 0.00033626495688485734))),
    },
    "real/bert-48r-healthy-nccl-info/job.log": {
        "eval_loss": ("", 20, ((29, 4.246779918670654), (203, 2.7237062454223633), (579, 1.300707459449768))),
        "eval_mlm_accuracy": ("", 20, ((550, 0.7199201583862305), (579, 0.7207444310188293))),
        "throughput": ("", 21, ((None, 48430.31815493559),)),
    },
    "jobs/056-h8-healthy": {
        "local loss": ("", 800, ((1, 6.3900), (1, 6.4663), (7, 6.1944), (7, 6.1147), (7, 6.1017))),
        "data": ("ms", 800, ((1, 544.9), (1, 339.2), (7, 52.5))),
        "total": ("ms", 800, ((1, 1277.1), (7, 493.2))),
        "it/s": ("it/s", 80, ((100, 2.32), (6, 1.54))),
        "loss": ("", 100, ((100, 1.8844), (6, 6.1596))),
    },
    "real/gpt2-meg-16gpu-cancelled/job.log": {
        "lm loss": ("", 19, ((20, 12.03115), (30, 22.47505), (40, 12.55556))),
        "loss scale": ("", 20, ((10, 8388608), (20, 32768), (30, 16384))),
        "grad norm": ("", 18, ((30, 16.999), (40, 51.641))),
        "learning rate": ("", 20, ((10, 0), (20, 3.75e-5), (40, 1.499e-4))),
        "elapsed time per iteration": ("ms", 20, ((10, 2152.2), (20, 1354.9), (30, 1376.1))),
        "consumed samples": ("", 20, ((20, 80), (30, 120))),
        "number of skipped iterations": ("", 20, ((20, 8), (30, 1))),
        "lm loss value": ("", 2, ((100, 8.017406),)),
    },
    "real/megatron-16nodes-time-limit/16-node.out": {
        "lm loss": ("", 4, ((2, 60.76592), (3, 60.67391), (4, 60.71263))),
        "consumed tokens": ("", 4, ((2, 4194304), (3, 6291456), (4, 8388608))),
        "elapsed time per iteration": ("s", 4, ((2, 346.58), (3, 346.70), (4, 346.67))),
        "samples per second": ("", 4, ((2, 2.955), (3, 2.954))),
        "TFLOPs": ("", 4, ((2, 67.05), (4, 67.03))),
    },
    "jobs/081-y4-healthy/job.log": {
        "loss": ("", 80, ((1, 6.4324),)),
        "lr": ("", 80, ((1, 3e-4),)),
        "ms/step": ("ms/step", 80, ((1, 1363.9),)),
        "tok/s": ("tok/s", 80, ((1, 94),)),
        "local loss": ("", 320, ((1, 6.4279), (1, 6.4220), (1, 6.3883))),
        "forward": ("ms", 320, ((1, 245.2), (1, 232.3), (1, 177.0))),
    },
    "jobs/042-f16-healthy": {
        "loss": ("", 50, ((1, 6.445648), (2, 6.400754), (3, 6.378092))),
        "local loss": ("", 800, ((1, 6.3353), (1, 6.4044), (2, 6.4821), (2, 6.3939))),
        "backward": ("ms", 800, ((1, 637.9), (2, 707.8))),
    },
    "jobs/019-c8-healthy": {
        "lm loss": ("", 100, ((1, 6.40994), (2, 6.43909))),
        "throughput per rank": ("tok/s", 100, ((1, 154.5), (2, 367.0))),
        "grad norm": ("", 100, ((1, 0.464), (2, 0.449))),
        "data": ("ms", 400, ((2, 32.6), (2, 6.1))),
    },
}


@pytest.mark.parametrize("log", READ_OFF)
def test_metrics_are_those_a_person_reads(log: str) -> None:
    if not (CASES / log).exists():
        pytest.skip("the shared cases are not at hand")
    job = Job(discover([str(CASES / log)]).whole().sources)
    job.read_all()
    snap = job.snapshot()
    index = TelemetryIndex()
    index.update(snap)
    units = {summary.info.name: summary.info.unit for summary in index.names()}
    for name, (unit, samples, values) in READ_OFF[log].items():
        points = index.values(name, snap)
        assert units[name] == unit
        assert len(points.value) >= samples, name
        for iteration, value in values:
            at = points.value[points.iteration == iteration] if iteration is not None else points.value
            assert np.isclose(at, value, rtol=1e-12).any(), (name, iteration, value, at)
