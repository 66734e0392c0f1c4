"""Random prefixes × headers × damage: no crash, no span outside of the line, no rank that is not written there."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from l4tui.engine.formats import Dialect, Parser, built_in, cut, detect, midline_suspects, outer_end, prefix_end
from tests.engine.launcher_texts import MESSAGES

TAGS = (
    "{r}: ", "{r:>3}: ", "[1,{r}]<stdout>:", "[1,{r}]<stderr>: ", "[{r}]<stdout>: ", "[{r}] ", "[default{r}]:",
    "[trainer{r}]:", "[rank{r}]: ", "[rank{r}]:", "[default:g{r}:l{r}] ", "{r}\t", "node{r}: ", "(Worker pid={r}) ",
    "[pod/w-{r}/main] ",
    "w-{r}  | ", "[task {r}] ", "P0 {r}: ", "<{r}/0@vm>", "{r}|app | ", "Sun Nov 29 14:55:55 2026<stdout>:", "",
)  # fmt: skip
HEADERS = (
    "[W1129 15:28:58.803585501 reducer.cpp:1529] ", "W1129 14:56:52.730000 31215 torch/distributed/run.py:874] ",
    "2026-11-29 15:28:58,244 [INFO] ", "[2026-11-29 15:20:21,262] [INFO] [runner.py:618:main] ", "[Rank {r}] ",
    "[PG ID 0 PG GUID 0(default_pg) Rank {r}] ", "gpu-1:20:31 [0] NCCL INFO ", "INFO:root:", "[RANK {r}] ",
    "slurmstepd: error: ", "",
)  # fmt: skip
WEAK = tuple(fmt.name for fmt in built_in() if fmt.weak and fmt.layer == "prefix")
RANKS = ("task", "rank", "local_rank", "self_rank", "group_rank")

lines = st.builds(
    lambda tags, header, text, rank: ("".join(t.format(r=rank) for t in tags) + header.format(r=rank) + text).encode(
        "utf-8", "surrogateescape"
    ),
    st.lists(st.sampled_from(TAGS), max_size=4),
    st.sampled_from(HEADERS),
    st.sampled_from(MESSAGES) | st.text(max_size=60).filter(lambda text: "\n" not in text),
    st.integers(0, 5000),
)
damage = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 8), st.binary(max_size=6).map(lambda b: b.replace(b"\n", b" "))),
    max_size=3,
)
dialects = st.builds(
    lambda names: Dialect(prefixes=tuple(dict.fromkeys(names))), st.lists(st.sampled_from(WEAK), max_size=4)
)


def damaged(line: bytes, hurts: list[tuple[int, int, bytes]]) -> bytes:
    """Return a line with some bytes cut out and others put in."""
    for at, n, new in hurts:
        line = line[:at] + new + line[at + n :]
    return line


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(line=lines, hurts=damage, dialect=dialects)
def test_any_line_reads(line: bytes, hurts: list[tuple[int, int, bytes]], dialect: Dialect) -> None:
    line = damaged(line, hurts)
    parser = _parser(dialect)
    parse = parser.parse(line)
    assert 0 <= parse.lane_end <= parse.text_at <= len(line)
    for span in parse.spans:
        assert 0 <= span.start <= span.end <= len(line)
        if span.field in RANKS:
            token = line[span.start : span.end]
            assert re.fullmatch(rb"\d+", token), (span, line)
            assert not line[max(0, span.start - 1) : span.start].isdigit(), "the whole number that stands there"
            assert not line[span.end : span.end + 1].isdigit()
    assert parser.parse(line) == parse
    zeros = line.translate(bytes.maketrans(b"123456789", b"0" * 9))
    if zeros != line:
        again = parser.parse(zeros)
        assert [s for s in again.spans if s.field in RANKS[:3]] == [s for s in parse.spans if s.field in RANKS[:3]]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(log=st.lists(st.tuples(lines, damage), max_size=60), times=st.integers(1, 4))
def test_any_log_is_detected_and_cut(log: list[tuple[bytes, list[tuple[int, int, bytes]]]], times: int) -> None:
    texts = [damaged(line, hurts) for line, hurts in log] * times
    dialect = detect(texts)
    block = b"\n".join(texts) + b"\n"
    found = midline_suspects(block, dialect)
    parser = _parser(dialect)
    for line in texts:
        where = cut(line, dialect)
        assert where == sorted(set(where)) and all(0 < at < len(line) for at in where)
        assert not where or found > 0
        assert 0 <= outer_end(line, dialect) <= len(line) and 0 <= prefix_end(line, dialect) <= len(line)
        parser.parse(line)


_parsers: dict[Dialect, Parser] = {}


def _parser(dialect: Dialect) -> Parser:
    if dialect not in _parsers:
        _parsers[dialect] = Parser(dialect)
    return _parsers[dialect]
