"""Weak prefixes: is `3: ` a task's label here, or just text? Decided by counts over a sample.

A label set has ids that fill 0 to n-1, come again and again, and stand before most lines of some stretch of the file.
Numbers that only count up are a viewer's line numbers or a list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from l4tui.engine.formats.crews import counts_jobs, counts_up, is_a_race, rises
from l4tui.engine.formats.hits import Hints, Hits, is_concentrated, is_rare
from l4tui.engine.formats.names import ranked
from l4tui.engine.formats.registry import LEVEL_WORDS, Format

FEW = 30  # labels; of fewer nothing can be said
SAID = 60  # bytes that tell what a line says, date and level in front
MOST_SAID = 2  # different things that a table says of each of its numbers
GLUED = 0.3  # share of texts; some begin with a blank of their own
ALL = 0.95  # share of texts that shows what a writer always does
MOST_SHAPES = 64  # name shapes that a narrowed regex lists
_DIGITS = re.compile(r"\d+")
_INNER = re.compile(  # another launcher's tag, or where a logger's line begins: no program writes them behind a number
    rb" ?(?:\[(?:default|rank)\d+\]:|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d[.,\] ]|[IWEF]\d{4} \d\d:)"
)
_VALUES = re.compile(rb" *\d+")
_OF_TORCH = re.compile(rb" ?(?:\[[EWIFDV][ \d]|[EWIFDVC]\d{4} )")
_TORCH_TAG = re.compile(rb"\[rank(\d+)\]:")
NO_HOST = re.compile(
    r"(?:global_?|local_?|world_?)?(?:rank|step|epoch|iter|iteration|batch|gpu|cuda|device|task|layer|loss|stage|frame|"
    r"line|try|attempt|fold|trial|top|acc|lr|seed|p|v|r|t|block|expert|shard|proc|process|pe|part|chunk|group|level|dim|cpu|tid|pid|thread)"
    r"[_-]?\d*",
    re.IGNORECASE,
)


Rule = Callable[[Hits, Hints], str | None]  # a narrowed regex, "" for the entry's own, None to refuse


def is_label_set(hits: Hits, ids: Sequence[int], hints: Hints) -> bool:
    """Say whether the numbers are those of a set of processes."""
    n, distinct = len(ids), set(ids)
    if n < 3 or counts_up(ids) or max(distinct) >= 1 << 20:
        return False
    share = n / hits.total
    if len(distinct) == 1:
        return n >= 10 and share >= 0.95
    top = max(distinct)
    fills = len(distinct) >= (0.5 if top < 256 else 0.15) * (top + 1)
    mixed = list(ids) != sorted(ids)
    if n >= 2 * len(distinct):
        if fills:
            return is_concentrated(hits) or (hints.slurm and share >= 0.3)
        return n >= 5 * len(distinct) and share >= 0.95
    if n >= 50 and top >= 32:
        return fills and mixed and is_concentrated(hits)
    return fills and mixed and min(distinct) == 0 and (share >= 0.8 or (hints.slurm and share >= 0.3))


def _numbers(hits: Hits) -> list[int]:
    return [int(text) if text.isdigit() else 0 for text in hits.texts()]


def _label(hits: Hits, hints: Hints) -> str | None:
    return "" if is_label_set(hits, _numbers(hits), hints) else None


def is_somebodys(hits: Hits, ids: Sequence[int], hints: Hints) -> bool:
    """Say whether numbers that look like labels are a program's own: what no processes do, unless a launcher is seen.

    Numbers that hardly go back count epochs; those that race are processes'. Processes of one job say more than one
    thing, and say the same things: a table of classes or devices says one, or something else of each.
    """
    if hints.slurm or hints.hydra or len(ids) < FEW or len(set(ids)) < 2:
        return False
    if rises(ids):
        return True
    if len(ids) >= 0.95 * hits.total and is_a_race(ids):
        return False
    if sum(_INNER.match(match.string, match.end()) is not None for match in hits.found) > len(ids) // 2:
        return False
    said: dict[bytes, set[int]] = {}
    for match, number in zip(hits.found, ids, strict=True):
        text = _VALUES.sub(b"0", match.string[match.end() : match.end() + SAID])
        said.setdefault(text, set()).add(number)
    return sum(len(who) > 1 for who in said.values()) < 2 and len(said) <= MOST_SAID * len(set(ids))


def _bracket(hits: Hits, hints: Hints) -> str | None:
    """Require two numbers: one alone before all lines tells nothing apart."""
    ids = _numbers(hits)
    if (len(set(ids)) < 2 or counts_jobs(ids)) and not hints.hydra:
        return None
    return None if is_somebodys(hits, ids, hints) else _label(hits, hints)


def _tag(hits: Hits, hints: Hints) -> str | None:
    """Accept what torchrun glues to its text; a program leaves a blank."""
    if not is_glued(hits) or is_somebodys(hits, _numbers(hits), hints):
        return None
    return _label(hits, hints)


def is_glued(hits: Hits) -> bool:
    """Say whether text begins directly behind the tags."""
    texts = [match.string[match.end() : match.end() + 1] for match in hits.found]
    return sum(text not in (b" ", b"") for text in texts) >= GLUED * sum(text != b"" for text in texts)


def _colon(hits: Hits, hints: Hints) -> str | None:
    """Accept ids of several widths, none of them padded; of one width they are read as srun's."""
    texts = hits.texts()
    plain = len({len(text) for text in texts}) > 1 and not any(len(text) > 1 and text[0] == "0" for text in texts)
    return _bracket(hits, hints) if plain else None


