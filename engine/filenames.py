"""Identity that paths tell: one name by its own words, Slurm's numbers and hosts by the whole set of names."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

from l4tui.engine.model import UNKNOWN, SourceName

_PACKED = re.compile(r"\.(?:gz|zst|xz|bz2|lz4)$")
_ROTATED = re.compile(r"(?<=\.log|\.txt|\.out|\.err)\.\d{1,3}$")
_EXTENSION = re.compile(r"\.(?:log|txt|out|err)$")
_STREAM = re.compile(r"(?:^|[/._-])(?:(stdout|out)|(stderr|err))(?:\.(?:log|txt))?$", re.IGNORECASE)
_STREAM_FOLDER = re.compile(r"(?:^|/)(?:(stdout|out)|(stderr|err))(?=/)", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*")
_SLURM = re.compile(r"(?P<job>.*\d)[-_.](?P<task>\d{1,7})[-_.](?P<node>[A-Za-z][\w-]*)")  # %j-%t-%N
_JOB_TASK = re.compile(r"(?P<head>(?:.*/)?(?:[^/]*[-_.])?\d+)[-_.](?P<task>\d{1,7})")  # %x.%j.%4t
_NODE_TASK = re.compile(r"(?P<head>(?:.*/)?(?:[^/]*[-_.])?\d{2,})[-_.](?P<node>\d{1,6})[-_.](?P<task>\d{1,7})")
_NUMBERED = re.compile(r"(?P<stem>(?:.*/)?(?i:std|)(?i:out|err)(?i:put|))\.(?P<rank>\d{1,6})")
_LAST_NUMBER = re.compile(r"\d+")
_WORDS_OF_FOLDERS = "logs log output outputs out tmp results result runs run work data workdir torchelastic"
_WORDS_OF_NO_HOSTS = (
    "epoch run seed sweep slurm job step part trial exp experiment attempt log logs output out err version v train test"
    " eval shard chunk rank task iter iteration ckpt checkpoint stage fold batch array proc process thread gpu cuda"
    " device scheduler try model layer core r stdout stderr"
)
_WORDS_OF_HOSTS = "node host worker master server machine compute cn nid dgx hgx gx pod vm rack blade"
_TOKEN = re.compile(r"[A-Za-z]*\d[A-Za-z0-9]*|[A-Za-z]+")
_FOLDERS = frozenset(_WORDS_OF_FOLDERS.split(" "))
_NO_HOSTS = frozenset(_WORDS_OF_NO_HOSTS.split(" "))
_FILE_WORDS = _NO_HOSTS - {"gpu", "cuda", "device"}  # those can begin a host's name
_HOST_WORDS = frozenset(_WORDS_OF_HOSTS.split(" "))


@dataclass(frozen=True, slots=True)
class NamePattern:
    """An entry of filenames.toml."""

    name: str
    regex: re.Pattern[str]
    beside: re.Pattern[str] | None


@cache
def patterns() -> tuple[NamePattern, ...]:
    """Load filenames.toml once."""
    table = tomllib.loads(Path(__file__).with_name("filenames.toml").read_text(encoding="utf-8"))
    return tuple(
        NamePattern(row["name"], re.compile(row["pattern"]), re.compile(row["with"]) if "with" in row else None)
        for row in table["name"]
    )


def names_of(paths: Sequence[PurePath]) -> list[SourceName]:
    """Return what each relative path of a job tells, given all of them."""
    plain = [_ROTATED.sub("", _PACKED.sub("", path.as_posix())) for path in paths]
    folders: dict[str, set[str]] = defaultdict(set)
    for text in plain:
        folder, _, base = text.rpartition("/")
        folders[folder].add(base)
    names = [_by_words(text, folders) for text in plain]
    _slurm_tasks(plain, names)
    _job_tasks(plain, names)
    _node_tasks(plain, names)
    _numbered(plain, names, folders)
    _hosts(plain, names)
    _host_folders(plain, names)
    _streams(plain, names)
    return names


def _by_words(text: str, folders: dict[str, set[str]]) -> SourceName:
    for one in patterns():
        match = one.regex.search(text)
        if match is None:
            continue
        beside = one.beside
        if beside is not None and not any(beside.search(base) for base in folders[text.rpartition("/")[0]]):
            continue
        found = match.groupdict()
        group = found.get("group")
        if "group" in found:
            group = text[: match.end("group")] if group is not None else text[: match.start()]
        node = found.get("node")
        if node is not None and node.rstrip("0123456789").rstrip("-_").lower().split("_")[0] in _FOLDERS:
            node = None
        stream = found.get("stream")
        return SourceName(
            rank=int(found.get("rank") or UNKNOWN),
            local_rank=int(found.get("local_rank") or UNKNOWN),
            node=node,
            attempt=int(found.get("attempt") or 0),
            pid=int(found.get("pid") or UNKNOWN),
            stream=stream and {"out": "stdout", "err": "stderr"}.get(stream, stream),
            group=group,
        )
    return SourceName()


def _slurm_tasks(plain: Sequence[str], names: list[SourceName]) -> None:
    """Read ``%j-%t-%N``: a number before a host is the task when a job's numbers count up from 0, one file each."""
    jobs: dict[tuple[str, str], dict[int, tuple[int, str]]] = defaultdict(dict)
    for i, text in enumerate(plain):
        stem, extension = _split(text)
        match = _SLURM.fullmatch(stem)
        if match is None or names[i] != SourceName():
            continue
        jobs[match["job"], extension][i] = (int(match["task"]), match["node"])
    for found in jobs.values():
        tasks = sorted(task for task, _ in found.values())
        if len(tasks) > 1 and tasks == list(range(len(tasks))):
            for i, (task, node) in found.items():
                names[i] = SourceName(rank=task, node=node)


