"""Fifty lines of every header family, with values drawn by seed: what is read must be what was written."""

import random
import re

import pytest

from l4tui.engine.formats import Dialect, Parser, built_in, check, detect
from l4tui.engine.model import Level

PARSER = Parser(Dialect())
MESSAGES = (
    "loaded shard 17 in 0.33 s",
    "Connection closed by peer [10.0.3.7]:41022",
    "loss scale reduced to 16384",
    "watchdog thread terminated with exception",
    "  indented continuation of a table",
    "GET shard_00012.bin failed with status 503 (attempt 2/5)",
    "ready",
    "naïve text — no ASCII, 100 % of it",
    "memory: rss 268.3 MiB",
    "key=value other=3.5e-04",
)
POOLS = {
    "level": ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    "LETTER": ("D", "I", "W", "E", "F"),
    "logger": ("main", "trainer", "nemo.utils.exp_manager", "torch.distributed.run", "_data"),
    "file": ("train.py", "data_loader.py", "megatron/training/training.py", "engine.py"),
    "cpp": ("ProcessGroupNCCL.cpp", "reducer.cpp", "TCPStore.cpp", "socket.cpp"),
    "func": ("main", "log_dist", "_write_files", "fit"),
    "module": ("ME", "CORE", "MD"),
    "node": ("gpu-a03", "n1", "ip-10-0-24-17", "node-017.cluster", "0a1b2c3d4e5f"),
    "mon": ("Jan", "Feb", "Nov", "Dec"),
    "anylevel": ("info", "warning", "error", "debug"),
}
LEVELS = {"D": Level.DEBUG, "I": Level.INFO, "W": Level.WARNING, "E": Level.ERROR, "F": Level.FATAL}
FAMILIES = {  # {field} or {field=pool}; what stands in braces must come back as that field
    "c10": "[{level=LETTER}{m=m1}{d} {H}:{M}:{S}.{f=9} {file=cpp}:{line}] ",
    "c10-mid": "[{level=LETTER} {file=cpp}:{line}] ",
    "glog-python": "{level=LETTER}{m}{d} {H}:{M}:{S}.{f=6} {pid} {file}:{line}] ",
    "absl": "{level=LETTER}{m}{d} {H}:{M}:{S}.{f=6} {tid=15} {file}:{line}] ",
    "glog": "{level=LETTERIWEF}{m}{d} {H}:{M}:{S}.{f=6} {tid=7} {file=cpp}:{line}] ",
    "tensorflow": "{Y}-{m}-{d} {H}:{M}:{S}.{f=6}: {level=LETTERIWEF} {file=cpp}:{line}] ",
    "horovod": "[{Y}-{m}-{d} {H}:{M}:{S}.{f=6}: {level=LETTER} {file=cpp}:{line}] ",
    "ray-core": "[{Y}-{m}-{d} {H}:{M}:{S},{f=3} {level=LETTER} {pid} {tid=7}] (raylet) {file=cpp}:{line}: ",
    "nccl-info": "{node}:{pid}:{tid=7} [3] NCCL {level=LEVELINFO} ",
    "nccl-warn": "[{Y}-{m}-{d} {H}:{M}:{S}] {node}:{pid}:{tid=7} [0] {file=cpp}:{line} ({func}) NCCL {level=WARN} ",
    "nemo": "[NeMo {level=LETTER4} {Y}-{m}-{d} {H}:{M}:{S} {file=plain}:{line} rank:{self_rank}] ",
    "transformers": "[{level}|{file}:{line}] {Y}-{m}-{d} {H}:{M}:{S},{f=3} >> ",
    "composer": "{Y}-{m}-{d} {H}:{M}:{S},{f=3}: rank{self_rank}[{pid}][MainThread]: {level}: {logger}: ",
    "detectron": "[{m}/{d} {H}:{M}:{S} {logger=dotted}]: ",
    "ppdet": "[{m}/{d} {H}:{M}:{S}] {logger} {level}: ",
    "paddle": "[{Y}-{m}-{d} {H}:{M}:{S},{f=3}] [    {level}] - ",
    "vllm": "{level} {m}-{d} {H}:{M}:{S} [{file}:{line}] ",
    "deepspeed": "[{Y}-{m}-{d} {H}:{M}:{S},{f=3}] [{level}] [{file}:{line}:{func}] ",
    "brackets": "[{Y}-{m}-{d} {H}:{M}:{S}] [{level}] ",
    "torch-bracket": "[{Y}-{m}-{d} {H}:{M}:{S},{f=3}] {logger}: [{level}] ",
    "hydra": "[{Y}-{m}-{d} {H}:{M}:{S},{f=3}][{logger}][{level}] - ",
    "dash": "{Y}-{m}-{d} {H}:{M}:{S},{f=3} - {logger} - {level} - ",
    "dash-site": "{Y}-{m}-{d} {H}:{M}:{S},{f=3} - {logger} - {level} - {file}:{line} - ",
    "mindformers": "{Y}-{m}-{d} {H}:{M}:{S},{f=3} - {logger}[{file}:{line}] - {level} - ",
    "swift": "[{level}:{logger}] ",
    "axolotl": "[{Y}-{m}-{d} {H}:{M}:{S},{f=3}] [{level}] [{file=dotted}:{line}] [PID:{pid}] [RANK:{self_rank}] ",
    "mindspore": "[{level}] {logger=module}({pid}:28147,Main):{Y}-{m}-{d}-{H}:{M}:{S}.{f=3}.250 [{file}:{line}] ",
    "wandb": "{Y}-{m}-{d} {H}:{M}:{S},{f=3} {level} MainThread:{pid} [{file=one}:{func}():{line}] ",
    "jax-debug": "{level}:{Y}-{m}-{d} {H}:{M}:{S},{f=3}:{logger}:{line}: ",
    "vissl": "{level} {Y}-{m}-{d} {H}:{M}:{S},{f=3} {file}: {line}: ",
    "level-first": "[{level}] {Y}-{m}-{d} {H}:{M}:{S},{f=3} [{file}:{line}] ",
    "titan": "[titan] {Y}-{m}-{d} {H}:{M}:{S},{f=3} - {logger} - {level} - ",
    "us-dash": "{m}/{d}/{Y} {H}:{M}:{S} - {level} - {logger} - ",
    "loguru": "{Y}-{m}-{d} {H}:{M}:{S}.{f=3} | {level} | {file=plain}:{func}:{line} - ",
    "level-name": "{level}:{logger}:",
    "structlog": "{Y}-{m}-{d}T{H}:{M}:{S}.{f=6}{zone=Z} [{level=anylevel}     ] ",
    "space-site": "{Y}-{m}-{d} {H}:{M}:{S},{f=3} {level} {file}:{line} ",
    "space-name": "{Y}-{m}-{d} {H}:{M}:{S},{f=3} [{level}] {logger}: ",
    "maskrcnn": "{Y}-{m}-{d} {H}:{M}:{S},{f=3} {logger} {level}: ",
    "ray-python": "{Y}-{m}-{d} {H}:{M}:{S},{f=3}\t{level} {file=one}:{line} -- ",
    "rich": "[{m}/{d}/{Y=2} {H}:{M}:{S}] {level}     ",
    "time": "{H}:{M}:{S}.{f=3} {level} {file}:{line} ",
    "fabric": "[{mon} {d} {Y} {H}:{M}:{S}] [{level}] [tid {tid=4}] ",
    "syslog": "{mon} {d} {H}:{M}:{S} {node} {logger=one}[{pid}]: ",
    "journal": "{Y}-{m}-{d}T{H}:{M}:{S}.{f=6}{zone} {node} {logger=one}: ",
    "dmesg-T": "[Sun {mon} {d} {H}:{M}:{S} {Y}] ",
    "cann": "[{level=CANN}] {logger=HCCL}({pid},py):{Y}-{m}-{d}-{H}:{M}:{S}.{f=3}.217 [{file=cpp}:{line}] [{tid=7}]",
    "torch-npu": "[{level}] {Y}-{m}-{d}-{H}:{M}:{S} (PID:{pid}, Device:3, RankID:{self_rank}) ",
    "stamp": "{Y}-{m}-{d} {H}:{M}:{S} ",
    "stamp-zone": "[{Y}-{m}-{d}T{H}:{M}:{S}.{f=3}{zone}] ",
    "stamp-ctime": "Sun {mon} {d} {H}:{M}:{S} {Y} ",
    "stamp-epoch": "[{epoch}.{f=6}] ",
    "mlperf-old": ":::MLL {epoch}.{f=3} ",
    "dllogger": "DLL {Y}-{m}-{d} {H}:{M}:{S}.{f=6} - ",
    "ucx": "[{epoch}.{f=6}] [{node}:{pid}:0]   {file=c}:{line} UCX  {level=LEVELUCX} ",
}


