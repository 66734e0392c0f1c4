"""What ranks write, for the tests of launcher formats: fifty messages, and the tags launchers put before them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

MESSAGES = (
    "starting worker, pid 4711, python 3.11",
    "[W1129 14:02:11.120000000 socket.cpp:697] [c10d] The client socket cannot connect yet, retrying",
    "W1129 14:02:11.730000 31215 site-packages/somelib/runner.py:74] cache is cold",
    "2026-11-29 14:02:12,001 [INFO] loaded 1024 shards in 3.2 s",
    "[2026-11-29 14:02:12,345] [INFO] [logging.py:96:log_dist] [Rank 0] micro batch 4",
    "step=1 loss=2.301 lr=1.0e-04 tok/s=10213",
    "step=2 loss=2.298 lr=1.0e-04 tok/s=10198",
    "Epoch: [0]  [ 20/3658]  eta: 0:08:25    time: 0.1390  data: 0.1249  max mem: 24815",
    " iteration        3/  143066 | consumed samples:         3072 | lm loss: 9.1E+00 |",
    "{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}",
    "gpu-07:811:902 [3] NCCL INFO comm 0x5581f0 rank 12 nranks 16 cudaDev 4 busId 97000 - Init COMPLETE",
    "Traceback (most recent call last):",
    '  File "/srv/train/main.py", line 88, in step',
    "    loss = model(batch)",
    "           ^^^^^^^^^^^^",
    "RuntimeError: CUDA error: device-side assert triggered",
    "",
    "   ",
    "terminate called after throwing an instance of 'c10::Error'",
    "  what():  connection reset by peer",
    "frame #3: run_loop + 0x1c (0x7f21aa in /usr/lib/libx.so)",
    "list of shards: [3, 1, 2]",
    "a[3] = 5; b[12] = 7",
    "see [2] for details",
    "ratio 3: 4",
    "node count: 4",
    "host gpu3: ready",
    "key\tvalue\t3",
    "name | value | 7",
    "50%|█████     | 10/20 [00:01<00:01, 9.8it/s]",
    "naïve café — ünïcödé 日本語",
    "bad byte \udcff inside",
    ':::MLLOG {"key": "run_start", "value": null}',
    "saved checkpoint to /ckpt/step_100",
    "rank 3: is a phrase here",
    "waiting for rank 5",
    "world_size=8",
    "validation loss at iteration 100 | lm loss value: 2.1",
    "memory (MB) | allocated: 10837.4 | max allocated: 11000.1",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.16 GiB. GPU 7 has a total capacity of 79 GiB",
    "time (ms) | forward: 0.00 | backward: 1.25",
    "I1129 14:02:27.765642 140414776675200 loop.py:10] compile took 3.1 s",
    "INFO:root:resuming from step 40",
    "x" * 90,
    "===== evaluation =====",
    "-----",
    "(3) third point",
    "<eos> token id 2",
    "throughput 3.2k/s > target",
    "bye",
)
assert len(MESSAGES) == 50

Tag = Callable[[int], str]


def lines_of(tag: Tag, ranks: int, messages: Iterable[str] = MESSAGES) -> list[tuple[bytes, int, bytes]]:
    """Return (line, rank, message) of ranks that take turns unevenly."""
    out = []
    for k, text in enumerate(messages):
        for turn in range(ranks):
            rank = (turn * 5 + k * 3) % ranks if ranks % 5 else (turn * 7 + k * 3) % ranks
            message = text.encode("utf-8", "surrogateescape")
            out.append((tag(rank).encode() + message, rank, message))
    return out
