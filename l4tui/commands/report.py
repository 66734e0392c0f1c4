"""`l4tui report`: who is to blame, since when and why, as text, JSON, Markdown or HTML."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from l4tui import options
from l4tui.config import Config
from l4tui.exits import Exit, UsageError

if TYPE_CHECKING:
    from l4tui.engine.diagnosis import Diagnosis
    from l4tui.engine.evidence.case import Baseline, Suspicion
    from l4tui.engine.job import Job
    from l4tui.engine.report.build import Table
    from l4tui.engine.snapshot import Snapshot
    from l4tui.engine.telemetry.curves import Outside

RANKERS = ("blame", "l4", "error_time", "error_count")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    options.add_paths(parser)
    parser.add_argument("--format", choices=("text", "json", "markdown", "html"), default="text", help="default: text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of standard output")
    parser.add_argument("--check", action="store_true", help="exit 1 when somebody is accused or the job failed")
    parser.add_argument(
        "--baseline", action="append", default=[], metavar="PATH", help="a healthy job: file, folder or stored name"
    )
    parser.add_argument("--ranker", choices=RANKERS, default="blame", help="how to rank (default: blame)")
    parser.add_argument(
        "--suspect",
        action="append",
        default=[],
        metavar="WHO[@TIME]",
        help="an outside finding: node:n12@12:03, rank:7",
    )
    parser.add_argument(
        "--reduction", action="store_true", help="instead: which events carry nothing new, and the bytes to save"
    )
    parser.add_argument("--max-lines", type=int, default=1000, metavar="N", help="line ranges per event (default 1000)")
    parser.add_argument("--follow", action="store_true", help="read on until a verdict stands or the job ends")
    parser.add_argument(
        "--on-verdict", metavar="CMD", help="with --follow: run this shell command with the JSON report on its stdin"
    )
    options.add_reading(parser)


def run(args: argparse.Namespace, config: Config) -> int:
    """Read the job, diagnose it, write the report; of several jobs each is told, with --check the worst counts."""
    from l4tui.engine.report.build import should_alarm
    from l4tui.opening import open_jobs

    if args.reduction:
        return _reduction(args, config)
    baseline = _baseline(args.baseline, config)
    if args.follow:
        reports = [_follow(args, config, baseline)]
    elif args.on_verdict:
        raise UsageError("--on-verdict needs --follow")
    else:
        reports = [_report(job, args, baseline) for _, job in open_jobs(args.paths, config)]
    alarm = any(should_alarm(report) for report in reports)
    _write(_render(reports, args.format), args.output)
    return Exit.FOUND if args.check and alarm else Exit.OK


def _write(text: str, output: str | None) -> None:
    if output and output != "-":
        Path(output).write_text(text, "utf-8")
    else:
        sys.stdout.write(text)


def _reduction(args: argparse.Namespace, config: Config) -> int:
    """Write what of each job's log could go unsaid."""
    from l4tui.opening import open_jobs, read
    from l4tui.reducing import render_reduction

    if args.format not in ("text", "json"):
        raise UsageError("--reduction is written as text or json")
    _write("".join(render_reduction(read(job), args.format) for _, job in open_jobs(args.paths, config)), args.output)
    return Exit.OK


def _follow(args: argparse.Namespace, config: Config, baseline: Baseline | None) -> Table:
    from l4tui.reportlive import follow, open_following, run_command

    def told(report: Table) -> None:
        if args.on_verdict:
            run_command(args.on_verdict, _render([report], "json"))

    def judge(job: Job) -> Table:
        return _judge(job, job.snapshot(), args, baseline, 0.0)

    return follow(open_following(args.paths, config), judge, told)


def _report(job: Job, args: argparse.Namespace, baseline: Baseline | None) -> Table:
    from l4tui.opening import read

    began = time.monotonic()
    read(job)
    return _judge(job, job.snapshot(), args, baseline, time.monotonic() - began)


