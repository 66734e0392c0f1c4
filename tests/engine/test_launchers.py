"""Launcher families: fifty messages under every tag, each line read as the rank that wrote it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from l4tui.engine.formats import Dialect, Parser, cut, detect
from l4tui.engine.model import Parse
from tests.engine.launcher_texts import MESSAGES, Tag, lines_of

DATE = "Sun Nov 29 14:55:55 2026"
# name, ranks, tag, field the tag tells, its value, accepted weak formats
FAMILIES: list[tuple[str, int, Tag, str, Callable[[int], str], tuple[str, ...]]] = [
    ("srun of 8", 8, lambda r: f"{r}: ", "task", str, ("srun-label",)),
    ("srun of 12", 12, lambda r: f"{r:>2}: ", "task", str, ("srun-label",)),
    ("srun of 128", 128, lambda r: f"{r:>3}: ", "task", str, ("srun-label",)),
    ("srun of old", 16, lambda r: f"{r:02}: ", "task", lambda r: f"{r:02}", ("srun-label",)),
    ("Open MPI 4", 8, lambda r: f"[1,{r}]<stdout>:", "task", str, ()),
    ("Open MPI 4 dated", 8, lambda r: f"{DATE}[1,{r}]<stderr>:", "task", str, ()),
    ("Open MPI 5", 8, lambda r: f"[1,{r}]<stdout>: ", "task", str, ("ompi5-tag",)),
    ("Open MPI 5 dated", 8, lambda r: f"[{DATE}][1,{r}]<stdout>: ", "task", str, ("ompi5-tag",)),
    ("Open MPI 5 detailed", 4, lambda r: f"[1,{r}][gpu-1:4{r}]<stdout>: ", "task", str, ()),
    ("Open MPI 5 full name", 4, lambda r: f"[prterun-gpu-1-99@1,{r}]<stdout>: ", "task", str, ()),
    ("Open MPI 5 rank", 12, lambda r: f"[{r}]<stdout>: ", "task", str, ("ompi5-rank",)),
    ("horovodrun", 4, lambda r: f"[{r}]<stdout>:", "task", str, ()),
    ("Hydra", 8, lambda r: f"[{r}] ", "task", str, ("mpich-rank",)),
    ("Hydra of 40", 40, lambda r: f"[{r}] ", "task", str, ("mpich-rank",)),
    ("Hydra pattern", 4, lambda r: f"<{r}/0@gpu-1>", "task", str, ()),
    ("Hydra pattern, parentheses", 8, lambda r: f"({r}) ", "task", str, ("hydra-paren",)),
    ("Hydra pattern, host", 4, lambda r: f"[{r} on gpu-{r // 2}] ", "task", str, ("rank-on-host",)),
    ("Hydra pattern, at host", 12, lambda r: f"{r}@gpu{r // 4}: ", "task", str, ("rank-on-host",)),
    ("Hydra pattern, colon", 12, lambda r: f"{r}: ", "task", str, ("colon-number",)),
    ("Hydra pattern, word", 4, lambda r: f"RANK_{r}: ", "rank", str, ("rank-word",)),
    ("flux of 128", 128, lambda r: f"{r}: ", "task", str, ("colon-number",)),
    ("PALS", 8, lambda r: f"x30{r // 4}c0s13b0n0.hsn.cm.site.gov {r}: ", "task", str, ("host-and-rank",)),
    ("SageMaker", 12, lambda r: f"[1,mpirank:{r},algo-{r // 4 + 1}]<stdout>:", "task", str, ()),
    ("MPI as XML", 4, lambda r: f'<stdout rank="{r}">', "task", str, ()),
    ("gforker", 4, lambda r: f"{r}>", "task", str, ("gforker",)),
    ("gforker's stderr", 4, lambda r: f"{r}{'(err)' * (r % 2)}>", "task", str, ("gforker",)),
    ("task label", 4, lambda r: f"[task {r}] ", "task", str, ("task-label",)),
    ("torchrun tee", 4, lambda r: f"[default{r}]:", "local_rank", str, ()),
    ("torchrun role", 4, lambda r: f"[trainer{r}]:", "local_rank", str, ("torchrun-role",)),
    ("torchrun role with a digit", 4, lambda r: f"[gpu2{r}]:", "local_rank", str, ("torchrun-role",)),
    ("torchrun template", 4, lambda r: f"[default:g{r}:l{r % 2}] ", "rank", str, ("template",)),
    ("template with words", 8, lambda r: f"[rank={r} local={r % 4}]: ", "rank", str, ("template",)),
    ("torchrun without a role", 4, lambda r: f"[{r}]:", "local_rank", str, ("torchrun-norole",)),
    ("template of two numbers", 8, lambda r: f"({r}/{r % 4}) ", "rank", str, ("number-pair",)),
    ("template, local rank first", 8, lambda r: f"[{r % 4}:{r}] ", "rank", str, ("number-pair",)),
    ("template, rank of world", 8, lambda r: f"[{r}/8]: ", "rank", str, ("number-pair",)),
    ("template without brackets", 8, lambda r: f"g{r}.l{r % 4}| ", "rank", str, ("bare-template",)),
    ("template of words", 8, lambda r: f"rank={r} host=vm | ", "rank", str, ("bare-template",)),
    ("host and rank", 8, lambda r: f"[vm:{r}] ", "task", str, ("host-then-rank",)),
    ("host and rank of a label", 8, lambda r: f"gx{r // 4}-r{r}: ", "task", str, ("host-label",)),
    ("host and rank, GNU parallel", 8, lambda r: f"gx{r // 4}:r{r}\t", "task", str, ("parallel-name",)),
    ("honcho", 4, lambda r: f"10:00:0{r} rank{r}.1 | ", "task", str, ("foreman",)),
    ("template with a bar", 4, lambda r: f"rank {r} | ", "rank", str, ("rank-word",)),
    ("rank template", 8, lambda r: f"[rank{r}]: ", "rank", str, ("torch-rank-any",)),
    ("GNU parallel", 4, lambda r: f"{r}\t", "task", str, ("parallel-number",)),
    ("GNU parallel, job numbers", 4, lambda r: f"{r + 1}\t", "actor", lambda r: str(r + 1), ("parallel-name",)),
    ("GNU parallel, names", 4, lambda r: f"seed-{r}\t", "actor", lambda r: f"seed-{r}", ("parallel-name",)),
    ("pdsh", 4, lambda r: f"node{r}: ", "node", lambda r: f"node{r}", ("host-label",)),
    ("clush of addresses", 4, lambda r: f"10.0.0.{r}: ", "node", lambda r: f"10.0.0.{r}", ("host-label",)),
    ("DeepSpeed workers", 4, lambda r: f"worker-{r}: ", "node", lambda r: f"worker-{r}", ("host-label",)),
    ("Ray", 4, lambda r: f"(RayTrainWorker pid=24{r}01) ", "pid", lambda r: f"24{r}01", ()),
    ("Ray elsewhere", 4, lambda r: f"(Worker pid=24{r}01, ip=10.0.0.{r}) ", "pid", lambda r: f"24{r}01", ()),
    ("kubectl", 4, lambda r: f"[pod/train-worker-{r}/pytorch] ", "node", lambda r: f"train-worker-{r}", ()),
    ("compose", 4, lambda r: f"trainer-worker-{r}  | ", "node", lambda r: f"trainer-worker-{r}", ("compose",)),
    ("stern", 4, lambda r: f"train-worker-{r} pytorch ", "node", lambda r: f"train-worker-{r}", ("stern",)),
    ("pm2", 4, lambda r: f"{r}|train  | ", "actor", lambda r: f"{r}|train", ("pm2",)),
    ("srun het", 4, lambda r: f"P{r % 2} {r // 2:>2}: ", "actor", lambda r: f"P{r % 2} {r // 2:>2}", ("srun-het",)),
    ("TorchX", 4, lambda r: f"trainer/{r} ", "node", lambda r: f"trainer/{r}", ("torchx",)),
    ("honcho", 4, lambda r: f"10:02:11 trainer.{r} | ", "actor", lambda r: f"trainer.{r}", ("foreman",)),
    ("milabench", 4, lambda r: f"bert.node{r} [stderr] ", "actor", lambda r: f"bert.node{r}", ("milabench",)),
]


def told(line: bytes, parse: Parse, field: str) -> str | None:
    """Return the outermost span of a field as text."""
    return next((line[s.start : s.end].decode() for s in parse.spans if s.field == field), None)


@pytest.mark.parametrize(
    ("ranks", "tag", "field", "value", "weak"), [f[1:] for f in FAMILIES], ids=[f[0] for f in FAMILIES]
)
def test_family(ranks: int, tag: Tag, field: str, value: Callable[[int], str], weak: tuple[str, ...]) -> None:
    log = lines_of(tag, ranks, MESSAGES if ranks < 30 else MESSAGES[::5])
    dialect = detect([line for line, _, _ in log])
    assert dialect.prefixes == weak
    parser = Parser(dialect)
    alone = Parser(Dialect())
    for line, rank, message in log:
        parse = parser.parse(line)
        assert parse.lane_end == len(line) - len(message), line
        assert told(line, parse, field) == value(rank), line
        assert cut(line, dialect) == []
        inner = alone.parse(message)
        assert parse.text_at - parse.lane_end == inner.text_at, "the message reads as it does alone"


STACKS: list[tuple[str, Tag, dict[str, int]]] = [  # the field's value is the rank over this; 0: the rank modulo 2
    ("srun × torchrun", lambda r: f"{r // 2}: [default{r % 2}]:", {"task": 2, "local_rank": 0}),
    ("srun × template", lambda r: f"{r // 2}: [rank{r}]: ", {"task": 2, "rank": 1}),
    ("pdsh × torchrun", lambda r: f"node{r // 2}: [default{r % 2}]:", {"local_rank": 0}),
    ("pdsh × srun", lambda r: f"node{r // 2}: {r}: ", {"task": 1}),
    ("kubectl × torchrun", lambda r: f"[pod/w-{r // 2}/main] [default{r % 2}]:", {"local_rank": 0}),
    ("mpirun × torchrun", lambda r: f"[1,{r // 2}]<stdout>:[default{r % 2}]:", {"task": 2, "local_rank": 0}),
    ("TorchX × torchrun", lambda r: f"sh/{r // 2} [{r % 2}]:", {"local_rank": 0}),
    ("SageMaker × torchrun", lambda r: f"[1,mpirank:{r // 2},algo-1]<stdout>:[default{r % 2}]:", {"task": 2}),
    ("compose × torchrun", lambda r: f"w-{r // 2}  | [default{r % 2}]:", {"local_rank": 0}),
]


@pytest.mark.parametrize(("tag", "fields"), [s[1:] for s in STACKS], ids=[s[0] for s in STACKS])
def test_two_layers(tag: Tag, fields: dict[str, int]) -> None:
    log = lines_of(tag, 8)
    dialect = detect([line for line, _, _ in log])
    parser = Parser(dialect)
    for line, rank, message in log:
        parse = parser.parse(line)
        assert parse.lane_end == len(line) - len(message), (line, dialect)
        for field, over in fields.items():
            assert told(line, parse, field) == str(rank // over if over else rank % 2), line
        assert cut(line, dialect) == []
