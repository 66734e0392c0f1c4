"""`l4tui report --follow`: diagnose a job while it runs and say so once the evidence is there."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from l4tui.config import Config
from l4tui.exits import UsageError
from l4tui.opening import engine_options, find, say

if TYPE_CHECKING:
    from l4tui.engine.job import Job
    from l4tui.engine.report.build import Table

EVERY = 5.0  # seconds between two diagnoses of a growing job, at least
PATIENCE = 3  # times the last diagnosis took that are left to everything else
QUIET = 60.0  # seconds without news after which a job is judged once more


def open_following(paths: list[str], config: Config) -> Job:
    """Open the newest job of the paths so that it can be read as it grows."""
    from l4tui.engine.job import Job
    from l4tui.inputs import check_paths

    found = find(check_paths(paths))
    newest = max(range(len(found.jobs)), key=lambda at: max(s.mtime for s in found.choose(at).sources))
    folder = found.choose(newest)
    options = engine_options(config, max(source.mtime for source in folder.sources), found)
    return Job(folder.sources, options, found=found, follow=True)


def follow(job: Job, judge: Callable[[Job], Table], told: Callable[[Table], None]) -> Table:
    """Read and judge until a verdict stands; then tell it and return it.

    A verdict stands when two judgements in a row accuse the same, or the job has ended. Ends early on Ctrl+C, with the
    last report.
    """
    job.read_all(final=False)
    report, before, took = judge(job), None, 0.0
    try:
        while not (is_over(report) or (accuses(report) and _who(report) == before)):
            before = _who(report)
            _wait(job, max(EVERY, PATIENCE * took))
            began = time.monotonic()
            report = judge(job)
            took = time.monotonic() - began
    except KeyboardInterrupt:
        return report
    told(report)
    return report


def _wait(job: Job, least: float) -> None:
    """Read what grows for a while; return early only when nothing has come for long."""
    until, quiet = time.monotonic() + least, time.monotonic() + QUIET
    news = False
    while time.monotonic() < until or (not news and time.monotonic() < quiet):
        job.wait(min(1.0, least))
        news = job.poll() or news


def is_over(report: Table) -> bool:
    """Tell whether the job has ended."""
    job = report["job"]
    return isinstance(job, dict) and job["outcome"] in ("completed", "failed")


def accuses(report: Table) -> bool:
    """Tell whether somebody is accused, or the whole job."""
    verdict = report["verdict"]
    return isinstance(verdict, dict) and verdict["scope"] != "none"


def _who(report: Table) -> str:
    verdict, suspects = report["verdict"], report["suspects"]
    assert isinstance(verdict, dict) and isinstance(suspects, dict)
    first = [(s.get("rank"), s.get("node")) for s in (*suspects["ranks"][:1], *suspects["nodes"][:1])]
    return f"{verdict['scope']} {verdict['cause']} {first}"


def run_command(command: str, text: str) -> None:
    """Run a person's command with the report on its standard input; its failure is said, not raised."""
    try:
        done = subprocess.run(command, shell=True, input=text.encode(), check=False)
    except OSError as error:
        raise UsageError(f"--on-verdict: {error}") from None
    if done.returncode:
        say(f"--on-verdict ended with {done.returncode}")
