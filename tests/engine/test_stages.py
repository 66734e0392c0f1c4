"""Stages: what messages open and close, and how that is carried."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4tui.engine.model import UNKNOWN, Marker
from l4tui.engine.stages import BACK, NAMES, NO_ACTION, StageCarry, action_of, carry_stages, stage_action

OPENS = {
    "launch": [
        "Starting elastic_operator with launch configs:",
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default",
        "rank 3 starts on n1, local rank 3, pid 12, restart 0",
        "WORLD INFO DICT: {'localhost': [0, 1]}",
        "Started a local Ray instance.",
    ],
    "init": [
        "> initializing torch distributed ...",
        "initializing process group: backend=gloo rank=1 world_size=8",
        "Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/2",
        "| distributed init (rank 0): env://, gpu 0",
        "[Gloo] Rank 1 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3",
    ],
    "data": [
        "> building train, validation, and test datasets ...",
        "Loading dataset from /data/c4",
        "[after model, optimizer, and learning rate scheduler are built] datetime: x",
        "tokenizer vocab size 512, sequence length 32",
    ],
    "model_build": [
        "building GPT model ...",
        " > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 1",
        "Loading checkpoint shards:  50%|##   | 1/2 [00:01<00:01]",
        "parameters on rank 5: 132992 (0.13 M)",
    ],
    "train": [
        "training ...",
        "***** Running training *****",
        "entering train loop",
        "[before the start of training step] datetime: x",
        "training starts at step 1 of 80",
        "begin of fine-tuning, 900 micro steps",
        "solver starts, max_iter 900",
        "fit_begin max_steps=900",
    ],
    "checkpoint": [
        "saving checkpoint at iteration 100 to /ckpt in torch_dist format",
        "Saving model checkpoint to out/checkpoint-500",
        'File "/opt/lib/megatron/checkpointing.py", line 3, in save_checkpoint',
        "could not write /mnt/ckpt/iter_0000040/rank_00004.pt: No space left on device",
        "writing snapshot of step 40",
        "Saving current state to out/40",
        "snapshot_begin step=40",
    ],
    "eval": [
        "Evaluating on 512 samples",
        "***** Running Evaluation *****",
        'File "train.py", line 88, in evaluate',
        "Validate epoch: 1, rank: 1",
        "Iteration 500, Testing net (#0)",
        "validation_begin step=40",
        "checking on the held-out set",
        "Validation: |          | 0/? [00:00<?, ?it/s]",
    ],
    "teardown": [
        "rank 1 exits cleanly",
        "destroying process group",
        "[after training is done] datetime: x",
        "Optimization Done.",
        "fit finished",
    ],
}
SILENT = (
    "step failed: bad shard", "loss scale reduced", "memory snapshot written to mem.pickle", "heap snapshot_1 saved",
    'File "/opt/torch/utils/checkpoint.py", line 3, in checkpoint',
    "Sending process 12 closing signal SIGTERM", "failed (exitcode: -9) local_rank: 3 (pid: 12) of binary: python",
)  # fmt: skip


def of(action: int) -> tuple[str, str]:
    """Return the stage of the line and of the lines after it."""
    own, then = divmod(action - 1, BACK + 1)
    return NAMES[own], (*NAMES, "back")[then]


@pytest.mark.parametrize(("stage", "text"), [(stage, text) for stage, texts in OPENS.items() for text in texts])
def test_openings(stage: str, text: str) -> None:
    own, then = of(stage_action(text.encode()))
    assert stage in (own, then)
    shape = text.replace("1", "0").encode()
    assert stage_action(shape) == stage_action(text.encode())


@pytest.mark.parametrize("text", SILENT)
def test_other_lines_say_nothing(text: str) -> None:
    assert stage_action(text.encode()) == NO_ACTION


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("checkpoint", "Finished saving the checkpoint (or staging if async is enabled) in 0.10 seconds."),
        ("checkpoint", "snapshot /fs/40 written (0.31s)"),
        ("checkpoint", "model weights saved in /out/40/model.bin"),
        ("checkpoint", "[Torch] Saved global_step40/mp_rank_00_model_states.pt."),
        ("eval", "[eval] step 40 loss 3.2"),
        ("eval", "Test: [ 0/ 4]  Time 0.012  Loss 5.1e+00"),
        ("eval", "held-out loss 3.2"),
        ("eval", "validate step: 40  loss:  5.1000"),
    ],
)
def test_what_ends_lets_the_interrupted_go_on(stage: str, text: str) -> None:
    assert of(stage_action(text.encode())) == (stage, "back")


def test_closings() -> None:
    assert of(stage_action(b"successfully saved checkpoint at iteration 40")) == ("checkpoint", "back")
    assert of(stage_action(b"validation loss at iteration 40 | lm loss value: 2.0")) == ("eval", "back")
    assert of(stage_action(b"process group ready after 0.8s")) == ("init", "data")
    assert of(stage_action(b"dataset ready: 16 shards")) == ("data", "model_build")


def test_a_marker_is_training() -> None:
    assert of(stage_action(b"anything 5", Marker.CLOSE)) == ("train", "train")
    assert of(stage_action(b"saving checkpoint at iteration 5", Marker.CLOSE)) == ("checkpoint", "checkpoint")


INIT, MODEL, TRAIN, CKPT, END = (
    NAMES.index(name) for name in ("init", "model_build", "train", "checkpoint", "teardown")
)


def test_checkpoint_returns_to_what_it_interrupted() -> None:
    actions = np.array([0, action_of(TRAIN, TRAIN), 0, action_of(CKPT, CKPT), 0, action_of(CKPT, BACK), 0])
    stages = carry_stages(actions, np.zeros(7, np.int64), StageCarry())
    assert stages.tolist() == [UNKNOWN, TRAIN, TRAIN, CKPT, CKPT, CKPT, TRAIN]


def test_silent_lanes_follow_their_source() -> None:
    actions = np.array(
        [action_of(INIT, INIT), action_of(MODEL, MODEL), action_of(TRAIN, TRAIN), 0, 0, action_of(END, END), 0, 0]
    )
    lane = np.array([0, 1, 0, 1, 2, 0, 0, 1])
    stages = carry_stages(actions, lane, StageCarry()).tolist()
    assert stages == [INIT, MODEL, TRAIN, TRAIN, TRAIN, END, END, TRAIN]


def test_sources_do_not_mix() -> None:
    carry = StageCarry()
    carry_stages(np.array([action_of(TRAIN, TRAIN)]), np.array([0]), carry, sources=[0])
    assert carry_stages(np.array([0]), np.array([1]), carry, sources=[1]).tolist() == [UNKNOWN]
    assert carry_stages(np.array([0]), np.array([2]), carry, sources=[0]).tolist() == [TRAIN]


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, len(NAMES) * (BACK + 1)), st.booleans()), max_size=60)


@given(ROWS, st.lists(st.integers(1, 9), max_size=60))
def test_any_cut_gives_the_same_stages(rows: list[tuple[int, int, bool]], cuts: list[int]) -> None:
    lane = np.array([row[0] for row in rows], np.int64)
    actions = np.array([row[1] if row[2] else 0 for row in rows], np.int64)
    whole = carry_stages(actions, lane, StageCarry())
    carry, at, parts = StageCarry(), 0, [np.zeros(0, np.int8)]
    for size in [*cuts, len(rows)]:
        parts.append(carry_stages(actions[at : at + size], lane[at : at + size], carry))
        carry = pickle.loads(pickle.dumps(carry))
        at += size
    assert np.concatenate(parts).tolist() == whole.tolist()


@given(st.binary(max_size=300))
def test_any_bytes_have_an_action(text: bytes) -> None:
    assert 0 <= stage_action(text) <= len(NAMES) * (BACK + 1)