def _on_host(hits: Hits, hints: Hints) -> str | None:
    """Require one host for each rank."""
    places = set(zip(hits.texts("task"), hits.texts("node"), strict=True))
    return _label(hits, hints) if len(places) == len({task for task, _ in places}) else None


def _host_first(hits: Hits, hints: Hints) -> str | None:
    return None if any(NO_HOST.fullmatch(node) for node in set(hits.texts("node"))) else _on_host(hits, hints)


def _rank_word(hits: Hits, hints: Hints) -> str | None:
    """Accept one form before nearly all lines; before fewer it is the program's."""
    forms = [_DIGITS.sub("0", match[0].decode("latin-1")) for match in hits.found]
    form, n = Counter(forms).most_common(1)[0]
    hits = hits.only([one == form for one in forms])
    ids = _numbers(hits)
    if n < 0.9 * hits.total or not is_label_set(hits, ids, hints) or is_somebodys(hits, ids, hints):
        return None
    return re.escape(form).replace("0", r"(?P<rank>\d+)")


def _replica(hits: Hits, hints: Hints) -> str | None:
    """Require the number behind the slash to count; where the name does it is one of so many."""
    names = [name.rpartition("/") for name in set(hits.texts())]
    counts = len({role for role, _, _ in names}) <= len({number for _, _, number in names})
    return "" if counts and len(hits.at) >= 0.9 * hits.total and _named(hits) else None


def _srun(hits: Hits, hints: Hints) -> str | None:
    """Require one width, that of the largest id."""
    ends = [match.end(1) for match in hits.found]
    width, n = Counter(ends).most_common(1)[0]
    if n < 0.9 * len(ends):
        return None
    hits = hits.only([end == width for end in ends])
    ids = _numbers(hits)
    padded = any(len(text) > 1 and text[0] == "0" for text in hits.texts())  # Slurm 2.x
    part = len(ids) >= 5 * len(set(ids)) and is_concentrated(hits)  # of a larger step; a list has each number once
    if len(set(ids)) > 1 and len(str(max(ids))) != width and not padded and not part:
        return None
    aligned = any(match[0][:1] == b" " for match in hits.found)
    if not is_label_set(hits, ids, hints) or (not aligned and is_somebodys(hits, ids, hints)):
        return None
    return rf"(?=[ \d]{{{width}}}:) *(?P<task>\d+):(?: |$)" if width > 1 else r"(?P<task>\d):(?: |$)"


def shapes_of(names: Sequence[str]) -> str | None:
    """Return a regex for names like these, whatever their digits; None when they are too many."""
    shapes = sorted({_DIGITS.sub("0", name) for name in names}, key=lambda shape: (-len(shape), shape))
    if not shapes or len(shapes) > MOST_SHAPES:
        return None
    return "|".join(re.escape(shape).replace("0", r"\d+") for shape in shapes)


