"""Tags in the middle of a physical line: from there on it is another rank's text.

Launchers of the CHUNK family forward what one read() gave them and add no newline, so the next chunk's tag can follow
unfinished text. Three guards keep a payload that imitates a tag whole: the id must be known from line starts, a tag
directly behind a tag is payload (no chunk is empty), and the weakest tags must stand where the source shows that texts
are torn (tears.py). Where that stays open the line is cut behind the tag: nobody is known to have written the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from l4tui.engine.formats.dialect import Dialect
from l4tui.engine.formats.parser import prefix_end
from l4tui.engine.formats.registry import Format
from l4tui.engine.formats.shape import treats_digits_alike
from l4tui.engine.formats.tears import Tear, Tears, decoded, learn_tears, tags_in

_WEAKEST = 6  # characters of a template that no text has by chance
_NAME = re.compile(r"\(\?P<(\w+)>")
_ID_GROUPS = ("task", "local_rank", "rank", "actor", "node", "stream", "self_rank")
_DIGITS = re.compile(rb"\d+")
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_UP_TO_DIGIT = re.compile(rb"\D*")
DENSE = 0.5  # ids 0 to n-1 are all taken as known once this share of them was seen
MOST_IDS = 1 << 16
# PyTorch's [rankN]: behind a bar or another rank's unfinished text, in a log that no launcher tags
TORCH = r"\[rank(\d+)\]:(?=\[[EWIF][ \d]|[EWIFVC]\d{4} | Traceback \(| [\w.]*(?:Error|Exception)\b)"
LABEL = "srun-label"  # Hydra's '%r: ' looks alike, but tears lines
HEAD = "learnt-head"  # and so do its patterns that no entry knows
LOOKED_AT = 600  # lines that tell whether labels stand in mid-line at all; to follow the chunks costs 100 ms a source
TORN = 8  # lines torn at a label that show it
# NCCL's "host:pid:tid [3] NCCL INFO" is no tag
NUMBER = r"(?<!\d)"
NOT_IN_NUMBER = r"(?<![\d.])"  # as in 2.13
_GLUED_NUMBER = (r"(?<=[^\s\d])", "")  # "rank 3: " is prose
_WEAK_GUARD = {
    "mpich-rank": ("", r"(?!NCCL|RCCL|\S+:\d+ (?:\(\w+\) )?NCCL)"),
    "hydra-paren": ("", ""),
    "gforker": (r"(?<!\d)", ""),
    "colon-number": _GLUED_NUMBER,
    LABEL: _GLUED_NUMBER,
    "torchrun-norole": ("", ""),
    "number-pair": ("", ""),
    "rank-word": ("", ""),
    "bare-template": ("", ""),
}
# pdsh ends a line at a NUL and goes on with the next tag: glued to the text, as no prose has it
_GLUED = {"host-label": (r"(?<=[A-Za-z0-9_%|#\])}])", "")}
DATE = "mpi-date"  # stands before a tag and goes with it
TOKEN, OUTER, TEARS = "midline token", "midline outer", "midline tears"  # keys in Dialect.rest
SHORTEST_TOKEN = 3
READ = 400  # bytes of a line in which a program's own brackets are looked for


class Plan(NamedTuple):
    """How the tags of a dialect are looked for."""

    regex: re.Pattern[bytes]
    token: bytes  # every tag begins so; empty where that is too short to be counted
    starts: re.Pattern[bytes] | None  # a newline, outer prefixes, a tag; None: newline and token say it
    begin: re.Pattern[bytes] | None = None  # outer prefixes and a tag: what lines begin with; None: no outer ones
    tears: Tears | None = None  # of weak tags: where they are believed
    is_alike: bool = True  # what these regexes say of a line, they say of all lines that differ in digits alone


def _unnamed(pattern: str, keep: str) -> str:
    """Return the regex with one group left, the id."""
    return _NAME.sub(lambda found: "(" if found[1] == keep else "(?:", pattern)


def _before(fmt: Format) -> str:
    """Return what must stand in front of a tag that begins with its number."""
    is_bare = fmt.name == HEAD and fmt.regex.pattern.removeprefix(b"(?:)").startswith(b"(?P<")
    return NOT_IN_NUMBER if is_bare else ""


def _is_weak(fmt: Format) -> bool:
    """Say whether texts may hold what looks like a tag."""
    if fmt.name != "bare-template":
        return fmt.name in _WEAK_GUARD
    pattern = fmt.regex.pattern.decode("latin-1")
    return len(_NAME.sub("", pattern).replace("\\d+", "00").replace("\\", "")) - pattern.count(")") < _WEAKEST + 2


def _id_group(fmt: Format) -> str | None:
    names = [name for name, _ in fmt.fields]
    return next((group for group in _ID_GROUPS if group in names), None)


def learn_midline(
    used: Sequence[Format], tags: Mapping[str, Sequence[bytes]], lines: Sequence[bytes]
) -> tuple[bytes | None, frozenset[bytes], dict[str, str]]:
    """Return the regex of tags that cut lines, the ids it may cut for, and how to count them in a block.

    `used` are the formats of a source from the outside in, `tags` what each has taken in the sample.
    """
    parts: list[str] = []
    seen: set[bytes] = set()
    outer: list[str] = []
    dates = [fmt.regex.pattern.decode("latin-1") for fmt in used if fmt.name == DATE]
    date = f"(?:{_NAME.sub('(?:', dates[0])})" if dates else ""
    chunks = any(fmt.family == "chunk" and _id_group(fmt) for fmt in used)
    torn = _torn_labels(used, tags, lines)
    for fmt in used:
        if fmt.name == DATE or (fmt.name == HEAD and fmt is not torn):
            continue
        group = _id_group(fmt)
        glued = _GLUED.get(fmt.name)
        pattern = fmt.regex.pattern.decode("latin-1")
        if group is None or (fmt.family != "chunk" and (glued is None or chunks) and fmt is not torn):
            if not parts:
                outer.append("(?:" + _NAME.sub("(?:", pattern) + ")?")
            continue
        ids = {match[group] for tag in tags[fmt.name] if (match := fmt.regex.match(tag)) and match[group]}
        before, after = glued or _WEAK_GUARD.get(fmt.name, (_before(fmt), ""))
        if fmt.name.startswith("parallel"):
            before = r"(?<=\r)"
        part = before + date + "(?:" + _unnamed(pattern, group) + ")" + after
        if fmt.name == "mpich-rank":
            own = "".join(_own_contexts(re.compile(part.encode("latin-1")), lines))
            part = part.replace(r"\[", r"\[" + own, 1)  # behind the bracket: it is what makes the search fast
        parts.append(part)
        seen |= _filled(ids)
    if torn is None and not any(f.family == "chunk" or _id_group(f) in ("task", "node", "actor") for f in used):
        parts.append(TORCH)
    if not parts:
        return None, frozenset(), {}
    regex = "|".join(parts)
    counting = {OUTER: "".join(outer)} if outer else {}
    if torn is not None or any(_is_weak(fmt) and fmt.family == "chunk" for fmt in used):
        counting[TEARS] = _tears(regex, seen, lines).encoded()
    token = _token([fmt for fmt in used if fmt is torn or fmt.family == "chunk" or fmt.name in (DATE, *_GLUED)], tags)
    if len(token) >= SHORTEST_TOKEN or token == b"\r":
        counting[TOKEN] = token.decode("latin-1")
    return regex.encode("latin-1"), frozenset(seen), counting


def _tears(regex: str, seen: set[bytes], lines: Sequence[bytes]) -> Tears:
    """Learn where texts are torn; numbers that cut only behind a word begin lines, too."""
    return learn_tears(re.compile(regex.replace(_GLUED_NUMBER[0], NUMBER).encode("latin-1")), seen, lines)


def _torn_labels(used: Sequence[Format], tags: Mapping[str, Sequence[bytes]], lines: Sequence[bytes]) -> Format | None:
    """Return the format of labels like srun's, or of a learnt form, where lines are torn at them, as no srun does."""
    fmt = next((fmt for fmt in used if fmt.name in (LABEL, HEAD)), None)
    if fmt is None or (fmt.name == LABEL and any(text[:1] == b" " for text in tags[LABEL])):
        return None  # only srun aligns its labels
    if any(line.startswith((b"srun: ", b"slurmstepd")) for line in lines):
        return None
    field = _id_group(fmt) or "task"
    own = _unnamed(fmt.regex.pattern.decode("latin-1"), field)
    before = NUMBER if fmt.name == LABEL else _before(fmt)
    tag = re.compile(f"{before}(?:{own})".encode("latin-1"))
    glued = re.compile(f"(?:^|{_GLUED_NUMBER[0] if before else '(?<=[^ ])'})(?:{own})".encode("latin-1"))
    some = lines[:: 1 + len(lines) // LOOKED_AT]
    if sum(glued.search(line, 1, READ) is not None for line in some) < TORN // 2:
        return None
    ids = {match[field] for text in tags[fmt.name] if (match := fmt.regex.match(text))}
    tears = learn_tears(tag, ids, lines)
    found = Counter(tears.judge_all(glued, ids, lines)) if tears.real else Counter()
    return fmt if found[Tear.REAL] >= TORN and found[Tear.REAL] > found[Tear.TEXT] else None


def _token(used: Sequence[Format], tags: Mapping[str, Sequence[bytes]]) -> bytes:
    """Return the text every cutting tag begins with, whatever its id: `[default`, `[1,`; empty when there is none."""
    begins: set[bytes] = set()
    if any(fmt.name == DATE for fmt in used):
        return b""
    for fmt in used:
        group = _id_group(fmt)
        if group is None:
            continue
        if "mon" in fmt.regex.groupindex:
            return b""  # a date: the text changes with time
        if fmt.name.startswith("parallel"):
            return b"\r"
        for tag in set(tags[fmt.name]):
            match = fmt.regex.match(tag)
            at = match.start(group) if match is not None and match.start(group) else len(tag)
            digit = _UP_TO_DIGIT.match(tag[:at])
            begins.add(tag[:at] if fmt.name not in ("template", *_GLUED) or digit is None else digit[0])
    if not begins:
        return b""
    low, high = min(begins), max(begins)  # what the extremes share all others share
    return low[: next((k for k, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), len(low))]


def _filled(ids: set[bytes]) -> set[bytes]:
    """Add the numbers that a sample of a dense set has missed."""
    numbers = {int(i) for i in ids if i.isdigit() and len(i) < 7}
    if numbers and len(numbers) == len(ids) and len(numbers) >= DENSE * (max(numbers) + 1):
        width = 10 ** len(str(max(numbers))) if len(numbers) >= 64 else max(numbers) + 1
        return ids | {b"%d" % n for n in range(min(width, MOST_IDS))}
    return ids


def _own_contexts(tag: re.Pattern[bytes], lines: Sequence[bytes]) -> list[str]:
    """Return lookbehinds for texts like `Epoch: [` that always stand before the same kind of bracket and text.

    A tag behind unfinished text is followed by the beginning of a message, or by any rest of one: only what never
    begins a line counts as the program's own.
    """
    follows: dict[bytes, Counter[bytes]] = {}
    begins: set[bytes] = set()
    for line in lines:
        first = tag.match(line)
        if first is not None:
            begins.add(_next_text(line, first.end()))
        for match in tag.finditer(line, 1, READ):
            before = line[max(0, match.start() - 6) : match.start()].translate(_ZEROS)
            is_whole = first is not None and first.end() < match.start() <= first.end() + 3  # all the text there is
            if sum(chr(byte).isalpha() for byte in before) >= (1 if is_whole else 3):
                follows.setdefault(before, Counter())[_next_text(line, match.end())] += 1
    out = []
    for before, counts in follows.items():
        text, most = counts.most_common(1)[0]
        n = sum(counts.values())
        if n >= 8 and most >= 0.9 * n and text not in begins and text[:1] != b"\r":
            out.append("(?<!" + re.escape(before.decode("latin-1")).replace("0", r"\d") + r"\[)")
    return out[:32]


def _next_text(line: bytes, at: int) -> bytes:
    return _DIGITS.sub(b"0", line[at : at + 8])[:5]


@lru_cache(maxsize=256)
def _plan(dialect: Dialect) -> Plan | None:
    if dialect.midline is None:
        return None
    regex, learnt = re.compile(dialect.midline), dict(dialect.rest)
    if not dialect.seen_ids:
        return Plan(regex, b"[rank", None)
    token = learnt.get(TOKEN, "").encode("latin-1")
    outer = learnt.get(OUTER)
    tears = decoded(learnt[TEARS]) if TEARS in learnt else None
    if token and outer is None:
        return Plan(regex, token, None, tears=tears)
    pattern = rb"(?:" + (outer or "").encode("latin-1") + rb")(?:" + dialect.midline + rb")"
    starts, begin = re.compile(rb"\n" + pattern), re.compile(pattern)
    return Plan(regex, token, starts, begin if outer is not None else None, tears, treats_digits_alike(begin))


def midline_suspects(block: bytes, dialect: Dialect) -> int:
    """Return how many tags of a block may stand in mid-line; 0 says that none does.

    Two counts, 0.3-1 ns a byte; where a tag has no fixed beginning or stands behind another prefix a regex counts.
    """
    plan = _plan(dialect)
    if plan is None:
        return 0
    every = block.count(plan.token) if plan.token else sum(1 for _ in plan.regex.finditer(block))
    if not every:
        return 0
    if plan.starts is None:
        return max(0, every - block.count(b"\n" + plan.token) - block.startswith(plan.token))
    return max(0, every - sum(1 for _ in plan.starts.finditer(b"\n" + block)))


def may_cut(line: bytes, dialect: Dialect) -> bool:
    """Say whether any line that differs from this one in digits alone may have to be cut."""
    plan = _plan(dialect)
    if plan is None:
        return False
    if not plan.is_alike:
        return True
    if plan.token:
        key, token = line.translate(_ZEROS), plan.token.translate(_ZEROS)
        if key.find(token, 1) < 0:
            return False
        return plan.begin is None or key.count(token) > 1 or plan.begin.match(line) is None
    begin = plan.begin.match(line) if plan.begin is not None else None
    behind = begin.end() if begin is not None else 1
    return any(match.start() >= behind for match in plan.regex.finditer(line))


def cut(line: bytes, dialect: Dialect) -> list[int]:
    """Return the offsets where further segments of a line begin; 0 is not among them."""
    plan = _plan(dialect)
    if plan is None or (line.find(plan.token, 1) < 0 if plan.token else plan.regex.search(line, 1) is None):
        return []
    if plan.begin is not None and plan.token and line.count(plan.token) == 1 and plan.begin.match(line):
        return []
    lead = prefix_end(line, dialect)
    if plan.tears is not None:
        return _weak_cuts(line, lead, plan, plan.tears, dialect)
    out: list[int] = []
    behind = 0  # where the last tag ended: a tag right there is payload
    shown = line[:lead] if plan.token == b"\r" else b""  # GNU parallel repeats the tag in each state of a bar
    for match in plan.regex.finditer(line):
        if match[0] == shown:
            continue
        shown = shown and match[0]
        if match.start() != behind and match.start() > lead and _known(match, dialect):
            out.append(match.start())
        behind = match.end()
    return out


def _weak_cuts(line: bytes, lead: int, plan: Plan, tears: Tears, dialect: Dialect) -> list[int]:
    """Cut at a rank's tag, and inside what may be one: its blank keeps the rest from being read as tagged."""
    out: list[int] = []
    behind, begin = 0, lead
    numbers = _DIGITS.findall(line, 0, lead)
    owner: bytes | None = numbers[-1] if numbers else None
    for match, following in tags_in(plan.regex, line):
        tag = match[match.lastindex or 0]
        if match.start() < lead:
            owner = tag
        elif match.start() != behind and _known(match, dialect):
            tear = tears.judge(line, begin, match.start(), match.end(), following)
            if tear is not Tear.TEXT:
                sure = tear is Tear.REAL or tag == owner
                out.append(match.start() if sure else match.end() - match[0].endswith(b" "))
                owner, begin = (tag if sure else None), match.end()
        behind = match.end()
    return out


def outer_end(line: bytes, dialect: Dialect) -> int:
    """Return the end of what a line's segments have in common: the prefixes outside of the tags that cut it."""
    plan = _plan(dialect)
    if plan is None or plan.begin is None:
        return 0
    lead = prefix_end(line, dialect)
    match = plan.regex.search(line)
    return match.start() if match is not None and match.start() < lead else lead


def _known(match: re.Match[bytes], dialect: Dialect) -> bool:
    if not dialect.seen_ids:
        return True
    return match.lastindex is not None and match[match.lastindex] in dialect.seen_ids
