"""Each rule of stages.toml is the first to match three lines of its own."""

import re
import tomllib
from importlib.resources import files

import pytest

RULES = tomllib.loads(files("l4tui.engine").joinpath("stages.toml").read_text("utf-8"))["rule"]
LEAST = 3

LINES = {  # (stage, then): lines of the rules that open it so, in the order of the file
    ("teardown", ""): [
        ["rank 1 exits cleanly", "[after training is done] datetime: x", "destroying process group", "RESULT,bert,1"]
    ],
    ("checkpoint", "back"): [
        [
            "successfully saved checkpoint from iteration 100",
            "wrote /out/iter_00040/rank_3.pt",
            "checkpoint of step 12 uploaded in 3 s",
        ],
    ],
    ("checkpoint", ""): [
        [
            "saving checkpoint at iteration 100 to /ckpt",
            "resuming from checkpoint /out/9",
            "waiting for the async checkpoint",
        ],
    ],
    ("eval", "back"): [["validation loss at iteration 20: 3.1", "eval_loss: 2.2", "evaluation done in 4 s"]],
    ("eval", ""): [["Evaluating on 512 samples", "***** Running Evaluation *****", "start validation of epoch 2"]],
    ("train", ""): [
        ["***** Running training *****", "starting training", "done with setup ..."],
        ["{'loss': 2.1, 'lr': 1e-4}", "Epoch 3:  12%|", '{"train_loss": 1.9, "step": 3}', "[5] train loss 3.1"],
        ["1000 loss=2.1", "batch 7 done, loss: 3.25", "120 | loss = 1.9"],
    ],
    ("data", "train"): [
        [
            "[after dataloaders are built] datetime: 2026-01-01",
            "(min, max) [after dataloaders are built]",
            "rank 0: [after dataloaders are built]",
        ],
    ],
    ("data", "model_build"): [["dataset is ready: 12 shards", "dataloaders built", "loaded the dataset in 3 s"]],
    ("data", ""): [
        ["> building train, validation, and test datasets ...", "tokenizer vocab size 512", "Generating train split"]
    ],
    ("model_build", "data"): [
        [
            "[after model, optimizer, and learning rate scheduler are built] datetime: x",
            "rank 0 [after model, optimizer are built]",
            "[after model, scheduler are built]",
        ],
    ],
    ("model_build", ""): [["building GPT model ...", "Loading checkpoint shards:  50%", "Building trainer..."]],
    ("init", "data"): [
        [
            "process group is ready",
            "time to initialize megatron (seconds): 3.1",
            "[after megatron is initialized] datetime: x",
        ]
    ],
    ("init", ""): [
        [
            "> initializing torch distributed ...",
            "setting random seeds to 1234",
            "n1:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1",
        ]
    ],
    ("launch", ""): [
        [
            "Starting elastic_operator with launch configs:",
            "WORLD INFO DICT: {'a': [0]}",
            "Started a local Ray instance.",
        ],
    ],
}


def numbered() -> list[tuple[int, list[str]]]:
    seen: dict[tuple[str, str], int] = {}
    out = []
    for at, rule in enumerate(RULES):
        key = rule["stage"], rule.get("then", "")
        nth = seen.setdefault(key, 0)
        seen[key] += 1
        rows = LINES.get(key, [])
        out.append((at, rows[nth] if nth < len(rows) else []))
    return out


@pytest.mark.parametrize(("at", "lines"), numbered(), ids=lambda v: str(v) if isinstance(v, int) else "")
def test_a_rule_is_first_for_its_lines(at: int, lines: list[str]) -> None:
    assert len(set(lines)) >= LEAST, RULES[at]
    for line in lines:
        first = next(
            n for n, rule in enumerate(RULES) if any(re.search(p, line, re.IGNORECASE) for p in rule["patterns"])
        )
        assert first == at, line
