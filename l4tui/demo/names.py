"""Names a user can choose from; imported by the command line, so nothing heavy here."""

from __future__ import annotations

READY = ".ready"  # file that stands in a live job's folder once its history is written
STYLES = {
    "python": "Python logging with call sites",
    "megatron": "Megatron-LM banners and iteration lines",
    "titan": "torchtitan lines with colours",
    "nemo": "NeMo headers",
    "json": "one JSON object a line",
    "hf": "transformers Trainer with tqdm bars",
    "glog": "glog headers",
    "deepspeed": "DeepSpeed headers that name the rank",
}
LAYOUTS = {
    "torchrun": "torchrun --tee 3, one file a node",
    "srun": "srun --label, one file",
    "mpirun": "mpirun --tag-output, one file, some lines torn",
    "ranks": "one file a rank, srun's own lines apart",
    "logdir": "torchrun --log-dir tree and the agents' own files",
    "plain": "one file without tags; ranks name themselves now and then",
}
