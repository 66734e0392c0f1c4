"""How many presses of `d` lead to the culprit: the app itself, driven by keys, on every labelled case.

    python -m tests.bench.stops [CASES_DIR [NAME…]]

A press is right when the cursor's row or another highlighted row on the screen names a culprit, is written by one, or
is a line that the labels call evidence. Prints a line per case (presses; * where only another row than the cursor's is
right), then how many cases are right within 3 presses and the most stops of a healthy job after iteration 10. Exits 1
where one of the two goals is missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from textual.pilot import Pilot

from l4tui.engine.appraisal import appraise
from l4tui.engine.library import load
from l4tui.engine.snapshot import Snapshot
from l4tui.judge import Ruling, ruling_of
from l4tui.screens.job import JobScreen
from tests.l4tui.demo_screen import opened, press, settled
from tests.l4tui.screen import until

CASES = Path(__file__).parents[3] / "shared" / "cases"
SIZE = (120, 40)
MOST = 3  # presses, and stops of a healthy job
CALM_FROM = 10  # iterations in which a healthy job may still warm up


class Case(NamedTuple):
    """A labelled job."""

    folder: Path
    truth: dict[str, object]

    @property
    def paths(self) -> list[str]:
        """Its logs."""
        left_out = ("truth.json", "healthy", "README.md")
        return [str(path) for path in sorted(self.folder.iterdir()) if path.name not in left_out]

    @property
    def culprits(self) -> set[int]:
        """Ranks that may be named; empty where the fault is everybody's, or nobody's."""
        ranks = set(_list(self.truth, "culprit_ranks"))
        if not ranks or len(ranks) == self.truth.get("world_size") or self.truth.get("scope") == "job":
            return set()
        return ranks | set(_list(self.truth, "also_acceptable_ranks"))

    @property
    def is_healthy(self) -> bool:
        """Whether nothing may be found."""
        return str(self.truth.get("fault", "")).startswith("healthy")

    def is_evidence(self, snap: Snapshot, entry: int) -> bool:
        """Say whether the labels call a line evidence."""
        place = snap.place(entry)
        path = Path(snap.sources[place.source].path).resolve()
        other = self.truth.get("failure_lines_other") or {}
        known = {self.folder / str(self.truth.get("file", "input.log")): _list(self.truth, "failure_lines")}
        known |= {self.folder / name: lines for name, lines in other.items()} if isinstance(other, dict) else {}
        if any(path == file.resolve() and place.line in lines for file, lines in known.items()):
            return True
        text = snap.raw(entry).decode("utf-8", "replace")
        return any(re.search(str(pattern), text) for pattern in _list(self.truth, "failure_patterns"))


def _list(truth: dict[str, object], name: str) -> list[int]:
    value = truth.get(name)
    return value if isinstance(value, list) else []


def cases(root: Path) -> Iterator[Case]:
    """Yield the labelled cases that say who it was, and the healthy ones."""
    for path in sorted(root.glob("**/truth.json")):
        case = Case(path.parent, json.loads(path.read_text()))
        if case.culprits or case.is_healthy:
            yield case


def judged(snapshot: Snapshot) -> Ruling:
    """Judge as the app does, in this process: a process a case would take five times as long."""
    return ruling_of(appraise(snapshot, load()))


class Seen(NamedTuple):
    """A highlighted row on the screen."""

    entry: int
    named: set[int]  # ranks that its difference is about
    is_cursor: bool


def highlighted(screen: JobScreen) -> Iterator[Seen]:
    """Yield the cursor's row and all rows on screen that carry a sign of what `d` visits."""
    view = screen.view
    shown = view.rows.keys(view.top, view.top + view.size.height)
    named: dict[int, set[int]] = {}
    for lead in screen.leads:
        for key in {lead.row, view.rows.key_of(lead.entry)}:
            named.setdefault(key, set()).update(lead.ranks)
    told = screen.study.survey.found if screen.study is not None else ()
    for key, entry in zip(shown.tolist(), view.rows.entries(shown).tolist(), strict=True):
        if key in named or key == view.cursor_key:
            ranks = named.get(key, set()) | {rank for d in told if d.row == key for rank in d.ranks}
            yield Seen(entry, ranks, key == view.cursor_key)


def hits(screen: JobScreen, case: Case) -> list[bool]:
    """Return for each highlighted row that shows a culprit whether it is the cursor's."""
    snap = screen.snapshot
    out = []
    for seen in highlighted(screen):
        own = int(snap.ranks.rank[snap.speaker[seen.entry]])
        if case.culprits & {own, *seen.named} or case.is_evidence(snap, seen.entry):
            out.append(seen.is_cursor)
    return out


class Found(NamedTuple):
    """How a case went."""

    presses: int  # to the culprit; 0: not found
    by_cursor: bool
    said: list[str]
    late: int  # stops after the warm-up


async def find(case: Case) -> Found:
    """Open a case and press d."""
    async with opened(case.paths, SIZE, judge=judged) as (pilot, screen):
        await _has_verdict(pilot, screen)
        iterations = [int(screen.snapshot.iteration[lead.entry]) for lead in screen.leads]
        late = sum(iteration > CALM_FROM for iteration in iterations)
        said: list[str] = []
        for n in range(1, MOST + 1 if case.culprits else 1):
            await press(pilot, screen, "d")
            said.append(screen._said)
            if found := hits(screen, case):
                return Found(n, any(found), said, late)
        return Found(0, False, said, late)


async def _has_verdict(pilot: Pilot[int], screen: JobScreen) -> None:
    await until(pilot, lambda: screen.ruling.opinion is not None, 60)
    await settled(pilot, screen)


def main(root: Path = CASES, names: tuple[str, ...] = ()) -> int:
    """Measure all cases and print."""
    os.environ.pop("L4TUI_DEBUG", None)
    right = wrong = healthy = most = 0
    for case in cases(root):
        if names and not any(name in case.folder.name for name in names):
            continue
        found = asyncio.run(find(case))
        if case.is_healthy:
            healthy, most = healthy + 1, max(most, found.late)
            print(f"healthy {found.late}  {case.folder.name}")
            continue
        right, wrong = right + bool(found.presses), wrong + (not found.presses)
        sign = f"{found.presses}{' ' if found.by_cursor else '*'}" if found.presses else "MISSED"
        print(f"{sign} {case.folder.name}  {' | '.join(found.said)}")
    print(f"culprit within {MOST} presses: {right} of {right + wrong}")
    print(f"stops after iteration {CALM_FROM} in {healthy} healthy jobs: at most {most}")
    return int(wrong > 0 or most > MOST)


if __name__ == "__main__":
    sys.exit(main(*[Path(a) for a in sys.argv[1:2]], tuple(sys.argv[2:])) if sys.argv[1:] else main())
