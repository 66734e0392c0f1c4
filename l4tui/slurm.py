"""Where Slurm put the output of a job: asks scontrol, expands file name patterns, reads srun lines of the script."""

from __future__ import annotations

import glob
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from l4tui.exits import UsageError

Job = Mapping[str, str]
Ask = Callable[[Sequence[str]], str]  # runs a command of Slurm; raises UsageError where it fails

JOB_ID = re.compile(r"\d+(?:_\d+|\+\d+)?", re.ASCII)
_KEY = re.compile(r"(?:^|\s)([A-Z][\w:/]*)=")
_PATTERN = re.compile(r"%(\d*)([A-Za-z%])")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_STREAMS = {"-o": True, "--output": True, "-e": True, "--error": True}
TIMEOUT_S = 20  # a busy slurmctld answers late


def ask_slurm(words: Sequence[str]) -> str:
    """Run one of Slurm's commands and return what it prints."""
    try:
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise UsageError(f"{words[0]} is not here: run this where Slurm's commands are, or name the log file") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{words[0]} did not answer within {TIMEOUT_S} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise UsageError(f"{words[0]}: {said[-1]}")
    return done.stdout.decode(errors="replace")


def log_paths(job_id: str, ask: Ask = ask_slurm, here: Path | None = None) -> list[str]:
    """Return the files of a job, as paths or globs; raise UsageError with the reason where there are none."""
    if not JOB_ID.fullmatch(job_id):
        raise UsageError(f"{job_id!r} is no Slurm job id: write 4711, or 4711_3 for a task of an array")
    try:
        jobs = read_jobs(ask(["scontrol", "show", "job", "-o", job_id]))
    except UsageError as error:
        if left := _left_here(job_id, here or Path.cwd()):
            return left
        raise UsageError(f"{error} (Slurm forgets finished jobs: name the log file itself)") from None
    if not jobs:
        raise UsageError(f"scontrol says nothing about job {job_id}")
    if len(jobs) > 1 and not all("HetJobId" in job for job in jobs):
        tasks = ", ".join(sorted(f"{task_name(job)} ({job.get('JobState', '?').lower()})" for job in jobs))
        raise UsageError(f"job {job_id} is an array, name a task: {tasks}")
    paths = dict.fromkeys(path for job in jobs for path in _files_of(job, ask))
    if not paths:
        raise UsageError(_why_none(jobs[0]))
    return list(paths)


def read_jobs(text: str) -> list[Job]:
    """Read `scontrol show job -o`: a job a line, Key=Value, values may hold spaces."""
    jobs: list[Job] = []
    for line in text.splitlines():
        found = list(_KEY.finditer(line))
        ends = [key.start() for key in found[1:]] + [len(line)]
        if found:
            jobs.append({key[1]: line[key.end() : end].strip() for key, end in zip(found, ends, strict=True)})
    return jobs


def task_name(job: Job) -> str:
    """Return the id by which a person names a job: 4711, or 4711_3 in an array."""
    if job.get("ArrayTaskId", "").isdecimal():
        return f"{job.get('ArrayJobId', '')}_{job['ArrayTaskId']}"
    return job.get("JobId", "")


def expand(pattern: str, job: Job) -> str:
    """Fill in what is known of a file name pattern; what differs by task, node or step becomes a glob's `*`."""
    known = {
        "j": job.get("JobId", ""),
        "A": job.get("ArrayJobId") or job.get("JobId", ""),
        "a": job.get("ArrayTaskId", ""),
        "x": job.get("JobName", ""),
        "u": job.get("UserId", "").split("(")[0],
        "%": "%",
    }

    def fill(found: re.Match[str]) -> str:
        width, letter = found.groups()
        value = known.get(letter, "")
        if not value:
            return "*"
        return glob.escape(value.zfill(min(int(width), 10)) if width and value.isdecimal() else value)

    pieces, at = [], 0
    for found in _PATTERN.finditer(pattern):
        pieces += [glob.escape(pattern[at : found.start()]), fill(found)]
        at = found.end()
    whole = "".join([*pieces, glob.escape(pattern[at:])])
    return whole if "*" in whole.replace("[*]", "") else _unescape(whole)


def srun_patterns(script: str) -> Iterator[str]:
    """Yield the --output and --error patterns of srun lines in a batch script."""
    for line in script.replace("\\\n", " ").splitlines():
        if not re.search(r"(?:^|[\s;&|(])srun\s", line) or line.lstrip().startswith("#"):
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # quotes that go on over lines
            continue
        for word, following in zip(words, [*words[1:], ""], strict=True):
            option, equals, value = word.partition("=")
            if option in _STREAMS:
                yield value if equals else following
            elif re.fullmatch(r"-[oe]\S+", word) and not equals:
                yield word[2:]


def _files_of(job: Job, ask: Ask) -> Iterator[str]:
    folder = job.get("WorkDir", "")
    for key in ("StdOut", "StdErr"):
        path = job.get(key, "")
        if path and path != "/dev/null":
            whole = _exists(expand(path, job), folder)
            if whole:
                yield whole
    if job.get("BatchFlag") == "1":
        try:
            script = ask(["scontrol", "write", "batch_script", task_name(job), "-"])
        except UsageError:  # another user's script is not shown; the job's own files are enough
            return
        for pattern in srun_patterns(script):
            filled = _fill_variables(pattern, job)
            whole = _exists(expand(filled, job), folder) if filled else None
            if whole:
                yield whole


def _exists(path: str, folder: str) -> str | None:
    whole = str(Path(folder, path))
    return whole if Path(whole).exists() or ("*" in whole and glob.glob(whole)) else None  # noqa: PTH207 - absolute


def _fill_variables(pattern: str, job: Job) -> str | None:
    """Replace the shell variables that Slurm sets; None where others would have to be guessed."""
    known = {
        "SLURM_JOB_ID": job.get("JobId"),
        "SLURM_JOBID": job.get("JobId"),
        "SLURM_JOB_NAME": job.get("JobName"),
        "SLURM_ARRAY_JOB_ID": job.get("ArrayJobId"),
        "SLURM_ARRAY_TASK_ID": job.get("ArrayTaskId"),
        "SLURM_SUBMIT_DIR": job.get("WorkDir"),
    }
    for found in _VARIABLE.finditer(pattern):
        if not known.get(found[1] or found[2]):
            return None
    return _VARIABLE.sub(lambda found: known[found[1] or found[2]] or "", pattern)


def _why_none(job: Job) -> str:
    name = task_name(job)
    if not job.get("StdOut"):
        return f"job {name} was started by srun itself: its output went to srun's terminal, Slurm keeps no file"
    return f"job {name} is {job.get('JobState', 'unknown').lower()}: {job['StdOut']} does not exist here"


def _left_here(job_id: str, here: Path) -> list[str]:
    return sorted(str(path.relative_to(here)) for path in here.glob(f"slurm-{job_id}*.out"))


def _unescape(escaped: str) -> str:
    return re.sub(r"\[([*?[])\]", r"\1", escaped)
