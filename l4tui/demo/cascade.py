"""What victims print: lost peers and collectives that time out, in the words of NCCL and c10d."""

from __future__ import annotations

from collections.abc import Iterable

from l4tui.demo.ink import SECOND, utc
from l4tui.demo.job import Job
from l4tui.demo.launchers import Death

TIMEOUT = 600  # s, NCCL's default
PATTERNS = (
    r"Connection closed by remote peer",
    r"remote process exited or there was a network error",
    r"Process group watchdog thread terminated with exception",
    r"ncclRemoteError",
    r"To avoid data inconsistency, we are taking the entire process down",
    r"closing signal SIGTERM",
    r"\(SIGABRT\)|\(SIGTERM\)",
    r"terminate called after throwing an instance of 'c10::DistBackendError'",
    r"srun: error: .*: (Terminated|Aborted)",
    r"slurmstepd.*CANCELLED AT",
)


def c10(job: Job, rank: int, now: int, level: str, where: str, text: str) -> None:
    """Print a line of torch's C++ log on a rank."""
    at = utc(now // SECOND)
    stamp = f"{level}{at.tm_mon}{at.tm_mday:02} {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}.{now % SECOND:09}"
    job.raw(rank, now, f"[rank{rank}]:[{stamp} {where}] {text}", True)


def warn(job: Job, rank: int, now: int, where: str, text: str) -> None:
    """Print NCCL's WARN, which starts with an empty line."""
    head = (
        f"{job.host(rank).split('.')[0]}:{job.pids[rank]}:{job.pids[rank] + 71} [{job.local(rank)}] {where} NCCL WARN "
    )
    job.raw(rank, now, f"\n{head}{text}")


def neighbours(job: Job, dead: Iterable[int]) -> list[int]:
    """Return ranks that hold connections to the dead ones: the ring inside the node, the same rail outside."""
    gone, found = set(dead), set()
    for rank in gone:
        node = job.node_of(rank)
        found |= {r for r in (rank - 1, rank + 1) if r in job.ranks_of(node)}
        found |= {other * job.per_node + job.local(rank) for other in range(job.nodes) if other != node}
    return sorted(found - gone)


def peers_lost(job: Job, dead: list[int], when: int) -> list[Death]:
    """Let the neighbours of dead ranks notice; they abort a little later.

    Returns their deaths.
    """
    deaths = []
    peer = job.host(dead[0])
    for rank in neighbours(job, dead):
        now = when + int(job.rng.uniform(0.3, 2.5) * SECOND)
        port = int(job.rng.integers(33_000, 60_000))
        warn(job, rank, now, "misc/socket.cc:71", f"socketProgress: Connection closed by remote peer {peer}<{port}>")
        group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        error = (
            "NCCL error: remote process exited or there was a network error, NCCL version 2.25.1\n"
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
        )
        now += int(job.rng.uniform(0.1, 0.4) * SECOND)
        words = "Process group watchdog thread terminated with exception: "
        c10(job, rank, now, "E", "ProcessGroupNCCL.cpp:1895", f"{group}{words}{error}")
        job.raw(rank, now + 300_000, "terminate called after throwing an instance of 'c10::DistBackendError'", True)
        job.raw(rank, now + 310_000, f"  what():  {group}{words}{error}", True)
        deaths.append(Death(rank, now + SECOND // 3, -6))
    return deaths


def collective_times_out(
    job: Job, victims: Iterable[int], seq: int, *, op: str = "ALLREDUCE", size: int = 125_472_832
) -> list[Death]:
    """Let the watchdogs of the waiting ranks fire after the time limit; moves the clock.

    Returns their deaths.
    """
    job.wait(TIMEOUT)
    deaths = []
    waiting = list(victims)
    first = waiting[int(job.rng.integers(len(waiting)))]
    for rank in waiting:
        late = 0.0 if rank == first else float(job.rng.uniform(0.05, 0.9))
        now = job.now + int(late * SECOND)
        ran = TIMEOUT * 1000 + int(job.rng.integers(2, 95))
        work = f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={size}, NumelOut={size}, Timeout(ms)={TIMEOUT * 1000})"
        text = f"Watchdog caught collective operation timeout: {work} ran for {ran} milliseconds before timing out."
        c10(job, rank, now, "E", "ProcessGroupNCCL.cpp:633", f"[Rank {rank}] {text}")
        group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        status = f"last enqueued work: {seq + 2}, last completed work: {seq - 1}"
        text = f"failure detected by watchdog at work sequence id: {seq} PG status: {status}"
        c10(job, rank, now + 1_000_000, "E", "ProcessGroupNCCL.cpp:2271", group + text)
        signal = "First PG on this rank to signal dumping."
        if rank != first:
            signal = f"Received a dump signal due to a collective timeout from  rank {first} and we will try our "
            signal += (
                f"best to dump the debug info. Last enqueued NCCL work: {seq + 2}, last completed NCCL work: {seq - 1}."
            )
        c10(job, rank, now + 2_000_000, "E", "ProcessGroupNCCL.cpp:1682", group + signal)
        text = "To avoid data inconsistency, we are taking the entire process down."
        c10(job, rank, now + SECOND, "E", "ProcessGroupNCCL.cpp:684", f"[Rank {rank}] {text}")
        deaths.append(Death(rank, now + SECOND + int(job.rng.uniform(0.1, 0.5) * SECOND), -6))
    return deaths


def told_by_others(job: Job, rank: int, enqueued: int, completed: int) -> None:
    """Let a rank without an own timeout learn of the others'."""
    now = job.now + SECOND * 9 // 10
    group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
    c10(
        job,
        rank,
        now,
        "E",
        "ProcessGroupNCCL.cpp:1659",
        f"{group}Observed flight recorder dump signal from another rank via TCPStore.",
    )
    c10(job, rank, now + 400_000, "E", "ProcessGroupNCCL.cpp:1705", f"{group}Last enqueued NCCL work: {enqueued}, last "
        f"completed NCCL work: {completed}.")  # fmt: skip
