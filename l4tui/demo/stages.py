"""The stages around training: launch, init, data, model build, checkpoints, evaluation, the end."""

from __future__ import annotations

from l4tui.demo import launchers
from l4tui.demo.ink import SECOND
from l4tui.demo.job import Job

NCCL = "2.25.1+cuda12.8"


def launch(job: Job) -> None:
    launchers.start(job)
    job.wait(6)
    job.say(0, job.now, "pretrain.py:41:main", f"job {job.number}, {job.ranks} ranks on {job.nodes} nodes, torch 2.7.1")
    banner = {
        "global_batch_size": job.batch, "hidden_size": 4096, "num_layers": 32, "seq_length": 8192,
        "train_iters": job.iterations, "save_interval": job.ckpt_every, "seed": 1234 + job.spec.seed,
    }  # fmt: skip
    for i, (key, value) in enumerate(banner.items()):
        job.say(0, job.now + i * 200_000, "pretrain.py:44:main", f"  {key} {'.' * (28 - len(key))} {value}")


def init(job: Job) -> None:
    """Build the process groups; ranks tell who they are and where."""
    job.wait(1)
    if job.spec.style == "megatron":
        job.raw(0, job.now, "> initializing torch distributed ...")
    for rank, now in job.jitter(range(job.ranks), 1.5):
        where = f"host {job.host(rank)} local_rank {job.local(rank)} pid {job.pids[rank]}"
        job.say(rank, now, "comm.py:37:init", f"initializing distributed: rank {rank} of {job.ranks}, {where}")
    job.wait(2)
    collective_library(job)
    job.wait(3)
    if job.spec.style == "megatron":
        job.raw(
            0,
            job.now,
            "> initialized tensor model parallel with size 1\n> initialized pipeline model parallel with size 1",
        )
    job.say(0, job.now, "comm.py:61:init", "process groups are ready")


def collective_library(job: Job) -> None:
    """Print the rank map the way NCCL (or HCCL on NPUs) does."""
    if job.npu:
        took = job.rng.integers(200_000, 400_000, job.ranks)
        for rank, now in job.jitter(range(job.ranks), 1):
            group = f"hccl-{job.pids[0]}-0-1772442000-hccl_world_group"
            text = f"hcom init complete,take time [{took[rank]}]us, rankNum[{job.ranks}], rank[{rank}]"
            stamp = f"{job.ink.date(now)}-{job.ink.clock(now, '.', 3)}"
            job.raw(rank, now, f"[TRACE] HCCL({job.pids[rank]},python):{stamp} [{group}][{job.local(rank)}]{text}")
        return
    job.raw(0, job.now, f"NCCL version {NCCL}")
    comm = int(job.rng.integers(1 << 40, 1 << 46))
    for rank, now in job.jitter(range(job.ranks), 1.5):
        local = job.local(rank)
        head = f"{job.host(rank).split('.')[0]}:{job.pids[rank]}:{job.pids[rank] + 40} [{local}] NCCL INFO "
        net = f"NET/IB : Using [{local}]mlx5_{local}:1/IB [RO]; OOB bond0:{job.address(job.node_of(rank))}<0>"
        job.raw(rank, now, head + net)
        job.raw(
            rank,
            now + SECOND,
            f"{head}comm 0x{comm + 4096 * rank:x} rank {rank} nranks {job.ranks} cudaDev {local} nvmlDev {local} busId "
            f"{bus_of(local)[5:7]}000 commId 0x{comm % 0xFFFFFFFFFFFF:x} - Init COMPLETE",
        )


def bus_of(local: int) -> str:
    """Return the PCI address of a node's GPU."""
    return f"0000:{(0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)[local % 8]:02x}:00"


def data(job: Job) -> None:
    job.wait(1)
    if job.spec.style == "megatron":
        job.raw(0, job.now, "> building train, validation, and test datasets ...")
    job.say(0, job.now, "data.py:52:build", "reading index of 4096 shards from /data/corpus")
    job.everyone(job.now + SECOND, "data.py:77:build", "dataset ready, 4096 shards, 8 loader workers", 0.8)
    if job.ranks >= 4:
        rank = int(job.rng.integers(job.ranks))
        job.say(
            rank, job.now + 2 * SECOND, "data.py:81:build", "page cache is cold, first batches will be slow", "WARNING"
        )
    job.wait(3)