def _hosts(hits: Hits, hints: Hints) -> str | None:
    names = hits.texts()
    sure = _leads_ranks(hits)
    good = [name in sure or _is_host(name, hints) for name in names]
    hits = hits.only(good)
    names = hits.texts()
    distinct = set(names)
    if not distinct:
        return None
    if hints.hosts & distinct:
        fine = len(names) >= 3
    elif len(distinct) == 1:
        fine = len(names) >= 10 and len(names) >= 0.95 * hits.total
    else:
        fine = len(names) >= 2 * len(distinct) and is_concentrated(hits)
    return _of_names(names, "node", "", ":(?: |$)") if fine else None


def _of_names(names: Sequence[str], field: str, front: str, behind: str) -> str | None:
    """Return a regex for names like these with what stands around them, their rank where they hold one."""
    pattern = ranked(names)
    if pattern is not None:
        others = "".join(f"|(?P<{field}__2>{re.escape(name)})" for name in sorted(set(names)) if name.isalpha())
        return f"{front}(?:{pattern}{others}){behind}"
    pattern = shapes_of(names)
    return None if pattern is None else f"{front}(?P<{field}>{pattern}){behind}"


def _leads_ranks(hits: Hits) -> set[str]:
    """Return names like gpu-11 that stand before torch's rank tags, several to a name and each under one alone."""
    seen: dict[str, set[bytes]] = {}
    for name, match in zip(hits.texts(), hits.found, strict=True):
        tag = _TORCH_TAG.match(match.string, match.end())
        if tag is not None:
            seen.setdefault(name, set()).add(tag[1])
    tags = [tag for found in seen.values() for tag in found]
    return set(seen) if len(seen) > 1 and len(tags) == len(set(tags)) and len(tags) >= 2 * len(seen) else set()


def _is_host(name: str, hints: Hints) -> bool:
    if name in hints.hosts:
        return True
    if name.lower() in LEVEL_WORDS or NO_HOST.fullmatch(name):
        return False
    return any(c.isdigit() for c in name) and not name.endswith((".py", ".cpp", ".cc", ".cu", ".sh"))


def _named(hits: Hits) -> bool:
    names = hits.texts()
    distinct = set(names)
    if len(distinct) == 1:
        return len(names) >= 10 and len(names) >= 0.95 * hits.total and names[0][-1:].isdigit()
    return len(names) >= 2 * len(distinct) and is_concentrated(hits)


def _compose(hits: Hits, hints: Hints) -> str | None:
    bars = [match[0].rindex(b"|") for match in hits.found]
    column, n = Counter(bars).most_common(1)[0]
    if n < 0.95 * len(bars):
        return None
    names = hits.texts()
    hits = hits.only(
        [
            bar == column and name.lower() not in LEVEL_WORDS and not name.isdigit()
            for bar, name in zip(bars, names, strict=True)
        ]
    )
    if not hits.at or not _named(hits):
        return None
    return _of_names(hits.texts(), "node", "", r" *\|(?: |$)")


def _stern(hits: Hits, hints: Hints) -> str | None:
    pods, containers = set(hits.texts("node")), Counter(hits.texts("actor"))
    few = len(containers) <= 4 and containers.most_common(1)[0][1] >= 0.6 * len(hits.at)
    most = len(hits.at) >= 0.9 * hits.total
    return "" if few and most and len(hits.at) >= 5 and (len(pods) >= 2 or hints.pods) else None


def _parallel_name(hits: Hits, hints: Hints) -> str | None:
    names = hits.texts()
    distinct = set(names)
    if any(name.strip().lower() in LEVEL_WORDS for name in distinct) or not 2 <= len(distinct) <= 4096:
        return None
    if len(names) < 3 * len(distinct) or not is_concentrated(hits):
        return None
    return _of_names(names, "actor", "", r"\t")


def _parallel_number(hits: Hits, hints: Hints) -> str | None:
    ids = _numbers(hits)
    good = len(ids) >= 2 * len(set(ids)) and is_label_set(hits, ids, hints) and not counts_jobs(ids)
    return "" if good and not is_somebodys(hits, ids, hints) else None