def _judge(job: Job, snap: Snapshot, args: argparse.Namespace, baseline: Baseline | None, index_s: float) -> Table:
    from l4tui.engine.condensed import condense, tally
    from l4tui.engine.l4.pipeline import iteration_tables
    from l4tui.engine.library import load
    from l4tui.engine.report import build_report
    from l4tui.engine.report.divergence import divergence_tables
    from l4tui.engine.telemetry.outside import Shelf
    from l4tui.opening import say

    began = time.monotonic()
    whole, length = tally(snap), snap.length
    snap = condense(snap)
    if snap.length < length:
        kinds = "rare and grave ones, and whole iterations of the others"
        say(f"judged by {snap.length:,} of {length:,} lines: {kinds}")
        if not args.follow:
            job.release()
    outside = Shelf().outside(snap, job.options.beside, job.options.utc_offset_s)
    found = diagnose_snapshot(snap, args.ranker, baseline, _suspicions(args.suspect, snap), outside)
    suspected = found.blame.ranks or found.blame.nodes  # else nothing is shown of degrees: a forest costs seconds
    degrees, iterations = found.case.l4.degrees() if suspected else {}, iteration_tables(found.case)
    divergence = divergence_tables(snap, load())
    return build_report(
        snap,
        found,
        read_bytes=sum(reader.at for reader in job.readers),
        index_s=index_s,
        diagnose_s=time.monotonic() - began,
        jobs=baseline.jobs if baseline else 0,
        degrees=degrees,
        iterations=iterations,
        divergence=divergence,
        max_lines=args.max_lines,
        whole=whole,
    )


def diagnose_snapshot(
    snap: Snapshot,
    ranker: str,
    baseline: Baseline | None,
    suspicions: tuple[Suspicion, ...] = (),
    outside: tuple[Outside, ...] = (),
) -> Diagnosis:
    """Diagnose what has been read, with the shipped library and the person's own."""
    from l4tui.engine.diagnosis import diagnose
    from l4tui.engine.evidence.from_snapshot import journal_from
    from l4tui.engine.library import load
    from l4tui.opening import say

    library = load()
    for warning in library.warnings:
        say(warning)
    return diagnose(
        journal_from(snap), library, baseline=baseline, suspicions=suspicions, outside=outside, ranker=ranker
    )


def _baseline(paths: list[str], config: Config) -> Baseline | None:
    if not paths:
        return None
    from l4tui.commands.baseline import profiles
    from l4tui.engine.l4 import baselines
    from l4tui.engine.l4.crossjob import CrossJob, Profile

    found: list[Profile] = []
    for word in paths:
        if not Path(word).exists() and word in baselines.names():
            try:
                found += baselines.load(word)
            except baselines.BaselineError as error:
                raise UsageError(f"--baseline {word}: {error}") from None
        else:
            found += profiles([word], config)
    return CrossJob(found)


def _suspicions(words: list[str], snap: Snapshot) -> tuple[Suspicion, ...]:
    from l4tui.engine.evidence.case import Suspicion
    from l4tui.engine.model import NO_TIME
    from l4tui.engine.moments import parse_moment

    out = []
    for word in words:
        who, _, at = word.partition("@")
        kind, _, name = who.partition(":")
        known = snap.clock[snap.clock != NO_TIME]
        try:
            moment = parse_moment(at, int(known.min()), int(known.max())) if at and len(known) else NO_TIME
        except ValueError as error:
            raise UsageError(f"--suspect {word}: {error}") from None
        if kind == "rank" and name.isdigit():
            out.append(Suspicion(rank=int(name), time=moment))
        elif kind == "node" and name:
            out.append(Suspicion(node=name, time=moment))
        else:
            raise UsageError(f"--suspect {word}: write rank:7 or node:n12, with @TIME if known")
    return tuple(out)


def _render(reports: list[Table], form: str) -> str:
    if form == "json":  # a line for each job
        return "".join(json.dumps(report, ensure_ascii=False) + "\n" for report in reports)
    from l4tui.engine import report as pages

    if form == "html":
        return pages.render_html(reports)
    render = {"text": pages.render_text, "markdown": pages.render_markdown}[form]
    return "\n".join(map(render, reports))
