"""Lines in which frameworks name their process once, among lines of all processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.reading import ranks_of

STEPS = [f"11/29/2026 10:01:{k:02} - INFO - fit - step {k} loss 2.{k}" for k in range(20)]
ORDER = (2, 0, 3, 1)
ONCE = {
    "timm": "distributed, 1 device each. Process {r}, total 4, device cuda:{r}.",
    "open_clip": "Device: cuda:{r}. Process (global: {r}, local {r}), total 4.",
    "colossal": "INFO     colossal - INFO: process rank {r} is bound to device {r}",
    "ultralytics": "DDP info: RANK {r}, WORLD_SIZE 4, DEVICE cuda:{r}",
    "accelerate": "Process index: {r}",
    "fairseq": "| initialized host gx-1 as rank {r} and device id {r}",
    "a greeting": "Hello from rank {r} of 4",
    "an MPI course's greeting": "Hello world from processor gx-1, rank {r} out of 4 processors",
    "an MPI course's process": "Process {r} of 4 is on gx-1",
    "the first person": "I am rank {r}",
    "transformers": "WARNING - fit - Process rank: {r}, device: cuda:{r}, n_gpu: 1, distributed training: True",
}


@pytest.mark.parametrize("name", ONCE)
def test_a_process_that_introduces_itself(tmp_path: Path, name: str) -> None:
    found = ranks_of(tmp_path, [*(ONCE[name].format(r=r) for r in ORDER), *STEPS])
    assert found == [*ORDER, *(None for _ in STEPS)]


def test_local_ranks_said_twice_are_of_two_nodes(tmp_path: Path) -> None:
    lines = [ONCE["transformers"].format(r=r) for r in (*ORDER, *ORDER)]
    assert set(ranks_of(tmp_path, [*lines, *STEPS])) == {None}
