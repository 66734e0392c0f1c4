"""Ranks that keep others waiting in a collective."""

from __future__ import annotations

from l4tui.demo import cascade, launchers
from l4tui.demo.faults.base import Fault, Scenario
from l4tui.demo.ink import SECOND
from l4tui.demo.launchers import Death
from l4tui.demo.steps import MS, Step

WATCHDOG = (
    r"Watchdog caught collective operation timeout",
    r"failure detected by watchdog at work sequence id",
    r"First PG on this rank to signal dumping",
    r"Received a dump signal due to a collective timeout",
)
COLLECTIVES = 4  # collectives an iteration


class Waits(Fault):
    """Base of hangs: all ranks but the culprit wait in collective `seq` until their watchdogs fire."""

    stage, scope, ends, outcome = "train", "ranks", True, "failed"
    cascade = cascade.PATTERNS

    def prepare(self) -> None:
        rank = self.blame_rank()
        self.patterns = (WATCHDOG[0], *self.tokens(rank))
        self.scopes = ("any", *("culprit" for _ in self.patterns[1:]))

    def tokens(self, rank: int) -> tuple[str, ...]:
        """Return patterns of what the culprit says."""
        return ()

    @property
    def seq(self) -> int:
        return COLLECTIVES * self.at + 2

    def strike(self, step: Step | None) -> None:
        assert step is not None
        job, rank = self.job, self.ranks[0]
        self.before(step, rank)
        victims = [r for r in range(job.ranks) if r != rank]
        deaths = cascade.collective_times_out(job, victims, self.seq)
        self.after_timeout(rank)
        launchers.fail(job, deaths)
        job.wait(3)

    def before(self, step: Step, rank: int) -> None:
        """Say what the culprit does instead."""

    def after_timeout(self, rank: int) -> None:
        """Say what the culprit says when the others give up."""


class SkippedCollective(Waits):
    """One rank does not join a collective and is told by the others' dump signal."""

    def tokens(self, rank: int) -> tuple[str, ...]:
        behind = rf"Rank {rank}\] Last enqueued NCCL work: {self.seq - 1}, last completed NCCL work: {self.seq - 1}\."
        return (rf"Rank {rank}\] Observed flight recorder dump signal", behind)

    def after_timeout(self, rank: int) -> None:
        cascade.told_by_others(self.job, rank, self.seq - 1, self.seq - 1)


class Frozen(Waits):
    """One rank stops dead (a hung kernel): it says nothing any more while all others time out."""


class Desync(Waits):
    """As a skipped collective, with the report of TORCH_NCCL_DESYNC_DEBUG=1 that names the rank."""

    def tokens(self, rank: int) -> tuple[str, ...]:
        return (
            rf"\[{rank}\] finished collective #\d+, but didn't join collective #\d+",
            r"ranks that caused the desync are",
        )

    def prepare(self) -> None:
        super().prepare()
        self.scopes = ("any", "agent", "agent")

    def after_timeout(self, rank: int) -> None:
        job = self.job
        witness = 0 if rank else 1
        report = (
            f"[Rank {witness}] Collective timeout, desync report:\n"
            "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
            f"\t   - [{rank}] finished collective #{self.seq - 1}, but didn't join collective "
            f"#{self.seq} (count from 1)\n"
            "\t - Snapshot of ranks' latest states:\n"
            f"\t   #{self.seq} started ranks:\n\t     [{job.ranks - 1} ranks] started ALLREDUCE\n"
            f"\t   #{self.seq - 1} finished ranks:\n\t     [{rank}] finished ALLREDUCE"
        )
        cascade.c10(job, witness, job.now + SECOND // 3, "E", "ProcessGroupNCCL.cpp:701", report)
        cascade.told_by_others(job, rank, self.seq - 1, self.seq - 1)


class Mismatch(Waits):
    """One rank takes another branch and runs a smaller collective than all others."""

    def tokens(self, rank: int) -> tuple[str, ...]:
        return (rf"\[Rank {rank}\] Watchdog caught .*OpType=BROADCAST", r"broadcasting the cached statistics instead")

    def strike(self, step: Step | None) -> None:
        assert step is not None
        job, rank = self.job, self.ranks[0]
        text = "gradient buffer of expert 3 is empty, broadcasting the cached statistics instead"
        job.say(rank, int(step.fetched[rank]) + 200 * MS, "trainer.py:231:sync", text, "WARNING")
        deaths = cascade.collective_times_out(job, (r for r in range(job.ranks) if r != rank), self.seq)
        job.now -= cascade.TIMEOUT * SECOND
        deaths += cascade.collective_times_out(job, [rank], self.seq, op="BROADCAST", size=4096)
        launchers.fail(job, deaths)
        job.wait(3)


class NotifyTimeout(Fault):
    """On NPUs: one rank hangs, each other rank waits for its neighbour in the ring and names it (EI0002)."""

    stage, scope, ends, outcome = "train", "ranks", True, "failed"
    cascade = (*cascade.PATTERNS, r"EI0002", r"notify wait")

    def prepare(self) -> None:
        rank = self.blame_rank()
        self.patterns = (rf"from remote rank \[{rank}\]",)
        self.scopes = ("any",)

    def strike(self, step: Step | None) -> None:
        job, culprit = self.job, self.ranks[0]
        job.wait(1800)
        deaths = []
        for rank, now in job.jitter((r for r in range(job.ranks) if r != culprit), 0.8):
            node = range(job.node_of(rank) * job.per_node, (job.node_of(rank) + 1) * job.per_node)
            remote = culprit if culprit in node else node[(rank - node[0] - 1) % job.per_node]
            if job.node_of(rank) != job.node_of(culprit) and job.local(rank) == job.local(culprit):
                remote = culprit
            at = f"{job.ink.date(now)}-{job.ink.clock(now)}"
            text = (
                f"[ERROR] {at} (PID:{job.pids[rank]}, Device:{job.local(rank)}, RankID:{rank}) "
                "ERR02200 DIST call hccl api "
                "failed, detail:EI0002: The wait execution of the Notify register times out. Reason: "
                "The Notify register has "
                f"not received the Notify record from remote rank [{remote}].base information: [streamID:[4], "
                f"taskID[{self.at * 7}], tag[AllReduce_10.4.0.11], AlgType(level 0-1-2):[ring-ring-ring].]\n"
                "        Solution: 1. If this error occurs only after a long run, check whether the "
                "remote rank has failed."
            )
            job.raw(rank, now, text, True)
            deaths.append(Death(rank, now + SECOND, 1))
        job.wait(2)
        launchers.fail(job, deaths)


SCENARIOS = (
    Scenario(
        "hang-collective", "one rank skips a collective, all others time out", "hang", SkippedCollective, least_ranks=2
    ),
    Scenario("hang-frozen", "one rank freezes without a word, all others time out", "hang", Frozen, least_ranks=2),
    Scenario("desync", "a desync report names the rank that did not join", "desync", Desync, least_ranks=2),
    Scenario(
        "collective-mismatch", "one rank runs another collective than all others", "desync", Mismatch, least_ranks=2
    ),
    Scenario(
        "hccl-timeout", "NPUs: ranks wait for a silent one (EI0002)", "hang", NotifyTimeout, npu=True, least_ranks=2
    ),
)