def value(field: str, pool: str, rng: random.Random) -> str:
    """Draw what stands in a place of a template."""
    ranges = {"Y": (2015, 2031), "m": (1, 12), "d": (1, 28), "H": (0, 23), "M": (0, 59), "S": (0, 59)}
    if pool == "m1":
        return str(rng.randint(1, 12))
    if pool.isdigit():
        digits = int(pool)
        return f"{rng.randrange(10 ** (digits - 1), 10**digits)}"
    if field in ranges:
        return f"{rng.randint(*ranges[field]):02d}"
    special = {
        "LETTERIWEF": "IWEF", "LETTER4": "DIWE", "LEVELINFO": ("INFO",), "WARN": ("WARN",),
        "plain": ("train", "model"), "dotted": ("d2.engine", "fvcore.common"), "one": ("kernel.py", "worker.py"),
        "Z": ("Z",), "c": ("ib_md.c", "ucp.c"), "HCCL": ("HCCL", "RUNTIME", "GE"),
        "CANN": ("ERROR", "WARNING", "INFO"), "LEVELUCX": ("ERROR", "WARN", "DIAG"),
    }  # fmt: skip
    if pool in special or pool in POOLS:
        return rng.choice(special.get(pool) or POOLS[pool])
    if field == "zone":
        return rng.choice(("Z", "+00:00", "-08:00", "+05:30"))
    if field == "epoch":
        return str(rng.randrange(1_400_000_000, 1_899_999_999))
    return str(rng.randint(1, 99_999))


