"""One job's many files, or several jobs in one folder?

Rules, strongest first:

1. *Job ids in names* (``slurm-17.out``, ``job-17-3.out``, ``step-17.2-0.out``, ``train.o17``, ``sweep-18_2.log``; a
   torchrun run id before ``attempt_0``): different ids are different jobs, whatever else says.
2. *Runs*: folders named by a date, ``run_3``, ``version_2``, a long number, and files ``name-12345.log`` are different
   jobs when they begin more than two minutes apart. Process ids look alike but begin together.
3. *Folders with other names* are different jobs when they hold files of the same names and the time ranges in the
   files do not overlap.
4. Everything else is one job: nodes, ranks, workers, attempts, and files side by side.

Files without an id join the only job there is; beside several jobs they are a group of their own by folder.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import PurePath

TOGETHER = 120.0  # seconds within which the parts of a job begin

Span = tuple[float, float]  # first and last time stamp in a file, seconds; nan where it has none

_PART = re.compile(
    r"(?i)(?:^|[-_.])(?:node|host|nid|rank|worker|master|pod|gpu|proc(?:ess)?|task|attempt|replica|stage|vm|ip|std(?:out|err)"
    r"|logs?|device|dp|tp|pp|cn|gn|daemon)[-_.]?\w*(?:[-_.]|$)|^\d{1,4}$|^\d+(?:[-.]\d+){3}"
)
_JOB = re.compile(r"(?i)(?:^|[^a-z])(?:slurm|sbatch|jobid|job|lsf)[-_.]?(\d+)|(?:^|[-_.])step[-_.](\d+)\.\d+")
_PBS = re.compile(r"\.[oe](\d{2,})(?:[-.]\d+)?$")
_ARRAY = re.compile(r"(?i)^(?P<name>.+)[-_](\d+)_\d+\.(?:out|err|log|txt)$")
_NUMBERED = re.compile(r"(?i)^(?P<name>[a-z].*)[-_.](\d{5,})\.(?:out|err|log|txt)$")
_RUN = re.compile(
    r"(?i)^(?:run|exp|experiment|trial|version|v)[-_.]?\d+$|^\d{5,}$|(?:19|20)\d\d-?[01]\d-?[0-3]\d|^[0-9a-f]{8}-?[0-9a-f]{4}"
)
_ELASTIC = re.compile(r"^(?P<run>.+)_[a-z0-9_]{8}$")


def job_id(path: str) -> str:
    """Return the job id that a relative path tells, "" when it tells none."""
    parts = PurePath(path).parts
    for part in reversed(parts):
        if found := _JOB.search(part) or _PBS.search(part):
            return found[1] or found[2]
        if (array := _ARRAY.match(part)) and not _PART.search(array["name"]):
            return array[2]
    for part, below in pairwise(parts):
        run = _ELASTIC.match(part)
        if run and below.startswith("attempt_") and run["run"] != "none":
            return run["run"]
    return ""


def group(paths: Sequence[str], span: Callable[[int], Span]) -> list[tuple[str, list[int]]]:
    """Return named groups of indices into `paths` (relative to the opened folder), one group a job."""
    keyed: dict[str, list[int]] = defaultdict(list)
    for index, path in enumerate(paths):
        keyed[job_id(path)].append(index)
    loose = keyed.pop("", [])
    if len(keyed) > 1:
        groups = [(f"job {key}" if key.isdigit() else key, members) for key, members in keyed.items()]
        return groups + [(name or "others", rest) for name, rest in _runs([paths[i] for i in loose], loose, span)]
    if not loose:
        return [("", list(range(len(paths))))]
    runs = _runs([paths[i] for i in loose], loose, span)
    if len(runs) == 1:
        return [("", list(range(len(paths))))]
    return runs + [(f"job {key}" if key.isdigit() else key, members) for key, members in keyed.items()]


def _runs(paths: Sequence[str], indices: Sequence[int], span: Callable[[int], Span]) -> list[tuple[str, list[int]]]:
    """Split files without job ids by rules 2 and 3."""
    if not paths:
        return []
    labelled: dict[tuple[str, bool], list[int]] = defaultdict(list)
    families: dict[tuple[str, bool], set[str]] = defaultdict(set)
    depth = _common_depth(paths)
    for path, index in zip(paths, indices, strict=True):
        label, is_run, below = _label(path, depth)
        labelled[label, is_run].append(index)
        families[label, is_run].add(below)
    plain = labelled.pop(("", False), [])
    if len(labelled) < 2:
        return [("", list(indices))]
    clusters: list[tuple[list[str], list[int], Span, set[str], bool]] = []
    for (label, is_run), members in labelled.items():
        times, names = _union([span(i) for i in members]), families[label, is_run]
        for cluster in clusters:
            if not _apart(cluster[2], times, is_run and cluster[4], bool(cluster[3] & names)):
                cluster[0].append(label)
                cluster[1].extend(members)
                break
        else:
            clusters.append(([label], list(members), times, names, is_run))
    if len(clusters) == 1:
        return [("", list(indices))]
    found = [(labels[0], sorted(members)) for labels, members, *_ in clusters]
    return found + ([("others", plain)] if plain else [])


def _common_depth(paths: Sequence[str]) -> int:
    """Return how many leading folders all paths share."""
    folders = [PurePath(path).parts[:-1] for path in paths]
    depth = 0
    while all(len(parts) > depth for parts in folders) and len({parts[depth] for parts in folders}) == 1:
        depth += 1
    return depth


def _label(path: str, depth: int) -> tuple[str, bool, str]:
    """Return a file's run or folder, whether that is named like a run, and the rest of its path; "" for neither."""
    parts = PurePath(path).parts
    for at, part in enumerate(parts[:-1]):
        if _RUN.search(part):
            return "/".join(parts[: at + 1]), True, "/".join(parts[at + 1 :])
    numbered = _NUMBERED.match(parts[-1])
    if numbered and not _PART.search(numbered["name"]):
        return numbered[2], True, numbered["name"]
    if len(parts) > depth + 1 and not _PART.search(parts[depth]):
        return parts[depth], False, "/".join(parts[depth + 1 :])
    return "", False, ""


def _union(spans: Sequence[Span]) -> Span:
    known = [s for s in spans if s[0] == s[0]]
    nan = float("nan")
    return (min(s[0] for s in known), max(s[1] for s in known)) if known else (nan, nan)


def _apart(a: Span, b: Span, both_runs: bool, same_names: bool) -> bool:
    """True when two spans are two jobs'; comparisons with nan are false, so unknown times keep files together."""
    if both_runs:
        return abs(a[0] - b[0]) > TOGETHER
    return same_names and (a[1] < b[0] or b[1] < a[0])
