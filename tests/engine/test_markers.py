"""Iteration markers: the number, and whether its line opens or closes the step."""

import pytest

from l4tui.engine.formats import Dialect, Parser
from l4tui.engine.model import Marker

PARSER = Parser(Dialect())
CLOSES = {
    " iteration     1200/  143066 | consumed samples:  1228800 | elapsed time per iteration (ms): 4313.7 |": 1200,
    " [2026-08-22 15:22:22.123456] iteration    12695/  115311 | consumed samples: 1 |": 12695,
    "2026-11-29 15:01:33,122 - trainer - DEBUG - trainer.py:263 - step 17 local loss 6.4598, times ms: data 1.0": 17,
    "2026-11-29 15:01:33,122 - trainer - INFO - trainer.py:258 - step 40/80 | loss 2.6 | lr 1.9e-03 | 285 tok/s": 40,
    "[titan] 2025-01-02 10:00:00,123 - root - INFO - step: 10  loss:  8.13  grad_norm:  1.2  memory: 47.6GiB": 10,
    "[2023-06-09 22:17:19,398] [INFO] [timer.py:264:stop] epoch=0/micro_step=20/global_step=10, RunningAvg=46.98": 10,
    "[2023-06-09 22:17:19,398] [INFO] [logging.py:75:log_dist] [Rank 0] step=10, skipped=0, lr=[0.001]": 10,
    "steps: 3 loss: 12.7902 iter time (s): 150.471 samples/sec: 6.805": 3,
    "INFO:tensorflow:loss = 2.30000, step = 20 (0.210 sec)": 20,
    "completed step: 9, seconds: 1.341, TFLOP/s/device: 257.929, loss: 0.000": 9,
    "Epoch: [3]  [  20/1562]  eta: 1:20:40  loss: 0.0883 (0.0822)  time: 0.950": 20,
    "2019-06-18 09:42:31,098 Node[0] Epoch[32] Batch [260-280]\tSpeed: 22225.91 samples/sec": 280,
    "DLL 2022-01-01 10:00:00.123456 - Iteration 4031 | train_loss : 0.8359": 4031,
    '{"ts": "2026-11-29T15:09:35.383Z", "level": "INFO", "rank": 9, "msg": "step 9 local loss 5.8541, times ms: 2"}': 9,
    '{"step": 7, "loss": 2.5}': 7,
    "2026-07-24 08:00:00 t4-b rank=5 step=1190 data=0.007s step_time=0.364s loss=1.5778": 1190,
    "step 26 | train loss 3.2 | 11 it/s": 26,
    "iter 12: loss 2.3, time 100.2ms, mfu 31%": 12,
    "  1%|          | 12/2064 [00:28<1:21:50,  2.80s/it]": 12,
    "saving checkpoint at iteration 40 to /mnt/ckpt/iter_0000040": 40,
    "validation loss at iteration 30 | lm loss value: 2.1": 30,
    "Epoch [2/10], Step [300/938], Loss: 0.4210": 300,
    "epoch 2 | batch 17/60 | loss 3.31": 17,
    "[epoch 1/3] [iter 40/120] lr 1e-3": 40,
    "loss 2.20, step 31": 31,
    "lm loss at step 33: 2.10": 33,
    "[31/400] loss: 2.10": 31,
    "epoch 4: 31/400 loss 2.10": 31,
    "[train][node 3] micro-step 44 | loss 2.0": 44,
    "train:  26%|##6 | 26/100 [00:04<00:10]2026-11-29 15:11:56,089 - t - DEBUG - step 27 local loss 3.1": 27,
}
OPENS = {
    "I0322 04:51:10.331866 140012774328064 trainer.py:501] Training: step 611": 611,
    "starting step 12": 12,
    "Begin iteration 7": 7,
    "2026-01-19 07:40:21 I step 40 dataloader: host RSS 182.0 GB": 40,
}
NEITHER = (
    "Loading checkpoint shards:  50%|##  | 2/4 [00:01<00:01]",
    "steps per epoch: 500",
    "Total optimization steps = 435",
    "warmup steps 100, decay steps 1000",
    "step 3 of 5: downloading weights",
    "epoch 2: batch size 64",
    "epoch 2/10 loss 3.1",
    "lowest loss since step 40",
    "best loss 1.91 at step 400",
    "[3/12] reading shards",
    "{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}",
    "global_step/sec: 4.71",
    "srun: error: n1: task 3: Exited with exit code 1",
    "compute capability 8.0, iteration time will be logged",
)


def marker(line: str) -> tuple[Marker, int | None]:
    """Return what a line does to the iteration, and its number."""
    raw = line.encode()
    parse = PARSER.parse(raw)
    found = [int(raw[s.start : s.end]) for s in parse.spans if s.field == "iter"]
    return parse.marker, found[0] if found else None


@pytest.mark.parametrize("line", CLOSES)
def test_closing(line: str) -> None:
    assert marker(line) == (Marker.CLOSE, CLOSES[line])


@pytest.mark.parametrize("line", OPENS)
def test_opening(line: str) -> None:
    assert marker(line) == (Marker.OPEN, OPENS[line])


@pytest.mark.parametrize("line", NEITHER)
def test_no_marker(line: str) -> None:
    assert marker(line) == (Marker.NONE, None)
