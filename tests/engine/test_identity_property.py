"""What holds for identity whatever is told, and in whatever order."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4tui.engine.facts import Fact, read
from l4tui.engine.identity import Identity, Ranks
from l4tui.engine.model import SourceName, Speaker
from tests.engine.resolving import Line, resolve, tag

TRUE_RANK = {(n, j): [4, 0][n] + j for n in range(2) for j in range(4)}
TEXTS = [
    "| distributed init (rank {r}): env://, gpu {j}",
    "rank {r} starts on n{n}, local rank {j}, pid {p}, restart 0",
    "Process rank: {r}, world size: 8, device: cuda:{j}",
    "comm 0x1 rank {r} nranks 8 cudaDev {j} commId 0x9",
    "Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r}/8",
    "step 1 loss 2",
    "torchrun --nnodes 2 --nproc-per-node 4",
]


@st.composite
def true_lines(draw: st.DrawFn) -> list[Line]:
    """Lines of a true job of two nodes in one file, tagged by local rank, some by host or torch's prefix too."""
    hosts = draw(st.booleans())
    lines = []
    for _ in range(draw(st.integers(1, 14))):
        n, j = draw(st.sampled_from(sorted(TRUE_RANK)))
        r = TRUE_RANK[n, j]
        speaker = tag(
            j,
            node=f"n{n}" if hosts else None,
            rank=r if draw(st.booleans()) else -1,
            self_rank=r if draw(st.booleans()) else -1,
        )  # type: ignore[arg-type]
        lines.append((speaker, draw(st.sampled_from(TEXTS)).format(r=r, j=j, n=n, p=100 + r)))
    return [*lines, (tag(0, node="n0" if hosts else None), "torchrun --nnodes 2 --nproc-per-node 4")]  # type: ignore[arg-type]


@settings(max_examples=120, deadline=None)
@given(true_lines(), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_nothing_definite_is_wrong(lines: list[Line], random: object) -> None:
    shuffled = list(lines)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (
        dict(zip(lines, resolve(lines)[0], strict=True)),
        dict(zip(shuffled, resolve(shuffled)[0], strict=True)),
    )
    assert first == second
    for speaker in {s for s, _ in lines if s.node}:
        n = int(str(speaker.node)[1:])
        assert first[next(line for line in lines if line[0] == speaker)] in (-1, TRUE_RANK[n, speaker.local_rank])


@settings(max_examples=80, deadline=None)
@given(true_lines())
def test_learning_more_never_moves_a_right_rank(lines: list[Line]) -> None:
    identity = Identity()
    identity.add_source(0, SourceName())
    table: list[Speaker] = []
    before: list[int] = []
    for speaker, text in [lines[-1], *lines[:-1]]:
        identity.learn(read(text.encode(), speaker))
        if speaker not in table:
            table.append(speaker)
        now = identity.resolve(table).rank.tolist()
        assert all(new in (old, -1) for old, new in zip(before, now, strict=False) if old >= 0)
        assert identity.resolve(table).rank.tolist() == now
        before = now


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            Speaker,
            st.integers(0, 2),
            st.integers(0, 1),
            *[st.integers(-1, 3)] * 4,
            st.sampled_from([None, "a", "b.c"]),
            st.integers(-1, 2),
        ),
        max_size=20,
    )
)
def test_any_speakers(table: list[Speaker]) -> None:
    table = list(dict.fromkeys(table))
    identity = Identity()
    ranks = identity.resolve(table)
    assert len(ranks.rank) == len(table)
    told = [(r, s.rank) for r, s in zip(ranks.rank.tolist(), table, strict=True) if s.rank >= 0 and not s.launcher]
    assert all(rank == said for rank, said in told)


def test_cost() -> None:
    identity = Identity()
    identity.add_source(0, SourceName())
    table = [Speaker(0, task=t, pid=p) for t in range(1000) for p in range(5)]
    identity.resolve(table)
    start = time.process_time()
    identity.resolve([*table, Speaker(0, task=3, pid=1, tid=9)])
    assert time.process_time() - start < 0.25  # 3 ms


