"""Every way of searching finds what trying the pattern on each line finds."""

import re
import threading
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine.discovery import discover
from l4tui.engine.formats.shape import plain_literal, treats_digits_alike
from l4tui.engine.job import Job
from l4tui.engine.search import Search, search
from l4tui.engine.snapshot import Snapshot
from l4tui.engine.tidy import ESCAPES

LINES = [
    *(f"[default{k % 4}]:2026-03-01 10:00:{k:02d} INFO a.py:{k % 3}: step {k} of 60 took 0.{k} ms" for k in range(60)),
    "[default0]:\x1b[31mError\x1b[0m: it broke at step 7",
    "10%|#   | 1/10\r20%|##  | 2/10\r30%|### | 3/10",
    "object 0x7fa0deadbeef was freed by worker 11",
    "object 0x7fa0deadbee0 was kept by worker 12",
    "id 550e8400-e29b-41d4-a716-446655440000 Step done",
    "[default1]:one line[default2]:and another step in it",
    "",
    "   step",
    "x" * 5000 + " step at the end",
    "caf\xe9 STEP",
    "last line without end",
]
PATTERNS = [
    "step", "STEP", "(?i)step", "(?i)Error: it", "step 7", "step \\d+ of", "^\\[default1\\]", "ms$", "took 0\\.1",
    "freed|kept", "dead", "beef", "worker 1[12]", "(?i)deadBEE[f0]", ".", "\\s+step", "[^x]step", "default[23]",
    "a.*b", "(st)ep", "(.)\\1", "end$", "\\bstep\\b", "step(?= in)", "7|8", "one line", "another", "30%", "Error:", "é",
    "nothing like this", "^$",
]  # fmt: skip


@pytest.fixture(scope="module")
def snap(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    path: Path = tmp_path_factory.mktemp("search") / "job.log"
    path.write_bytes("\n".join(LINES * 3).encode())
    job = Job(discover([str(path)]).choose(0).sources)
    job.read_all()
    return job.snapshot()


def brute(snap: Snapshot, pattern: str) -> list[int]:
    regex = re.compile(pattern.encode())
    raws = [ESCAPES.sub(b"", raw).rstrip(b"\r\n") for raw in snap.raws(range(snap.length))]
    return [e for e, raw in enumerate(raws) if regex.search(raw)]


def found(snap: Snapshot, pattern: str, start: int = 0) -> list[int]:
    return [int(e) for batch in search(snap, pattern, start, threading.Event()) for e in batch]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_all_ways_find_what_each_line_tells(snap, pattern):
    assert found(snap, pattern) == brute(snap, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_text_alone_finds_the_same(snap, pattern, monkeypatch):
    monkeypatch.setattr(Search, "_verdicts", lambda self: None)
    assert found(snap, pattern) == brute(snap, pattern)


def test_start_and_allowed_bound_the_hits(snap):
    every = brute(snap, "step")
    assert found(snap, "step", every[5]) == every[5:]
    allowed = np.zeros(snap.length, bool)
    allowed[every[3:6]] = True
    assert [int(e) for b in Search(snap, "step", allowed).batches(threading.Event()) for e in b] == every[3:6]


def test_stop_ends_it(snap):
    stop = threading.Event()
    stop.set()
    assert list(search(snap, "step", 0, stop)) == []


@pytest.mark.parametrize(
    ("pattern", "alike"),
    [
        ("step \\d+", True), ("a.b", True), ("[0-9]", True), ("[a-z]+$", True), ("(?i)Error|warn", True),
        ("(?=a)b(?!c)", True), ("\\w{3}", True), ("rank 3", False), ("[0-4]", False), ("[^5]", False),
        ("(a)\\1", False), ("x(?:y|z1)", False), ("(?=4)", False), ("(?>a1)", False),
    ],
)  # fmt: skip
def test_patterns_for_which_digits_make_no_difference(pattern, alike):
    assert treats_digits_alike(re.compile(pattern.encode())) is alike


def test_plain_literals():
    assert plain_literal(re.compile(b"a\\.b c")) == b"a.b c"
    assert plain_literal(re.compile(b"(?i)AbC")) == b"abc"
    assert plain_literal(re.compile(b"ab+")) == b""
    assert plain_literal(re.compile(b"")) == b""