def _job_tasks(plain: Sequence[str], names: list[SourceName]) -> None:
    """Read ``%x.%j.%4t``: numbers that count up from 0 behind the id of a job, if the batch script's own file tells it.

    That file is ``slurm-12.out``, or the tasks' name without the task: ``train.12.out``.
    """
    jobs: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for i, text in enumerate(plain):
        stem, extension = _split(text)
        match = _JOB_TASK.fullmatch(stem)
        if match is not None and names[i] == SourceName():
            jobs[match["head"], extension][i] = int(match["task"])
    bases = {text.rpartition("/")[2] for text in plain}
    for (head, extension), found in jobs.items():
        base = head.rpartition("/")[2]
        told = f"slurm-{_LAST_NUMBER.findall(base)[-1]}.out" in bases or base + extension in bases
        if told and len(found) > 1 and sorted(found.values()) == list(range(len(found))):
            for i, task in found.items():
                names[i] = SourceName(rank=task)


def _node_tasks(plain: Sequence[str], names: list[SourceName]) -> None:
    """Read ``%x-%j-%n-%t``: tasks count up from 0, and with them the nodes."""
    jobs: dict[tuple[str, str], dict[int, tuple[int, int]]] = defaultdict(dict)
    for i, text in enumerate(plain):
        stem, extension = _split(text)
        match = _NODE_TASK.fullmatch(stem)
        if match is not None and names[i] == SourceName():
            jobs[match["head"], extension][i] = (int(match["task"]), int(match["node"]))
    for found in jobs.values():
        pairs = sorted(found.values())
        nodes = [node for _, node in pairs]
        counted = [task for task, _ in pairs] == list(range(len(pairs)))
        if counted and nodes == sorted(nodes) and set(nodes) == set(range(len(set(nodes)))) and len(set(nodes)) > 1:
            for i, (task, _) in found.items():
                names[i] = SourceName(rank=task)


def _numbered(plain: Sequence[str], names: list[SourceName], folders: dict[str, set[str]]) -> None:
    """Read ``out.%r`` of Hydra's -outfile-pattern: from 0 on; beside a file without a number they are its old parts."""
    sets: dict[str, dict[int, int]] = defaultdict(dict)
    for i, text in enumerate(plain):
        match = _NUMBERED.fullmatch(text)
        if match is not None and names[i] == SourceName():
            sets[match["stem"]][i] = int(match["rank"])
    for stem, found in sets.items():
        folder, _, base = stem.rpartition("/")
        if len(found) > 1 and sorted(found.values()) == list(range(len(found))) and base not in folders[folder]:
            stream = "stderr" if "err" in base.lower() else "stdout" if "std" in base.lower() else None
            for i, rank in found.items():
                names[i] = SourceName(rank=rank, stream=stream)


def _split(text: str) -> tuple[str, str]:
    extension = _EXTENSION.search(text)
    return (text[: extension.start()], extension[0]) if extension else (text, "")


def _hosts(plain: Sequence[str], names: list[SourceName]) -> None:
    """Take files of one folder that differ in a host's number for one file a node."""
    _number_hosts([i for i, name in enumerate(names) if name == SourceName()], [_split(t)[0] for t in plain], names)


def _host_folders(plain: Sequence[str], names: list[SourceName]) -> None:
    """Take folders that differ in a host's number and hold files of one name for one folder a node."""
    by_base: dict[str, list[int]] = defaultdict(list)
    for i, text in enumerate(plain):
        if names[i].node is None and names[i].rank < 0 and "/" in text:
            by_base[text.rpartition("/")[2]].append(i)
    for members in by_base.values():
        _number_hosts(members, [text.rpartition("/")[0] for text in plain], names)


