"""Fit the weights of evidence on labelled cases and say whether they beat the plain order of trust.

`python -m l4tui.engine.fitting CASES… [-o weights.toml]`: a case is a folder with truth.json and the job's logs.
Each (kind, level) gets 10·log10 of ((a+½)/(A+1)) / ((b+½)/(B+1)): a of A culprits had it, b of B innocent ranks of the
same failed jobs had it; each job weighs one; clipped to ±20 and made monotone. The figures are those of cases left out:
one fault at a time, then one logging style at a time. Unless the fit wins by two such cases the plain order ships.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from l4tui.engine.blame import Weights, combine, gather, shipped_weights
from l4tui.engine.diagnosis import diagnose
from l4tui.engine.discovery import discover
from l4tui.engine.evidence.case import Case
from l4tui.engine.evidence.finding import Finding, Strength
from l4tui.engine.evidence.from_snapshot import journal_from
from l4tui.engine.job import Job
from l4tui.engine.library import load

HIGHEST = 20.0  # decibans
WIN = 2  # left-out cases by which a fit must beat the plain order


@dataclass(frozen=True, slots=True)
class Labelled:
    """A failed job with its culprits and what every kind of evidence said of its ranks."""

    name: str
    fault: str
    style: str
    culprits: frozenset[int]
    case: Case
    found: tuple[Finding, ...]
    job: tuple[Finding, ...]


def read_case(folder: Path) -> Labelled | None:
    """Read and judge a labelled case; None where its truth accuses no rank or the whole job."""
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    culprits = frozenset(truth.get("culprit_ranks") or ())
    if not culprits or len(culprits) == truth.get("world_size"):
        return None
    jobs = discover([str(p) for p in sorted(folder.iterdir()) if p.name != "truth.json"])
    job = Job(jobs.choose(0).sources)
    job.read_all()
    case = diagnose(journal_from(job.snapshot()), load(folder)).case
    found, whole = gather(case)
    return Labelled(
        folder.name,
        str(truth.get("fault", folder.name)),
        str(truth.get("style", "?")),
        culprits,
        case,
        tuple(found),
        tuple(whole),
    )


def fit(cases: Sequence[Labelled], plain: Weights) -> Weights:
    """Count how often culprits and innocents had each kind and level."""
    levels = (Strength.WEAK, Strength.STRONG)
    guilty: dict[tuple[str, Strength], float] = defaultdict(float)
    innocent: dict[tuple[str, Strength], float] = defaultdict(float)
    for labelled in cases:
        others = [r for r in labelled.case.ranks if r not in labelled.culprits]
        had = {(f.rank, f.kind, f.strength) for f in labelled.found if f.rank >= 0}
        for kind in plain.of:
            for level in levels:
                guilty[kind, level] += sum((r, kind, level) in had for r in labelled.culprits) / len(labelled.culprits)
                innocent[kind, level] += sum((r, kind, level) in had for r in others) / max(1, len(others))
    n = len(cases)
    of = {}
    for kind in plain.of:
        weak, strong = (_decibans(guilty[kind, level], innocent[kind, level], n) for level in levels)
        of[kind] = (weak, max(weak, strong))
    return replace(plain, origin=f"fitted on {n} cases", of=of)


def _decibans(guilty: float, innocent: float, n: int) -> float:
    ratio = ((guilty + 0.5) / (n + 1)) / ((innocent + 0.5) / (n + 1))
    return round(max(-HIGHEST, min(HIGHEST, 10 * math.log10(ratio))), 1)


def top_ones(cases: Iterable[Labelled], weights: Weights) -> int:
    """Count the cases whose first suspect is a culprit."""
    right = 0
    for labelled in cases:
        ranks = combine(labelled.case, labelled.found, labelled.job, weights).ranks
        right += bool(ranks) and ranks[0].rank in labelled.culprits
    return right


def left_out(cases: Sequence[Labelled], plain: Weights, key: Callable[[Labelled], str]) -> int:
    """Count the cases got right by weights that were fitted without any case of the same key."""
    right = 0
    for name in sorted({key(c) for c in cases}):
        rest = [c for c in cases if key(c) != name]
        if rest:
            right += top_ones([c for c in cases if key(c) == name], fit(rest, plain))
    return right


def write(weights: Weights, groups: Mapping[str, Sequence[str]]) -> str:
    """Write weights as the TOML that ships."""
    lines = [f'origin = "{weights.origin}"', "", "[groups]"]
    lines += [f"{name} = {json.dumps(list(kinds))}" for name, kinds in groups.items()]
    lines += ["", "[candidates]", f"nobody = {weights.nobody}", f"job = {weights.job}", "", "[weights]"]
    lines += [f"{kind} = [{weak}, {strong}]" for kind, (weak, strong) in weights.of.items()]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, compare, and write the table if it wins."""
    parser = argparse.ArgumentParser(prog="python -m l4tui.engine.fitting", description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    folders = sorted(p.parent for d in args.cases for p in d.rglob("truth.json"))
    cases = [c for c in map(read_case, folders) if c is not None]
    plain = shipped_weights()
    fitted = fit(cases, plain)
    figures = {
        "cases": len(cases),
        "plain": top_ones(cases, plain),
        "fitted": top_ones(cases, fitted),
        "left_out_fault": left_out(cases, plain, lambda c: c.fault),
        "left_out_style": left_out(cases, plain, lambda c: c.style),
    }
    sys.stdout.write(json.dumps({"figures": figures, "weights": fitted.of}) + "\n")
    wins = min(figures["left_out_fault"], figures["left_out_style"]) >= figures["plain"] + WIN
    sys.stderr.write("the fit wins\n" if wins else "the plain order of trust stays\n")
    if wins and args.output:
        groups: dict[str, list[str]] = defaultdict(list)
        for kind, group in plain.group_of.items():
            groups[group].append(kind)
        args.output.write_text(write(fitted, groups), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