def model_build(job: Job) -> None:
    job.wait(0.5)
    if job.spec.style == "megatron":
        job.raw(0, job.now, "building GPT model ...")
    job.say(0, job.now, "model.py:112:build", "building model: 32 layers, hidden 4096, 32 heads")
    fallback = (
        "optional package fused_rope is missing, using the plain implementation\nTraceback (most recent call last):\n"
    )
    fallback += '  File "/workspace/train/model.py", line 18, in <module>\n    import fused_rope\n'
    fallback += "ModuleNotFoundError: No module named 'fused_rope'"
    job.say(0, job.now + SECOND // 3, "model.py:20:<module>", fallback, "WARNING")
    for rank, now in job.jitter(range(job.ranks), 0.9):
        words = f"model on device cuda:{job.local(rank)}, 8030261248 parameters, 125472832 in this shard"
        job.say(rank, now + SECOND, "model.py:131:build", words)
    job.wait(3)
    resumed = f"loaded checkpoint /ckpt/iter_{job.resumed:07}, continuing at iteration {job.resumed + 1}"
    found = resumed if job.resumed else "no checkpoint found in /ckpt, starting from iteration 0"
    job.say(0, job.now, "checkpoint.py:31:load", found)
    job.wait(0.5)
    if job.spec.style == "megatron":
        job.raw(0, job.now, "done with setup ...\ntraining ...")
    job.say(0, job.now, "trainer.py:160:fit", f"starting training at step {job.resumed + 1} of {job.iterations}")
    job.wait(0.2)


def checkpoint(job: Job, step: int, skip: frozenset[int] = frozenset()) -> None:
    """Save; ranks in `skip` do not report a written file."""
    folder = f"/ckpt/iter_{step:07}"
    job.wait(0.05)
    if job.spec.style == "megatron":
        job.raw(0, job.now, f"saving checkpoint at iteration {step:7d} to /ckpt in torch_dist format")
    job.say(0, job.now, "checkpoint.py:52:save", f"saving checkpoint at iteration {step} to {folder}")
    took = job.rng.uniform(1.1, 1.6, job.ranks)
    for rank in range(job.ranks):
        if rank not in skip:
            text = f"wrote {folder}/rank_{rank:05}.pt (1004.{rank % 10} MiB) in {took[rank]:.2f}s"
            job.say(rank, job.now + int(took[rank] * SECOND), "checkpoint.py:66:write", text, "DEBUG")
    job.wait(float(took.max()) + 0.1)
    if skip:
        return
    if job.spec.style == "megatron":
        job.raw(0, job.now, f"  successfully saved checkpoint from iteration {step:7d} to /ckpt")
    job.say(
        0,
        job.now,
        "checkpoint.py:74:save",
        f"successfully saved checkpoint at iteration {step}, took {took.max():.2f}s",
    )
    job.wait(0.05)


def evaluate(job: Job, step: int) -> None:
    job.wait(0.05)
    job.say(0, job.now, "evaluate.py:33:run", f"starting evaluation at iteration {step} on {job.ranks * 16} samples")
    for rank, now in job.jitter(range(job.ranks), 0.2):
        job.say(
            rank,
            now + SECOND // 2,
            "evaluate.py:58:run",
            f"evaluated 16 samples, loss {2.2 + job.rng.normal(0, 0.02):.4f}",
        )
    job.wait(0.9)
    last = job.ranks - 1
    if job.spec.style == "megatron":
        line = (
            f" validation loss at iteration {step} | lm loss value: 2.214{step % 10}E+00 | lm loss "
            f"PPL: 9.15{step % 10}E+00 | "
        )
        job.raw(last, job.now, line)
    job.say(
        last,
        job.now,
        "evaluate.py:71:run",
        f"evaluation at iteration {step} done, loss 2.21{step % 10}, perplexity 9.1{step % 10}",
    )
    job.wait(0.05)


def teardown(job: Job) -> None:
    """End a healthy job, with the warnings a healthy end has."""
    job.wait(0.1)
    job.say(0, job.now, "trainer.py:172:fit", f"training finished at step {job.iterations}")
    if job.spec.style == "megatron":
        job.raw(
            0, job.now, "[after training is done] datetime: " + f"{job.ink.date(job.now)} {job.ink.clock(job.now)} "
        )
    for rank, now in job.jitter(range(job.ranks), 0.8):
        job.say(rank, now, "comm.py:90:close", "destroying process group")
        if not job.npu and rank % 7 == 3:
            pid, local = job.pids[rank], job.local(rank)
            head = f"{job.host(rank).split('.')[0]}:{pid}:{pid + 71} [{local}] misc/socket.cc:880 NCCL WARN "
            job.raw(rank, now + SECOND // 3, f"\n{head}[Service thread] Accept failed Resource temporarily unavailable")
        job.say(rank, now + SECOND // 2, "pretrain.py:66:main", f"rank {rank} exits cleanly")
    job.wait(2)
