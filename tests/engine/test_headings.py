"""Lines that say whose lines follow: of tail and head, of dshbak and clush -b."""

from __future__ import annotations

from pathlib import Path

from l4tui.engine.discovery import discover
from l4tui.engine.headings import NO_HEADING, cuts, heading_of
from l4tui.engine.job import Job
from l4tui.engine.model import Speaker
from tests.engine.reading import ranks_of


def nodes_of(folder: Path, lines: list[str]) -> list[str | None]:
    """Return the node of each line."""
    path = folder / "job.log"
    path.write_text("".join(line + "\n" for line in lines))
    job = Job(discover([str(path)]).choose(0).sources)
    job.read_all()
    snap = job.snapshot()
    found = [int(snap.ranks.node[who]) for who in snap.speaker.tolist()]
    job.close()
    return [snap.nodes[node] if node >= 0 else None for node in found]


def tailed(turns: list[int], name: str = "logs/rank_{}.log") -> list[tuple[str, int | None]]:
    """Return what tail -f shows of files that grow in turns, with the rank of each line."""
    out: list[tuple[str, int | None]] = []
    for k, r in enumerate(turns):
        out.append((f"==> {name.format(r)} <==", None))
        out += [(f"step {k} loss 2.{k}", r), ("  a second line", r), ("", r)]
    return out


def test_files_that_tail_shows(tmp_path: Path) -> None:
    lines = tailed([1, 0, 3, 1, 2, 0] * 9)
    assert ranks_of(tmp_path, [line for line, _ in lines]) == [rank for _, rank in lines]


def test_files_whose_names_tell_no_rank(tmp_path: Path) -> None:
    lines = tailed([1, 0, 3, 1, 2, 0] * 9, "out/p{}.txt")
    assert set(ranks_of(tmp_path, [line for line, _ in lines])) == {None}


def gathered(rule: str, last: str = "done") -> list[tuple[str, str | None]]:
    """Return (line, node) of the outputs of three hosts."""
    out: list[tuple[str, str | None]] = []
    for n in (11, 12, 13):
        out += [(line, None) for line in (rule, f"gx-{n}", rule)]
        out += [(line, f"gx-{n}") for line in ("loading", f"step 0 loss 2.{n}", rule + "---", last)]
    return out


def test_hosts_between_rules(tmp_path: Path) -> None:
    for width in (15, 16):
        for last in ("done", "v2"):
            lines = gathered("-" * width, last)
            assert nodes_of(tmp_path, [line for line, _ in lines]) == [node for _, node in lines]


def test_hosts_whose_work_has_ended(tmp_path: Path) -> None:
    for heading in ("[{n}] 10:00:07 [SUCCESS] gx-{n}", "[{n}] 10:00:07 [FAILURE] me@gx-{n} Exited with error code 1",
                    "gx-{n} | CHANGED | rc=0 >>"):  # fmt: skip
        lines = [(heading.format(n=n), None) if not k else (f"line {k}", f"gx-{n}") for n in (1, 2) for k in range(4)]
        assert nodes_of(tmp_path, [line for line, _ in lines]) == [node for _, node in lines]


def test_a_line_alone_between_the_rules_of_two_headings(tmp_path: Path) -> None:
    rule = "-" * 16
    lines = [rule, "gx-11", rule, "v2", rule, "gx-12", rule, "v3"]
    assert nodes_of(tmp_path, lines) == [None, None, None, "gx-11", None, None, None, "gx-12"]


def test_hosts_of_which_each_tells_its_rank(tmp_path: Path) -> None:
    rows = gathered("-" * 16)
    lines = [line.replace("loading", f"Hello from rank {(int(node[3:]) + 1) % 3} of 3") for line, node in rows if node]
    lines = [line for k in range(3) for line in ("-" * 16, f"gx-{11 + k}", "-" * 16, *lines[4 * k : 4 * k + 4])]
    assert ranks_of(tmp_path, lines) == [r for first in (0, 1, 2) for r in (None, None, None, *[first] * 4)]


def test_what_is_no_heading() -> None:
    rule = b"-" * 16
    assert heading_of(b"==> training <==") is None and heading_of(b"==> epoch 3 <==") is None
    for text in (b"epoch3", b"two words", b"name", b"Layer12", b"rank0"):
        assert heading_of(b"\n".join((rule, text, rule))) is None
    assert heading_of(b"-" * 17 + b"\ngx1\n" + b"-" * 17) is None
    assert heading_of(b"\n".join((rule, b"gx1", rule + b"-"))) is None


def test_a_block_that_ends_within_a_heading_leaves_what_follows_unknown() -> None:
    rule = b"-" * 16
    for text in (rule, rule + b"\ngx1"):
        assert heading_of(text) == NO_HEADING
        assert cuts([(7, text)], [Speaker(0)], "\ngx-11") == [(0, "\ngx-11"), (7, NO_HEADING)]


def test_a_heading_behind_a_launchers_tag_is_one_ranks_text(tmp_path: Path) -> None:
    lines = [f"[default{k % 4}]:{t}" for t in ("==> a/rank_2.log <==", "step 1 loss 2", "step 2") for k in range(8)]
    assert ranks_of(tmp_path, lines) == [k % 4 for _ in range(3) for k in range(8)]