def _number_hosts(members: Sequence[int], stems: Sequence[str], names: list[SourceName]) -> None:
    alike: dict[str, list[int]] = defaultdict(list)
    for i in members:
        alike[re.sub(r"\d+", "0", stems[i])].append(i)
    for skeleton, rows in alike.items():
        base = skeleton.rpartition("/")[2]
        words = set(re.findall(r"[a-z]+", base.lower()))
        varying = _varying([stems[i] for i in rows])
        if len(varying) != 1 or not base or not words:
            continue
        _, part = _number_at(stems[rows[0]], varying[0])
        if "/" in stems[rows[0]][part:]:
            continue  # a folder's, further up
        for i in rows:
            node = _host_among(stems[i], varying[0]) or (None if words & _NO_HOSTS else _host(stems[i], varying[0]))
            if node is not None:
                names[i] = names[i]._replace(node=node)


def _varying(stems: Sequence[str]) -> list[int]:
    """Return which numbers differ among names that are alike but for their numbers."""
    numbers = [re.findall(r"\d+", stem) for stem in set(stems)]
    return [k for k, column in enumerate(zip(*numbers, strict=True)) if len(set(column)) > 1]


def _number_at(stem: str, column: int) -> tuple[re.Match[str], int]:
    """Return the `column`-th number of a path, and where its part of the path begins."""
    number = list(re.finditer(r"\d+", stem))[column]
    return number, stem.rfind("/", 0, number.start()) + 1


def _host(stem: str, column: int) -> str | None:
    """Return the host in a name whose `column`-th number is the host's own; a word behind it is no part of it."""
    number, start = _number_at(stem, column)
    if start == number.start():
        return None  # a bare number
    if "." in stem[start : number.start()]:
        return None  # a host's name ends at the dot
    tail = re.match(r"(?:-?\d+|[A-Za-z]+\d*(?=[-_.]|$))*", stem[number.end() :])
    node = stem[start : number.end() + (tail.end() if tail else 0)]
    return node if _HOST.fullmatch(node) else None


def _host_among(stem: str, column: int) -> str | None:
    """Return the host behind or before words of files, as in ``%x-%j-%N``: behind a job's number, or surely one.

    Surely a host's is a number with a zero in front, or behind a word that machines are called by.
    """
    number, start = _number_at(stem, column)
    tokens = [(m[0], start + m.start(), start + m.end()) for m in _TOKEN.finditer(stem[start:])]
    at = next(k for k, (_, begin, end) in enumerate(tokens) if begin <= number.start() < end)
    first = at - 1 if tokens[at][0][0].isdigit() and at else at  # node-003, else cn3
    word = tokens[first][0].rstrip("0123456789").lower()
    if not word.isalpha() or word in _NO_HOSTS or stem[tokens[first][1] : number.start()].count("_"):
        return None
    while first and tokens[first - 1][0].isalpha() and tokens[first - 1][0].lower() not in _FILE_WORDS:
        if stem[tokens[first - 1][2] : tokens[first][1]] != "-":
            break
        first -= 1
    before = [token for token, _, _ in tokens[:first]]
    is_job = any(token.isdigit() and len(token) > 1 for token in before)
    is_sure = word in _HOST_WORDS or (number[0][0] == "0" and len(number[0]) > 1)
    is_named = is_sure and bool(_NO_HOSTS & {token.lower() for token in before})
    node = stem[tokens[first][1] : tokens[at][2]]
    return node if (is_job or is_named) and _HOST.fullmatch(node) else None


def _streams(plain: Sequence[str], names: list[SourceName]) -> None:
    """Pair the two streams of one writer; `.out` alone may hold both."""
    pairs: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for i, text in enumerate(plain):
        match = _STREAM.search(text) or _STREAM_FOLDER.search(text)
        if match is not None and names[i].stream is None:
            stem = text[: match.start()] + text[match.end() :] * (match.re is _STREAM_FOLDER)
            pairs[stem].append((i, "stdout" if match[1] else "stderr"))
    for stem, found in pairs.items():
        both = {stream for _, stream in found} == {"stdout", "stderr"}
        for i, stream in found:
            sure = both or stream == "stderr" or "stdout" in plain[i].lower()
            group = names[i].group or (stem if both else None)
            names[i] = names[i]._replace(stream=stream if sure else None, group=group)


def short_names(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return each path's last parts, as few as tell it from the others: ``3/stdout.log`` in a folder per rank."""
    parts = [PurePath(path).parts for path in paths]
    depth = [1] * len(paths)
    while True:
        alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for i, (one, many) in enumerate(zip(parts, depth, strict=True)):
            alike[one[-many:]].append(i)
        deeper = [i for group in alike.values() if len(group) > 1 for i in group if depth[i] < len(parts[i])]
        if not deeper:
            return tuple("/".join(one[-many:]) for one, many in zip(parts, depth, strict=True))
        for i in deeper:
            depth[i] += 1
