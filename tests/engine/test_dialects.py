"""What a source uses: imitators stay text, formats may change within a file, tags may stand in mid-line."""

from __future__ import annotations

import pytest

from l4tui.engine.formats import Dialect, Parser, cut, detect, midline_suspects, outer_end, prefix_end
from l4tui.engine.model import SourceName
from tests.engine.launcher_texts import MESSAGES, lines_of

PLAIN = [text.encode("utf-8", "surrogateescape") for text in MESSAGES if text.strip()]


def told(parser: Parser, line: bytes) -> dict[str, str]:
    return {s.field: line[s.start : s.end].decode("utf-8", "replace") for s in reversed(parser.parse(line).spans)}


IMITATORS = {
    "a partition list": [b"stage=0 layers=6", *(b"%6d: Block<%d>" % (k, k) for k in range(60))],
    "a numbered list": [b"%d: point" % k for k in range(1, 40)],
    "dict and list prints": [b"[%d] entry of a list" % k for k in (3, 1, 4, 1, 5, 9)],
    "levels": [b"INFO: start", b"WARNING: slow", b"INFO: done", b"ERROR: bad"] * 20,
    "steps": [b"step%d: loss 2" % k for k in range(50)] + [b"epoch%d: done" % k for k in range(5)],
    "devices": [b"gpu%d: 40 C" % (k % 8) for k in range(80)],
    "a table": [b"layer | shape", b"conv1 | 3x3", b"conv2 | 3x3", b"fc | 10"] * 10,
    "tab separated": [b"%d\t%d\t0.5" % (k, 2 * k) for k in range(60)],
    "times": [b"12:30:%02d step" % k for k in range(60)],
    "exceptions": [b"ValueError: bad shape", b"KeyError: 'x'"] * 10,
    "one tag of each kind": [
        b"3: x", b"[3] x", b"[1,3]<stdout>:x", b"[default3]:x", b"node3: x", b"worker-3  | x", b"[rank3]: x",
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", IMITATORS)
def test_imitators_among_other_lines_stay_text(kind: str) -> None:
    log = []
    for k, line in enumerate(IMITATORS[kind]):
        log += [PLAIN[(k * 7 + j) % len(PLAIN)] for j in range(12)] + [line]
    dialect = detect(log * (1 if kind in ("a partition list", "a numbered list") else 3))
    assert dialect.prefixes == ()
    parser = Parser(dialect)
    for line in IMITATORS[kind]:
        assert not {"task", "rank", "local_rank"} & set(told(parser, line)), line


@pytest.mark.parametrize(
    "kind",
    ["a partition list", "a numbered list", "levels", "steps", "devices", "tab separated", "times", "exceptions"],
)
def test_imitators_alone_stay_text(kind: str) -> None:
    dialect = detect(IMITATORS[kind])
    assert not {"task", "node", "rank"} & set().union(*(told(Parser(dialect), line) for line in IMITATORS[kind]))


def test_imitators_inside_a_labelled_log_stay_text() -> None:
    log = [line for line, _, _ in lines_of(lambda r: f"{r}: ", 8)] + [
        b"2: 3: x", b"2: [3] x", b"2: [1,3]<stdout>:x", b"2: [default3]:x", b"2: node3: x", b"2: [rank3]: x",
    ]  # fmt: skip
    dialect = detect(log)
    for line in log[-6:]:
        fields = told(Parser(dialect), line)
        assert fields.get("task") == "2"
        assert not {"rank", "local_rank", "node"} & set(fields), line


@pytest.mark.parametrize("form", ["[%d] %s", "%6d\t%s", "%d: %s", "%d:%s"])
def test_line_numbers_of_a_viewer_tell_nothing(form: str) -> None:
    inner = lines_of(lambda r: f"[default{r}]:", 4)
    log = [(form % (k + 1, "")).encode() + line for k, (line, _, _) in enumerate(inner)]
    dialect = detect(log)
    parser = Parser(dialect)
    for line, (_, rank, _) in zip(log, inner, strict=True):
        fields = told(parser, line)
        assert "task" not in fields and fields["local_rank"] == str(rank)


def test_a_banner_and_a_change_of_format_in_the_middle() -> None:
    banner = [
        b"=" * 60,
        b"Loading modules ...",
        *(b"  %-20s ok" % name.encode() for name in ("cuda", "nccl", "mpi") * 20),
    ]
    first, second = lines_of(lambda r: f"{r}: ", 4), lines_of(lambda r: f"[default{r}]:", 4)
    log = [*banner, *(line for line, _, _ in first), *banner, *(line for line, _, _ in second)]
    parser = Parser(detect(log))
    assert all(told(parser, line)["task"] == str(rank) for line, rank, _ in first)
    assert all(told(parser, line)["local_rank"] == str(rank) for line, rank, _ in second)


def test_a_step_that_dies_at_once() -> None:
    log = [b"1: up", b"0: up", b"2: up", b"srun: Job step aborted: Waiting up to 5 seconds for job step to finish.",
           b"0: slurmstepd-n1: error: *** STEP 24.0 ON n1 CANCELLED AT 2026-11-29T15:19:32 ***"]  # fmt: skip
    parser = Parser(detect(log))
    assert [told(parser, line).get("task") for line in log] == ["1", "0", "2", None, "0"]
    assert [parser.parse(line).launcher for line in log] == [False, False, False, True, True]


TORN = [
    ("Open MPI 4", lambda r: f"[1,{r}]<stdout>:"),
    ("Open MPI 4 dated", lambda r: f"Sun Nov 29 14:55:5{r} 2026[1,{r}]<stdout>:"),
    ("Open MPI 5 rank", lambda r: f"[{r}]<stdout>: "),
    ("Hydra", lambda r: f"[{r}] "),
    ("torchrun", lambda r: f"[default{r}]:"),
    ("template", lambda r: f"[default:g{r}:l{r}] "),
    ("rank template", lambda r: f"[rank{r}]: "),
    ("srun × torchrun", lambda r: f"{r // 2}: [default{r % 2}]:"),
]


@pytest.mark.parametrize(("name", "tag"), TORN, ids=[t[0] for t in TORN])
def test_tags_in_mid_line_begin_a_segment(name, tag) -> None:  # type: ignore[no-untyped-def]
    log = [line for line, _, _ in lines_of(tag, 4)]
    if name == "Hydra":  # the weakest tag of all needs a log that shows torn lines
        log += [b"[0] half a line[1] the other's[0]  rest", b"[1]  rest", b"[1] the other's"] * 20
    dialect = detect(log)
    parser = Parser(dialect)
    inner = (lambda r: tag(r).split(": ", 1)[1]) if "×" in name else tag
    other = 2 if "×" not in name else 3  # under srun's label only tags of the same node follow
    line = (tag(other ^ 1) + "half a line" + inner(other) + "the other's" + inner(other ^ 1) + " rest").encode()
    where = cut(line, dialect)
    assert [line[at:].startswith(inner(r).encode()) for at, r in zip(where, (other, other ^ 1), strict=True)] == [
        True,
        True,
    ]
    assert midline_suspects(line + b"\n", dialect) > 0
    outer = line[: outer_end(line, dialect)]
    segment = outer + line[where[0] : where[1]]
    whole = (tag(other) + "the other's").encode()
    assert segment == whole and told(parser, segment) == told(parser, whole)


@pytest.mark.parametrize(("name", "tag"), TORN[:6], ids=[t[0] for t in TORN[:6]])
def test_payload_that_imitates_a_tag_is_not_cut(name, tag) -> None:  # type: ignore[no-untyped-def]
    log = [line for line, _, _ in lines_of(tag, 4)]
    dialect = detect(log)
    assert cut((tag(1) + tag(2) + "x").encode(), dialect) == []  # no chunk is empty
    assert cut((tag(1) + "text " + tag(9) + "x").encode(), dialect) == [] or "dated" in name  # nobody is called 9


def test_ordinary_brackets_of_a_hydra_log_are_not_cut() -> None:
    log = [b"[%d] Epoch: [%d]  [ %d/3658]  eta: 0:08" % (k * 3 % 4, k // 9 % 4, k) for k in range(200)]
    log += [b"[%d] %s" % (k * 3 % 4, text) for text in (b"loading", b"ready") for k in range(8)]
    dialect = detect(log)
    assert dialect.prefixes == ("mpich-rank",)
    assert [cut(line, dialect) for line in log if cut(line, dialect)] == []


def test_text_that_every_rank_leaves_unfinished_is_cut() -> None:
    log = [b"[%d] step %d" % (k % 4, k) for k in range(100)]
    log += [b"[0] loading[1] loading[2] loading", b"[0]  done", b"[1]  done"] * 10
    assert cut(b"[0] loading[1] loading[2] loading", detect(log)) == [11, 22]


def test_torch_begins_behind_a_bar_of_an_untagged_log() -> None:
    dialect = detect(PLAIN)
    line = b"Epoch 0: 50%|##   | 5/10[rank3]: Traceback (most recent call last):"
    assert cut(line, dialect) == [24] and told(Parser(dialect), line[24:])["rank"] == "3"
    assert midline_suspects(b"\n".join(PLAIN) + b"\n", dialect) == 0


def test_a_nul_of_pdsh_glues_the_next_tag() -> None:
    dialect = detect([line for line, _, _ in lines_of(lambda r: f"node{r}: ", 4)])
    assert cut(b"node0: tab here nulnode1: ", dialect) == [19]
    assert outer_end(b"node0: tab here nulnode1: ", dialect) == 0
    assert cut(b"node0: connection to node1: refused", dialect) == []


def test_parallel_repeats_its_tag_after_each_return() -> None:
    dialect = detect([line for line, _, _ in lines_of(lambda r: f"{r}\t", 4)])
    assert cut(b"0\tbar 1\r3\tbar 2\r3\tbar 3\r0\tbar 4", dialect) == [8, 24]
    assert cut(b"0\tcrlf\r0\t", dialect) == []
    assert outer_end(b"0\tbar 1\r3\tbar 2", dialect) == 0
    assert prefix_end(b"0\tbar", dialect) == 2


def placed(parser: Parser, line: bytes) -> set[tuple[str, int, int]]:
    return {(s.field, s.start, s.end) for s in parser.parse(line).spans if s.field in ("task", "node", "local_rank")}


def test_all_digits_of_a_key_share_spans() -> None:
    for tag in (lambda r: f"{r:>2}: ", lambda r: f"[1,{r}]<stdout>:", lambda r: f"node{r}: ", lambda r: f"[gpu2{r}]:"):
        log = lines_of(tag, 12, MESSAGES[:12])
        parser = Parser(detect([line for line, _, _ in log]))
        for line, _, _ in log:
            zero = line.translate(bytes.maketrans(b"123456789", b"0" * 9))
            nine = line.translate(bytes.maketrans(b"012345678", b"9" * 9))
            assert placed(parser, line) == placed(parser, zero) == placed(parser, nine)


def test_dialects_are_values() -> None:
    log = [line for line, _, _ in lines_of(lambda r: f"{r}: ", 8)]
    assert detect(log) == detect(list(log)) and hash(detect(log)) == hash(detect(log))
    assert detect([]) == detect([b""]) and isinstance(detect([]), Dialect)


def _messages(n: int) -> list[bytes]:
    return [PLAIN[k % len(PLAIN)] for k in range(n)]


@pytest.mark.parametrize("imitation", [b"[1,1]<stdout>:x", b"[default1]:x"])
def test_a_few_sure_tags_in_one_ranks_file_are_its_text(imitation: bytes) -> None:
    log = [*_messages(9), imitation, *_messages(9), imitation, imitation]
    assert not told(Parser(detect(log, SourceName(rank=0))), imitation)
    assert told(Parser(detect([imitation, imitation, *_messages(1)], SourceName(rank=0))), imitation)


def test_pairs_of_imitations_are_no_run_of_tags() -> None:
    log = [line for k in range(12) for line in (*_messages(100), b"[1,%d]<stdout>:x" % k, b"[1,%d]<stdout>: x" % k)]
    assert not told(Parser(detect(log)), b"[1,3]<stdout>:x")


def test_a_run_of_sure_tags_counts_however_long_the_rest() -> None:
    log = [*_messages(900), *(b"[1,%d]<stdout>:x" % (k % 4) for k in range(8))]
    assert told(Parser(detect(log)), b"[1,3]<stdout>:x")["task"] == "3"


def test_a_few_tags_behind_a_torchrun_tag_are_text() -> None:
    log = [b"[trainer%d]:" % (k * 5 // 7 % 2) + PLAIN[k % len(PLAIN)] for k in range(40)] + [
        b"[trainer1]:[1,0]<stdout>:x"
    ]
    parser = Parser(detect(log))
    assert told(parser, log[-1]) == {"local_rank": "1"}
    labelled = [b"%d: " % (k * 5 // 7 % 2) + PLAIN[k % len(PLAIN)] for k in range(40)] + [b"1: [default0]:x"] * 4
    assert told(Parser(detect(labelled)), labelled[-1])["local_rank"] == "0"