def _repeated(hits: Hits, hints: Hints) -> str | None:
    return "" if len(hits.at) >= 2 * len(set(hits.texts())) and is_concentrated(hits) else None


def _foreman(hits: Hits, hints: Hints) -> str | None:
    if _repeated(hits, hints) is None:
        return None
    return _of_names(hits.texts("actor"), "actor", r"(?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d) ", r" +\| ?")


def _viewer(hits: Hits, hints: Hints) -> str | None:
    ids = [int(_DIGITS.search(match[0].decode("latin-1"))[0][:18]) for match in hits.found]  # type: ignore[index]
    rising = all(a < b for a, b in pairwise(ids))
    return "" if len(ids) >= 5 and len(ids) >= 0.95 * hits.total and rising and counts_up(ids) else None


def _pod(hits: Hits, hints: Hints) -> str | None:
    """Accept names of hosts before nearly all lines, two at least."""
    names = set(hits.texts())
    if len(names) < 2 or len(hits.at) < 0.9 * hits.total or not all(_is_host(name, hints) for name in names):
        return None
    if not _named(hits):
        return None
    pattern = ranked(names)
    return "" if pattern is None else rf"\[{pattern}\] "


def _spaced(sure: str) -> Rule:
    """Return a rule: each tag of the sure format is followed by a blank, so that blank is the launcher's."""

    def rule(hits: Hits, hints: Hints) -> str | None:
        many = len(hits.at) >= 5 and len(hits.at) >= 0.99 * hints.sure.get(sure, 0)
        return "" if many and not is_rare(hits, hints) else None

    return rule


def _torch_any(hits: Hits, hints: Hints) -> str | None:
    """Accept a template that begins most lines (with a regex: it is a lane), else what torch's own lines vouch for."""
    if _is_teed(hits) and is_label_set(hits, _numbers(hits), hints):
        return r"\[rank(?P<local_rank>\d+)\]:"
    if len(hits.at) >= 0.75 * hits.total and is_label_set(hits, _numbers(hits), hints):
        return r"\[rank(?P<rank>\d+)\]: ?"
    return "" if hints.torch_ranks else None


def _is_teed(hits: Hits) -> bool:
    """Say whether torchrun tagged, for a role called rank: it glues tags to any text, PyTorch to its own alone."""
    behind = [match.string[match.end("rank") + 2 :] for match in hits.found]
    plain = [text for text in behind if text.strip() and not text.startswith(b"  ") and not _OF_TORCH.match(text)]
    glued = sum(not text.startswith(b" ") for text in plain)
    return glued >= FEW and glued >= ALL * len(plain)


def _learnt(hits: Hits, hints: Hints) -> str | None:
    """Leave it to detection.py: it is learnt before or behind all launchers' prefixes."""
    return None


RULES: dict[str, Rule] = {
    "learnt-head": _learnt,
    "srun-label": _srun,
    "srun-het": _repeated,
    "task-label": _label,
    "mpich-rank": _bracket,
    "hydra-paren": _bracket,
    "gforker": _bracket,
    "torchrun-norole": _tag,
    "colon-number": _colon,
    "rank-on-host": _on_host,
    "host-and-rank": _host_first,
    "host-then-rank": _host_first,
    "rank-word": _rank_word,
    "torchx": _replica,
    "foreman": _foreman,
    "parallel-number": _parallel_number,
    "parallel-name": _parallel_name,
    "host-label": _hosts,
    "compose": _compose,
    "pm2": _repeated,
    "cloudwatch-tail": _repeated,
    "stern": _stern,
    "milabench": _repeated,
    "viewer-margin": _learnt,
    "pod-bracket": _pod,
    "viewer-bracket": _viewer,
    "viewer-tab": _viewer,
    "viewer-colon": _viewer,
    "ompi5-tag": _spaced("ompi4-tag"),
    "ompi5-rank": _spaced("horovodrun"),
    "torch-rank-any": _torch_any,
}


def judge(fmt: Format, hits: Hits, hints: Hints) -> str | None:
    """Return the narrowed regex of an accepted weak prefix ("" for its own), None where it is refused."""
    rule = RULES.get(fmt.name)
    if rule is None:  # an own weak format: a stretch of lines that begin so
        return "" if is_concentrated(hits) else None
    return rule(hits, hints)