def written(template: str, rng: random.Random) -> tuple[str, dict[str, str]]:
    """Fill a template; return the text and what each field holds."""
    fields: dict[str, str] = {}

    def fill(place: re.Match[str]) -> str:
        field = place[1]
        fields[field] = value(field, place[2] or field, rng)
        return fields[field]

    return re.sub(r"\{(\w+?)(?:=(\w+))?\}", fill, template), fields


@pytest.mark.parametrize("family", FAMILIES)
def test_fifty_lines_of_a_family(family: str) -> None:
    rng = random.Random(family)
    for k in range(50):
        head, fields = written(FAMILIES[family], rng)
        message = MESSAGES[k % len(MESSAGES)]
        if family in ("rich", "ucx", "cann"):  # blanks behind these headers are their own
            message = message.lstrip()
        line = (head + message).encode()
        parse = PARSER.parse(line)
        # of a time zone the parts are read too
        got = {s.field: line[s.start : s.end].decode() for s in parse.spans if s.field not in ("zone_h", "zone_m")}
        got = {name: text for name, text in got.items() if name != "iter"}
        assert (got, line[parse.text_at :].decode()) == (fields, message), line
        assert parse.head
        if len(fields.get("level", "")) == 1:
            assert parse.level == LEVELS[fields["level"]]


@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "[default5]:", "[1,7]<stdout>:"])
@pytest.mark.parametrize("family", ["dash-site", "deepspeed", "nccl-info", "glog-python", "nemo"])
@pytest.mark.parametrize("tag", ["", "[Rank 3] ", "[RANK 12] ", "[rank: 0] "])
def test_layers_combine(prefix: str, family: str, tag: str) -> None:
    rng = random.Random(f"{prefix}{family}{tag}")
    head, _ = written(FAMILIES[family], rng)
    line = f"{prefix}{head}{tag}ready to go".encode()
    parse = Parser(Dialect(prefixes=("torch-rank-any",) if prefix.startswith("[rank") else ())).parse(line)
    assert line[parse.text_at :] == b"ready to go"
    assert parse.head


def test_samples_of_all_formats_hold() -> None:
    assert [wrong for fmt in built_in() for wrong in check(fmt)] == []


@pytest.mark.parametrize(
    ("line", "field", "text"),
    [
        (b"[PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog", "group_rank", b"Process group watchdog"),
        (
            b"[Rank 6] (after 1 iterations) memory (MB) | allocated: 1.0",
            "self_rank",
            b"(after 1 iterations) memory (MB) | allocated: 1.0",
        ),
        (b"t4-b rank=5 step=1190 loss=1.5", "node", b"step=1190 loss=1.5"),
    ],
)
def test_tags(line: bytes, field: str, text: bytes) -> None:
    parse = PARSER.parse(line)
    assert field in {span.field for span in parse.spans}
    assert line[parse.text_at :] == text


def test_weak_tags_are_read_where_a_source_begins_its_messages_so() -> None:
    lines = [f"R{k % 4}: shard {k} {'loaded' if k // 4 % 2 else 'seen'}".encode() for k in range(40)]
    parse = Parser(detect(lines)).parse(lines[3])
    assert [(s.field, lines[3][s.start : s.end]) for s in parse.spans] == [("self_rank", b"3")]
    few = [f"row {k} of a table".encode() for k in range(40)] + lines[:8]
    assert Parser(detect(few)).parse(lines[3]).spans == ()


@pytest.mark.parametrize(
    "line",
    [b"rank 3: said by another", b"R0: said by another", b"[rank0]: imitates torch", b"rank 3 failed", b"[0] text"],
)
def test_sentences_about_ranks_are_no_tags(line: bytes) -> None:
    assert not {"self_rank", "rank"} & {span.field for span in PARSER.parse(line).spans}