@pytest.mark.parametrize("seed", range(40))
def test_learnt_piece_by_piece_gives_the_same(seed: int) -> None:
    """Facts that change no conclusion only touch some rows; the result is that of learning all at once."""
    rng = Random(seed)
    named, label = rng.random() < 0.5, rng.random() < 0.5
    speakers: list[Speaker] = []
    facts: list[Fact] = []
    for rank in range(12):
        node, local = rank // 4, rank % 4
        who = Speaker(0, task=rank if label else -1, local_rank=local if not label else -1)
        who = who._replace(node=f"n{node}" if named else None)
        speakers += [who, who._replace(pid=70 + rank, local_rank=-1, task=-1)]
        if rng.random() < 0.7:
            said = rank if rng.random() < 0.9 else rng.randrange(12)
            text = f"rank {said} starts on n{node}, local rank {local}, pid {70 + rank}"
            facts += read(text.encode(), rng.choice((who, speakers[-1])))
    rng.shuffle(facts)
    slow, fast = Identity(), Identity()
    for identity in (slow, fast):
        identity.add_source(0, SourceName())
    for k, fact in enumerate(facts):
        fast.learn([fact])
        fast.resolve(speakers[: 2 * k + 2])
    slow.learn(facts)
    same(slow.resolve(speakers), fast.resolve(speakers))


TOLD = (
    "rank {r} starts on n{n}, local rank {j}, pid {p}",
    "comm 0x1 rank {r} nranks 12 cudaDev {j} commId 0x9",
    "| distributed init (rank {r}): env://, gpu {j}",
    "Rank {r}, node n{n}, device {j}: grad norm is NaN",
    "- (ip=10.0.0.{n}, pid={p}) world_rank={r}, local_rank={j}, node_rank={n}",
    "srun: error: n{n}: task {r}: Killed",
    "failed (exitcode: 1) local_rank: {j} (pid: {p}) of binary: x",
    "torchrun --nnodes 3 --nproc-per-node 4",
    "Run Pod: abc, replicas 4, status ready",
    "world_size: 12",
    "==== starting on n{n} ====",
)


def same(a: Ranks, b: Ranks) -> None:
    for name in ("rank", "local_rank", "attempt", "kind", "assumed"):  # node ids depend on the order
        assert getattr(a, name).tolist() == getattr(b, name).tolist(), name
    assert [a.nodes[n] if n >= 0 else None for n in a.node] == [b.nodes[n] if n >= 0 else None for n in b.node]
    assert (a.world_size, a.node_ranks) == (b.world_size, b.node_ranks)


@pytest.mark.parametrize("seed", range(60))
def test_files_learnt_piece_by_piece_give_the_same(seed: int) -> None:
    """Each step of a job in many files is that of an identity which has learnt all until then at once."""
    rng = Random(seed)
    kind = rng.choice(("rank", "node", "tree", "plain"))
    names = {
        "rank": [SourceName(rank=r) for r in range(12)],
        "node": [SourceName(node=f"n{n}") for n in range(3)],
        "tree": [SourceName(local_rank=r % 4, group=f"run{r // 4}") for r in range(12)],
        "plain": [SourceName()],
    }[kind]
    fast = Identity()
    for i, name in enumerate(names):
        fast.add_source(i, name)
    speakers: list[Speaker] = []
    facts: list[Fact] = []
    for _ in range(30):
        r = rng.randrange(12)
        source = {"rank": r, "tree": r, "node": r // 4, "plain": 0}[kind]
        who = Speaker(
            source,
            local_rank=rng.choice((-1, r % 4)),
            self_rank=rng.choice((-1, -1, r, rng.randrange(12))),
            pid=rng.choice((-1, 70 + r)),
            node=rng.choice((None, None, f"n{r // 4}")),
            mpi_job=rng.choice((-1, -1, -1, 1, 2)),
        )
        if who not in speakers:
            speakers.append(who)
        new = read(rng.choice(TOLD).format(r=r, n=r // 4, j=r % 4, p=70 + r).encode(), who)
        fast.learn(new)
        facts += new
        slow = Identity()
        for i, name in enumerate(names):
            slow.add_source(i, name)
        slow.learn(facts)
        same(slow.resolve(speakers), fast.resolve(speakers))
