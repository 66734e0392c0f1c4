"""Each entry of the library fires on three lines of its own, read through the whole engine, and names whom they name.

The tables in rules/ hold, for each entry, lines as they stand in real logs: `WHO | line`, `not | line` for a look-alike
that is something else, `ctx | line` for what must stand above. WHO: w the writer, r3,4 ranks, n:NAME a node, p:NAME the
peer that gets a vote, pid or local or seq or enqueued or absent with a number, . nobody.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from l4tui.engine.discovery import discover
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.from_snapshot import journal_from
from l4tui.engine.homes import spread
from l4tui.engine.job import Job
from l4tui.engine.library import Blames, Pattern, load
from l4tui.engine.library.matching import scan
from l4tui.engine.roles import Sighting, sight

LIBRARY = load()
RULES = Path(__file__).parent / "rules"
LEAST = 3
Row = tuple[str, str]  # who, line


class Fired(NamedTuple):
    """What one line was taken for: the entry's id and whom it names; "" for none."""

    pattern: str
    named: str


@cache
def samples() -> dict[str, list[Row]]:
    """Read the tables."""
    out: dict[str, list[Row]] = {}
    for path in sorted(RULES.glob("*.txt")):
        rows: list[Row] = []
        for line in path.read_text().splitlines():
            if line.startswith("[") and line.endswith("]") and " | " not in line:
                rows = out.setdefault(line[1:-1], [])
            else:
                who, _, text = line.partition(" | ")
                rows.append((who, text))
    return out


@pytest.fixture(scope="module")
def fired(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Fired]]:
    """Read every table as the log of one source, all at once, and match the library."""
    folder = tmp_path_factory.mktemp("rules")
    names = list(samples())
    for n, name in enumerate(names):
        (folder / f"part-{n:03d}.log").write_text("".join(f"{line}\n" for _, line in samples()[name]))
    job = Job(discover([str(folder / f"part-{n:03d}.log") for n in range(len(names))]).whole().sources)
    job.read_all()
    journal = journal_from(job.snapshot())
    sightings = sight(journal, scan(journal, LIBRARY).hits)
    case = Case(journal, tuple(sightings))
    out = {name: [Fired("", "")] * len(samples()[name]) for name in names}
    sources = {Path(path).stem: n for n, path in enumerate(journal.sources)}
    of_source = {sources[f"part-{n:03d}"]: name for n, name in enumerate(names)}
    for s in sightings:
        name = of_source[int(journal.source[s.row])]
        out[name][int(journal.line[s.row]) - 1] = Fired(s.pattern.id, named_by(case, s))
    assert len(journal) == sum(map(len, samples().values())) and np.all(journal.line >= 1)
    job.close()
    return out


def named_by(case: Case, s: Sighting) -> str:
    """Write whom a line names, in the words of the tables."""
    g = s.groups
    for key in ("node", "node2", "host"):
        if key in g and not {"rank", "rank2", "ranks"} & set(g):
            return f"n:{g[key]}"
    for key in ("peer", "peer2"):
        if key in g and s.pattern.blames is Blames.PEER:
            return f"p:{g[key]}"
    if "other" in g:
        return f"r{g['rank']},{g['other']}"
    ranks = case.subjects(s) if {"rank", "rank2", "ranks", "ranks2"} & set(g) or g.get("node_index") == "0" else []
    if s.pattern.blames is Blames.PEER and ranks:
        return f"p:{ranks[0]}"
    if ranks and s.pattern.blames is not Blames.PROGRESS:
        return "r" + ",".join(map(str, ranks))
    for key, word in (
        ("seq", "seq"),
        ("enqueued", "enqueued"),
        ("expected", "absent"),
        ("local_rank", "local"),
        ("pid", "pid"),
        ("pid2", "pid"),
    ):
        if key in g and s.pattern.id != "fact.rank-pid":
            return f"{word} {g[key]}"
    return "w" if s.pattern.blames is Blames.WRITER else "."


@pytest.mark.parametrize("pattern", LIBRARY.patterns, ids=lambda p: p.id)
def test_three_lines_of_its_own(pattern: Pattern, fired: dict[str, list[Fired]]) -> None:
    rows = samples().get(pattern.id, [])
    own = [
        (who, line, hit)
        for (who, line), hit in zip(rows, fired.get(pattern.id, []), strict=True)
        if who not in ("not", "ctx")
    ]
    others = [(line, hit) for (who, line), hit in zip(rows, fired.get(pattern.id, []), strict=True) if who == "not"]
    assert len({line for _, line, _ in own}) >= LEAST, f"{pattern.id}: too few independent lines"
    for who, line, hit in own:
        assert hit.pattern == pattern.id, line
        if who.startswith("r"):
            who = "r" + ",".join(map(str, spread(who[1:])))
        assert hit.named == who, line
    assert others, f"{pattern.id}: no look-alike"
    for line, hit in others:
        assert hit.pattern != pattern.id, line


def test_no_table_is_left_over() -> None:
    assert set(samples()) == {p.id for p in LIBRARY.patterns}
