"""Small jobs for each rule of each kind of evidence: three of a kind, with another culprit, size, step and wording."""

from __future__ import annotations

from collections.abc import Callable

from l4tui.engine.evidence.record import Said
from l4tui.engine.model import Level
from tests.engine.evidence.jobs import closed, launcher, raised, said, steps, timed_out

Builder = Callable[[int, int, int, int], list[Said]]  # (which, culprit, ranks, step) → lines


def others(culprit: int, world: int) -> list[int]:
    return [r for r in range(world) if r != culprit]


def whole_node(culprit: int) -> list[int]:
    return list(range(culprit // 4 * 4, culprit // 4 * 4 + 4))


def errors(which: int) -> str:
    return (
        "IndexError: index 50300 is out of bounds for dimension 0",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "ValueError: record 61 of /data/shard_00015.bin: checksum mismatch, stored e4af",
    )[which]


# one job per rule and setting


def named(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        f"RuntimeError: Ranks {who} failed to pass monitoredBarrier in 30000 ms",
        f"-- Process {who} terminated with the following error:",
        f"Stalled ops:HorovodAllreduce_x [missing ranks: {who}]",
    )[which]
    return [*steps(range(world), step), said(0, text, step, level=Level.ERROR)]


def minority(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = list(steps(range(world), step))
    for r in others(who, world)[:3]:
        if which == 0:
            lines += raised(
                r, f"RuntimeError: disagreement between rank{r} and rank{who}: rank{r}: [1], rank{who}: [2]", step
            )
        elif which == 1:
            text = f"Mismatched NCCL version detected : rank {r} version 22105 rank {who} version 22304"
            lines.append(said(r, text, step, level=Level.WARNING))
        else:
            one, two = (f"CollectiveFingerPrint(SequenceNumber=12, OpType={o})" for o in ("BARRIER", "REDUCE"))
            head = "RuntimeError: Detected mismatch between collectives on ranks. Rank"
            lines += raised(
                r, f"{head} {r} is running collective: {one}, but Rank {who} is running collective: {two}.", step
            )
    return lines


def compared(which: int, who: int, world: int, step: int) -> list[Said]:
    ddp, sizes = (
        "RuntimeError: DDP expects same model across all ranks,",
        "appears not to match sizes of the same param",
    )
    text = (
        f"{ddp} but Rank {who} has 198 params, while rank 0 has inconsistent 218 params.",
        f"RuntimeError: [{who}]: params[0] in this process with sizes [50257, 768] {sizes} in process 0.",
        f"RuntimeError: [{who}]: params[3] in this process with sizes [12] {sizes} in process 0.",
    )[which]
    return [*steps(range(world), step), *raised(who, text, step, stage="model_build")]


def killed(which: int, who: int, world: int, step: int) -> list[Said]:
    node, local = f"n{who // 4}", who % 4
    text = (
        f"failed (exitcode: -9) local_rank: {local} (pid: 12) of binary: /usr/bin/python",
        f"srun: error: {node}: task {who}: Segmentation fault",
        f"mpirun noticed that process rank {who} with PID 812 on node {node} exited on signal 7 (Bus error).",
    )[which]
    return [*steps(range(world), step), *closed(0 if who else 1, step), launcher(text, node)]


def on_hardware(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "NCCL WARN NET/IB : mlx5_0:1 Got async event : port error",
        "EZ9999: Aicore kernel execute failed, device_id=3, stream_id=5",
    )[which]
    return [*steps(range(world), step), said(who, text, step, level=Level.ERROR)]


def dog(rank: int, step: int, seq: int, enqueued: int, done: int, op: str = "ALLREDUCE", numel: int = 8) -> list[Said]:
    work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for 600013"
    status = f"PG status: last enqueued work: {enqueued}, last completed work: {done}"
    return [
        said(
            rank,
            f"[Rank {rank}] Watchdog caught collective operation timeout: {work} milliseconds",
            step,
            level=Level.ERROR,
        ),
        said(rank, f"failure detected by watchdog at work sequence id: {seq} {status}", step, level=Level.ERROR),
    ]


def counters(which: int, who: int, world: int, step: int) -> list[Said]:
    odd = ((801, 811, 800), (805, 806, 804), (812, 812, 812))[which]
    return [
        *steps(range(world), step),
        *(x for r in range(world) for x in dog(r, step, *(odd if r == who else (811, 815, 810)))),
    ]


def operations(which: int, who: int, world: int, step: int) -> list[Said]:
    op, numel = (("BROADCAST", 8), ("ALLREDUCE", 4096), ("_ALLGATHER_BASE", 16))[which]
    lines = list(steps(range(world), step))
    for r in range(world):
        lines += dog(r, step, 811, 815, 810, *((op, numel) if r == who else ()))
    return lines


def iterations(which: int, who: int, world: int, step: int) -> list[Said]:
    if which == 1:  # it ran ahead
        lines = [*steps(range(world), step), *steps([who], step + 1, first=step + 1)]
    else:
        lines = list(steps(range(world), step, skip={who: step - 2 - which}))
    return [*lines, *(x for r in others(who, world) for x in timed_out(r, step))]


def stacks(which: int, who: int, world: int, step: int) -> list[Said]:
    place = (
        ("comm.py:50 in reduce_metrics",),
        ("eval.py:7 in run_all",),
        ("trainer.py:215 in fit", "save.py:9 in flush"),
    )[which]
    lines = list(steps(range(world), step))
    for r in range(world):
        lines += timed_out(r, step, frames=("train.py:61 in main", *place)) if r == who else timed_out(r, step)
    return lines


def dumps(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = list(steps(range(world), step))
    odd = ("    read (tarfile.py:690)", "    __getitem__ (dataset.py:51)", "    save (ckpt.py:9)")[which]
    thread = ('Thread 4 (active): "MainThread"', "Thread 0x7F (idle): MainThread", "Thread 9 (active+gil)")[which]
    for r in range(world):
        frames = (
            [odd]
            if r == who
            else ["    all_reduce (torch/distributed/distributed_c10d.py:2501)", "    sync (trainer.py:88)"]
        )
        text = [f"Process {4000 + r}: python train.py --rank={r}", thread, *frames, "    main (train.py:61)"]
        lines += [Said(t, source="dump.txt") for t in text]
    return lines


def frozen(which: int, who: int, world: int, step: int) -> list[Said]:
    how = ("15", "Signals.SIGTERM", "2")[which]
    lines = [said(r, f"rank {r} starts, pid {900 + r}", stage="init") for r in range(world)] + steps(range(world), step)
    return [
        *lines,
        launcher(f"Unable to shutdown process {900 + who} via {how}, forcefully exiting via 9", f"n{who // 4}"),
    ]


def lacks_report(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = list(steps(range(world), step))
    for r in others(who, world):
        lines += (timed_out(r, step), closed(r, step), dog(r, step, 5, 6, 4))[which]
    return lines


def elsewhere(which: int, who: int, world: int, step: int) -> list[Said]:
    text = ("nothing to do in this step", "batch is empty, next one", "reloads its shard")[which]
    lines = [*steps(range(world), step), said(who, text, step)]
    for r in others(who, world):
        lines += timed_out(r, step)
    return [*lines, *closed(who, step)]


def vanished(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = list(steps(range(world), step))
    for r in range(world):
        if r not in whole_node(who):
            lines += (timed_out(r, step), closed(r, step), dog(r, step, 5, 6, 4))[which]
    return lines


def mute_node(which: int, who: int, world: int, step: int) -> list[Said]:
    names = (("ha", "hb", "hc"), ("w-0", "w-1", "w-2", "w-3"), ("10.0.0.1", "10.0.0.2", "10.0.0.3"))[which]
    lines = [Said(f"step {s} loss 2.{s}", node=n, iteration=s, marked=True) for s in range(1, 9) for n in names]
    text = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.9]:1936."
    return lines + [Said(text, node=n, level=Level.ERROR) for n in names[1:]]


def stopped(which: int, who: int, world: int, step: int) -> list[Said]:
    end = step + (20, 40, 60)[which]
    return list(steps(range(world), end, skip={who: step + 3}))


def left_behind(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = list(steps(range(world), step + 5))
    words = (("forward done", "enters all_reduce"), ("batch read", "backward done"), ("gathers", "waits"))[which]
    for after, text in enumerate(words, 1):
        lines += [said(r, text, step + 5 + after) for r in others(who, world)]
    return lines


def absent(which: int, who: int, world: int, step: int) -> list[Said]:
    few = f"waiting for clients. {world - 1}/{world} clients joined."
    text = (
        f"torch.distributed.DistStoreError: Timed out after 301 seconds {few}",
        f"RuntimeError: Timed out after 601 seconds {few}",
        f"torch.distributed.DistStoreError: Timed out after 9 seconds {few}",
    )[which]
    lines = [said(r, "setting up process group", stage="init") for r in others(who, world)]
    return [*lines, *raised(others(who, world)[which], text, stage="init")]


def never_came(which: int, who: int, world: int, step: int) -> list[Said]:
    nodes = [f"n{n}" for n in range(world // 4)]
    given = (" ".join(nodes), ", ".join(nodes), f"n[0-{len(nodes) - 1}]")[which]
    text = (
        "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError",
        "RuntimeError: Rendezvous timed out before the minimum number of nodes joined",
        "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
    )[which]
    head = ("Running on nodes: ", "Allocated hosts: ", "SLURM_JOB_NODELIST=")[which] + given
    came = [n for n in nodes if n != f"n{who // 4}"]
    return [Said(head, launcher=True), *(launcher(t, n) for n in came for t in ("agent starts", text))]


def lacks_warning(which: int, who: int, world: int, step: int) -> list[Said]:
    text = ("all_reduce pending since 600 s", "no answer of the collective yet", "queue has not moved for 5 min")[which]
    lines = [*steps(range(world), step), said(who, "sorting the local index", step)]
    return lines + [said(r, text, step + 60, level=Level.WARNING) for r in others(who, world)]


def own_error(which: int, who: int, world: int, step: int) -> list[Said]:
    return [
        *steps(range(world), step),
        *raised(who, errors(which), step),
        *(x for r in others(who, world)[:3] for x in closed(r, step)),
    ]


def peers(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        f"lost connection to rank {who}: timed out",
        f"no heartbeat from rank {who} for 60 s",
        f"timed out waiting for rank {who} in all_reduce",
    )[which]
    return [*steps(range(world), step), *(said(r, text, step, level=Level.ERROR) for r in others(who, world)[:3])]


def not_finite(which: int, who: int, world: int, step: int) -> list[Said]:
    bad = ("nan", "inf", "-inf")[which]
    lines = list(steps(range(world), step - 1))
    for r in range(world):
        lines.append(
            said(r, f"step {step} local loss {bad if r == who else '2.51'} data 3.1 forward 40.1", step, marked=True)
        )
    return lines


def odd_node(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        "fused_attn 2.4.0 is installed but this build expects 2.6.1, falling back to the eager path",
        "no fast interconnect found, using sockets",
        "MTU 1500 differs from its peers (9000)",
    )[which]
    lines = [said(r, "building model", stage="model_build") for r in range(world)]
    lines += [said(r, text, stage="model_build", level=Level.WARNING) for r in whole_node(who)]
    return lines + steps(range(world), step)


def bursts(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = []
    text = ("GET s_{}.bin failed with status 503 (attempt 2/5), retrying", "slow read of shard {}", "link {} flapped")[
        which
    ]
    for n in range(1, step + 12):
        lines += steps(range(world), n, first=n)
        lines += [said(r, text.format(n), n, level=Level.WARNING) for r in whole_node(who) if n > step]
    return lines


def listed(which: int, who: int, world: int, step: int) -> list[Said]:
    usual, odd = (("32.476", "43.878"), ("ready", "not ready"), ("[2, 650, 32256]", "[2, 617, 32256]"))[which]
    row = ("rank   {} = {}", "Rank {}: {}", "  - Process {}: {}")[which]
    lines = [*steps(range(world), step), *raised(0, "RuntimeError: ranks disagree", step)]
    return lines + [said(0, row.format(r, odd if r == who else usual), step) for r in range(world)]


def slow(which: int, who: int, world: int, step: int) -> list[Said]:
    label = ("forward", "data_load_ms", "fetch")[which]
    lines = []
    for n in range(1, step + 20):
        for r in range(world):
            time = 520 + n % 5 if r == who and n >= step else 110 + (n * r) % 3
            lines.append(said(r, f"step {n} loss 2.5, times ms: {label} {time}.5 backward 240.1", n, marked=True))
    return lines


def settings(which: int, who: int, world: int, step: int) -> list[Said]:
    text, usual, odd = (
        ("dataset has {} samples", "81920", "81918"),
        ("using seed {} everywhere", "1234", "4321"),
        ("mode is {} here", "bf16", "fp32"),
    )[which]
    return [
        *(said(r, text.format(odd if r == who else usual), stage="data") for r in range(world)),
        *steps(range(world), step),
    ]


def hinted(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = [Said(f"step {n} loss 2.{n}", iteration=n, marked=True) for n in range(1, step)]
    lines += [
        Said(t)
        for t in ("Traceback (most recent call last):", '  File "/w/t.py", line 3, in f', "    f()", errors(which))
    ]
    text = (f"  Process name: [[51326,1],{who}]", f"MPI_ABORT was invoked on rank {who}", f"Worker {who} has failed.")[
        which
    ]
    return [*lines, Said(text, launcher=True)]


def counted(which: int, who: int, world: int, step: int) -> list[Said]:
    extra = [
        said(who, f"{('odd', 'rare', 'strange')[which]} thing number {k} happened in the queue", step)
        for k in range(40)
    ]
    return [*steps(range(world), step + 20), *extra, *raised(who, errors(which), step + 20)]


def odd_iteration(which: int, who: int, world: int, step: int) -> list[Said]:
    lines = list(steps(range(world), 30))
    lines += [said(who, f"{('odd', 'rare', 'strange')[which]} thing {k} in the queue", 30) for k in range(30)]
    return [*lines, *raised(who, errors(which), 30)]


def first_loud(which: int, who: int, world: int, step: int) -> list[Said]:
    ranks = [who, *others(who, world)[: which + 1]]
    return [
        *steps(range(world), step),
        *(said(r, "cannot go on", step + n, level=Level.ERROR) for n, r in enumerate(ranks)),
        *closed(ranks[1], step + 5),
    ]


def time_limit(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        "slurmstepd: error: *** STEP 91.0 ON n1 CANCELLED AT 2026-01-19T07:42:44 DUE TO TIME LIMIT ***",
        "=>> PBS: job killed: walltime 3605 exceeded limit 3600",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
    )[which]
    return [*steps(range(world), step), launcher(text)]


def nowhere(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        "OSError: [Errno 98] Address already in use",
        "mount: /data: wrong fs type, mount failed",
        "entry: /scratch is not mounted",
    )[which]
    return [Said(text, level=Level.ERROR)]


def everybody(which: int, who: int, world: int, step: int) -> list[Said]:
    return [*steps(range(world), step), *(x for r in range(world) for x in raised(r, errors(which), step))]


def all_not_finite(which: int, who: int, world: int, step: int) -> list[Said]:
    bad = ("nan", "inf", "-inf")[which]
    return [
        *steps(range(world), step),
        *(
            said(r, f"step {step + 1} local loss {bad} data 3.1 forward 40.1", step + 1, marked=True)
            for r in range(world)
        ),
    ]


def spike(which: int, who: int, world: int, step: int) -> list[Said]:
    high = (300.0, 40.0, 8000.0)[which]
    values = [2.5 + 0.01 * (n % 3) if n < step + 12 else high + n for n in range(1, step + 24)]
    return [said(0, f"step {n} | loss {v:.4f} | lr 0.1", n, marked=True) for n, v in enumerate(values, 1)]


def memory_limit(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=17020.18.",
        "=>> PBS: job killed: mem 70254592kb exceeded limit 67108864kb",
        "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
    )[which]
    return [*steps(range(world), step), launcher(text)]


def all_gave_up(which: int, who: int, world: int, step: int) -> list[Said]:
    error = (
        "FloatingPointError: loss scale cannot go below 1, 6 updates in a row were skipped",
        "RuntimeError: loss has been nan for 8 steps",
        "ValueError: the gradient norm is not finite",
    )[which]
    lines = list(steps(range(world), step))
    for r in range(world):
        lines += raised(r, error, step)
    return lines


def no_answer(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        "DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.9.9.9, 29500).",
        "[c10d] TCP client failed to connect/validate to host 100.82.170.1:10080 - retrying (try=0)",
        "RuntimeError: The client socket has timed out after 900000ms while trying to connect to (nohost, 1).",
    )[which]
    return [x for r in range(world) for x in raised(r, text, stage="init")]


def told_to_stop(which: int, who: int, world: int, step: int) -> list[Said]:
    if which == 0:
        return [*steps(range(world), step), launcher("Received Signals.SIGTERM death signal, shutting down workers")]
    if which == 1:
        return [
            *steps(range(world), step),
            launcher("slurmstepd: error: *** STEP 5.0 ON n7 CANCELLED AT 2026-05-05T05:05:05 ***"),
        ]
    return [*steps(range(world), step), *(said(r, "received signal SIGTERM, will stop", step) for r in range(world))]


def blocked(which: int, who: int, world: int, step: int) -> list[Said]:
    text = (
        "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress",
        "Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=1",
        "ProcessGroupNCCL's watchdog got stuck for 600 seconds",
    )[which]
    lines = [*steps(range(world), step), said(who, text, step, level=Level.ERROR)]
    return [*lines, *(x for r in others(who, world) for x in closed(r, step))]
