"""Python tracebacks of the simulated program."""

from __future__ import annotations

TRAIN = "/workspace/train"
LIB = "/usr/local/lib/python3.11/dist-packages"
Frame = tuple[str, int, str, str]

MAIN: list[Frame] = [
    (f"{TRAIN}/pretrain.py", 71, "<module>", "main()"),
    (f"{TRAIN}/pretrain.py", 63, "main", "trainer.fit(loader)"),
]
FIT: list[Frame] = [*MAIN, (f"{TRAIN}/trainer.py", 178, "fit", "stats = self.train_step(next(batches))")]
FORWARD: list[Frame] = [
    *FIT,
    (f"{TRAIN}/trainer.py", 207, "train_step", "loss = self.model(tokens, labels)"),
    (f"{LIB}/torch/nn/modules/module.py", 1751, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)"),
    (f"{LIB}/torch/nn/modules/module.py", 1762, "_call_impl", "return forward_call(*args, **kwargs)"),
    (f"{TRAIN}/model.py", 203, "forward", "hidden = block(hidden, mask)"),
]
BACKWARD: list[Frame] = [
    *FIT,
    (f"{TRAIN}/trainer.py", 209, "train_step", "loss.backward()"),
    (f"{LIB}/torch/autograd/graph.py", 824, "_engine_run_backward", "return Variable._execution_engine.run_backward("),
]
NEXT: list[Frame] = [
    *MAIN,
    (f"{TRAIN}/trainer.py", 176, "fit", "batches = iter(loader)"),
    (f"{LIB}/torch/utils/data/dataloader.py", 708, "__next__", "data = self._next_data()"),
]
SAVE: list[Frame] = [
    *MAIN,
    (f"{TRAIN}/trainer.py", 184, "fit", "self.checkpoint.save(step)"),
    (f"{TRAIN}/checkpoint.py", 64, "write", "torch.save(state, path)"),
    (f"{LIB}/torch/serialization.py", 944, "save", "with _open_zipfile_writer(f) as opened_zipfile:"),
]
BUILD: list[Frame] = [
    (f"{TRAIN}/pretrain.py", 71, "<module>", "main()"),
    (f"{TRAIN}/pretrain.py", 58, "main", "model = build(config)"),
    (f"{TRAIN}/model.py", 121, "build", "config.check()"),
]


def traceback(frames: list[Frame], error: str) -> str:
    """Return the text Python prints for an exception raised in the last frame."""
    shown = "\n".join(f'  File "{file}", line {line}, in {name}\n    {code}' for file, line, name, code in frames)
    return f"Traceback (most recent call last):\n{shown}\n{error}"
