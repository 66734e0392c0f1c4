"""What launchers say: at the start, and when ranks die."""

from __future__ import annotations

import time
from typing import NamedTuple

from l4tui.demo.ink import SECOND, utc
from l4tui.demo.job import LAUNCHER, Job

SIGNALS = {6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
WORDS = {6: "Aborted (core dumped)", 7: "Bus error (core dumped)", 9: "Killed", 11: "Segmentation fault (core dumped)"}
WORDS[15] = "Terminated"
DYING = SECOND * 6 // 5  # ns from an exception to the end of its process: threads and GPU memory are cleaned up
SCRIPT = "/workspace/train/pretrain.py"
_API = "torch/distributed/elastic/multiprocessing/api.py"


class Death(NamedTuple):
    """End of a process: exit code as Python counts, −N for signal N."""

    rank: int
    time: int
    code: int


def agent_stamp(job: Job, node: int, level: str, now: int, where: str) -> str:
    """Return the header of torch's own Python logging."""
    day = time.strftime("%m%d %H:%M:%S", utc(now // SECOND))
    return f"{level}{day}.{now % SECOND // 1_000_000:03}000 {job.agent_pids[node]} {where}] "


def uses_agents(job: Job) -> bool:
    """Tell whether torchrun starts the ranks (else srun or mpirun does)."""
    return job.spec.layout in ("torchrun", "logdir", "plain")


def start(job: Job) -> None:
    """Say what launchers say before any rank runs."""
    layout, now = job.spec.layout, job.now
    if layout == "mpirun":
        job.raw(LAUNCHER, now, f"+ mpirun -np {job.ranks} -N {job.per_node} --tag-output python {SCRIPT}")
        return
    if not uses_agents(job):
        label = "--label " if layout == "srun" else ""
        job.raw(LAUNCHER, now, f"+ srun -N {job.nodes} -n {job.ranks} {label}--kill-on-bad-exit=1 python {SCRIPT}")
        return
    if job.attempt:
        return  # agents restart their ranks without a word
    for node, host in enumerate(job.hosts):
        ranks = job.ranks_of(node)
        at = now + int(job.rng.integers(0, SECOND))
        tee = "--log-dir logs " if layout == "logdir" else "--tee 3 " if layout == "torchrun" else ""
        command = (
            f"+ torchrun --nnodes {job.nodes} --nproc-per-node {job.per_node} --node-rank {node} --max-restarts "
            f"{job.restarts_left} --rdzv-id job{job.number} --rdzv-backend c10d "
            f"--rdzv-endpoint {job.hosts[0]}:29500 {tee}{SCRIPT}"
        )
        job.raw(
            -1 - node, at, f"job {job.number} on {host}: node_rank={node} of {job.nodes}, ranks {ranks[0]}-{ranks[-1]}"
        )
        job.raw(-1 - node, at + 10, command)
        head = agent_stamp(job, node, "W", at + SECOND, "torch/distributed/run.py:792")
        stars = "*" * 41
        advice = "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your "
        advice += (
            "system being overloaded, please further tune the variable for optimal performance in your application."
        )
        job.raw(-1 - node, at + SECOND, "\n".join(head + text for text in ("", stars, advice, stars)))


def fail(job: Job, deaths: list[Death]) -> None:
    """Say how launchers report that ranks died and how they end the rest.

    `deaths` are the ranks that ended by themselves; all others are terminated by the launcher.
    """
    if uses_agents(job):
        for node in range(job.nodes):
            mine = sorted((d for d in deaths if job.node_of(d.rank) == node), key=lambda d: d.time)
            agent_ends(job, node, mine)
    elif job.spec.layout == "mpirun":
        mpirun_ends(job, min(deaths, key=lambda d: d.time))
    else:
        srun_ends(job, deaths)


def agent_ends(job: Job, node: int, deaths: list[Death]) -> None:
    """Say what one torchrun agent says after the first of its ranks died; nothing when none did."""
    if not deaths:
        return
    first, agent = deaths[0], -1 - node
    now = first.time + int(job.rng.uniform(0.2, 1.0) * SECOND)
    dead = {d.rank for d in deaths if d.time <= now}
    for death in deaths:
        job.end(death.rank, death.time)
    for rank in job.ranks_of(node):
        if rank not in dead:
            head = agent_stamp(job, node, "W", now, f"{_API}:906")
            job.raw(agent, now, f"{head}Sending process {job.pids[rank]} closing signal SIGTERM")
            job.end(rank, now)
            now += 900_000
    now += int(job.rng.uniform(0.5, 2) * SECOND)
    job.raw(
        agent,
        now,
        agent_stamp(job, node, "E", now, f"{_API}:881")
        + f"failed (exitcode: {first.code}) local_rank: {job.local(first.rank)} (pid: {job.pids[first.rank]}) "
        "of binary: /usr/bin/python3",
    )
    if job.restarts_left > 0:
        return
    job.raw(agent, now + 2_000_000, agent_traceback(), True)
    job.raw(agent, now + 3_000_000, failure_table(job, node, [d for d in deaths if d.rank in dead]), True)
    job.now = max(job.now, now + 4_000_000)


def agent_traceback() -> str:
    lib = "/usr/local/lib/python3.11/dist-packages/torch/distributed"
    return (
        'Traceback (most recent call last):\n  File "/usr/local/bin/torchrun", line 8, in <module>\n'
        f'    sys.exit(main())\n  File "{lib}/run.py", line 918, in main\n    run(args)\n'
        f'  File "{lib}/launcher/api.py", line 268, in launch_agent\n    raise ChildFailedError(\n'
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
    )


def failure_table(job: Job, node: int, deaths: list[Death]) -> str:
    """Return the agent's table of failures, the first observed one last."""

    def block(index: int, death: Death) -> str:
        pid = job.pids[death.rank]
        signal = SIGNALS.get(-death.code, "")
        traceback = (
            f"Signal {-death.code} ({signal}) received by PID {pid}"
            if signal
            else ("To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html")
        )
        return (
            f"[{index}]:\n  time      : {time.strftime('%Y-%m-%d_%H:%M:%S', utc(death.time // SECOND))}\n"
            f"  host      : {job.hosts[node]}\n  rank      : {death.rank} (local_rank: {job.local(death.rank)})\n"
            f"  exitcode  : {death.code} (pid: {pid}){f' ({signal})' if signal else ''}\n  error_file: <N/A>\n"
            f"  traceback : {traceback}"
        )

    others = "\n".join(block(i + 1, d) for i, d in enumerate(deaths[1:])) or "  <NO_OTHER_FAILURES>"
    rule, thin = "=" * 60, "-" * 60
    return f"{rule}\n{SCRIPT} FAILED\n{thin}\nFailures:\n{others}\n{thin}\nRoot Cause (first observed failure):\n" + (
        f"{block(0, deaths[0])}\n{rule}"
    )


def mpirun_ends(job: Job, first: Death) -> None:
    """Say Open MPI 4's banner about the first rank that died."""
    now = first.time + SECOND
    for rank in range(job.ranks):
        job.end(rank, first.time if rank == first.rank else now)
    rule = "-" * 74
    host, pid = job.host(first.rank), job.pids[first.rank]
    if first.code < 0:
        word = WORDS[-first.code].split(" (")[0]
        text = (
            f"mpirun noticed that process rank {first.rank} with PID {pid} on node {host} exited on "
            f"signal {-first.code} ({word})."
        )
    else:
        text = (
            "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be "
            f"terminated. The first process to do so was:\n\n  Process name: [[{job.number % 60000},1],{first.rank}]\n"
            f"  Exit code:    {first.code}"
        )
    job.raw(LAUNCHER, now, f"{rule}\n{text}\n{rule}")
    job.now = max(job.now, now)


def srun_ends(job: Job, deaths: list[Death]) -> None:
    """Say srun's verdicts: one line for the tasks of a node that ended alike, then the cancelled step."""
    first = min(d.time for d in deaths)
    stop = first + int(job.rng.uniform(0.7, 0.9) * SECOND)  # the step is cancelled: who still runs is terminated
    groups: dict[tuple[int, int], list[int]] = {}
    own = {d.rank: d for d in deaths if d.time < stop}
    for death in sorted(own.values(), key=lambda d: d.time):
        groups.setdefault((job.node_of(death.rank), death.code), []).append(death.rank)
        job.end(death.rank, death.time)
    job.raw(LAUNCHER, stop, f"srun: Terminating StepId={job.number}.0", True)
    words = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."
    job.raw(LAUNCHER, stop + 1_000_000, words, True)
    at = time.strftime("%Y-%m-%dT%H:%M:%S", utc(stop // SECOND))
    for node, host in enumerate(job.hosts):
        text = f"slurmstepd-{host}: error: *** STEP {job.number}.0 ON {job.hosts[0]} CANCELLED AT {at} ***"
        job.raw(-1 - node, stop + 2_000_000, text, True)
    verdicts = [(node, ranks, WORDS[-code] if code < 0 else f"Exited with exit code {code}")
                for (node, code), ranks in groups.items()]  # fmt: skip
    for node in range(job.nodes):
        rest = [r for r in job.ranks_of(node) if r not in own]
        for rank in rest:
            job.end(rank, stop + 3_000_000)
        if rest:
            verdicts.append((node, rest, "Terminated"))
    now = first + SECOND // 2
    for node, ranks, how in verdicts:
        job.raw(
            LAUNCHER,
            max(now, stop + SECOND // 50) if how == "Terminated" else now,
            f"srun: error: {job.hosts[node]}: {task_list(ranks)}: {how}",
            True,
        )
        now += SECOND // 20
    job.now = max(job.now, now, stop)


def task_list(ranks: list[int]) -> str:
    """Return Slurm's words for tasks: "task 3", "tasks 0-1,3"."""
    ranks = sorted(ranks)
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    text = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f"task {text}" if len(ranks) == 1 else f"tasks {text}"
