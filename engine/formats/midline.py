"""Tags in the middle of a physical line: from there on it is another rank's text.

Launchers of the CHUNK family forward what one read() gave them and add no newline, so the next chunk's tag can follow
unfinished text. Three guards keep a payload that imitates a tag whole: the id must be known from line starts, a tag
directly behind a tag is payload (no chunk is empty), and for the weakest tags a context that always precedes and
follows alike is a program's own text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from l4tui.engine.formats.dialect import Dialect
from l4tui.engine.formats.registry import Format

_NAME = re.compile(r"\(\?P<(\w+)>")
_ID_GROUPS = ("task", "local_rank", "rank", "actor", "node", "stream")
_DIGITS = re.compile(rb"\d+")
DENSE = 0.5  # ids 0 to n-1 are all taken as known once this share of them was seen
MOST_IDS = 1 << 16
# PyTorch's [rankN]: behind a bar or another rank's unfinished text, in a log that no launcher tags
TORCH = r"\[rank(\d+)\]:(?=\[[EWIF][ \d]|[EWIFVC]\d{4} | Traceback \(| [\w.]*(?:Error|Exception)\b)"
# NCCL's "host:pid:tid [3] NCCL INFO" and "[10/20] [3] x" are no tags
_WEAK_GUARD = {"mpich-rank": (r"(?<!\d )(?<!\])", r"(?!NCCL|RCCL|\S+:\d+ NCCL)")}
# pdsh ends a line at a NUL and goes on with the next tag: glued to the text, as no prose has it
_GLUED = {"host-label": (r"(?<=[A-Za-z0-9_%|#\])}])", "")}
_MID_CHUNK = frozenset(("mpich-rank", "parallel-number", "parallel-name", "host-label", "torch-rank-any"))


class Plan(NamedTuple):
    """How the tags of a dialect are looked for."""

    regex: re.Pattern[bytes]
    tokens: tuple[tuple[bytes, bytes], ...]  # (text of every tag, the same at a line start)
    starts: re.Pattern[bytes] | None  # tags at line starts behind outer prefixes, where tokens cannot tell


def _unnamed(pattern: str, keep: str) -> str:
    """Return the regex with one group left, the id."""
    return _NAME.sub(lambda found: "(" if found[1] == keep else "(?:", pattern)


def _id_group(fmt: Format) -> str | None:
    names = [name for name, _ in fmt.fields]
    return next((group for group in _ID_GROUPS if group in names), None)


def learn_midline(
    used: Sequence[Format], tags: Mapping[str, Sequence[bytes]], lines: Sequence[bytes]
) -> tuple[bytes | None, frozenset[bytes]]:
    """Return the regex of tags that cut lines, and the ids it may cut for."""
    parts: list[str] = []
    seen: set[bytes] = set()
    for fmt in used:
        group = _id_group(fmt)
        glued = _GLUED.get(fmt.name)
        if group is None or (fmt.family != "chunk" and glued is None):
            continue
        ids = {match[group] for tag in tags[fmt.name] if (match := fmt.regex.match(tag)) and match[group]}
        before, after = glued or _WEAK_GUARD.get(fmt.name, ("", ""))
        if fmt.name.startswith("parallel"):
            before = r"(?<=\r)"
        part = before + "(?:" + _unnamed(fmt.regex.pattern.decode("latin-1"), group) + ")" + after
        if fmt.name == "mpich-rank":
            part = "".join(_own_contexts(re.compile(part.encode("latin-1")), lines)) + part
        parts.append(part)
        seen |= _filled(ids)
    if not used:
        parts.append(TORCH)
    if not parts:
        return None, frozenset()
    return "|".join(parts).encode("latin-1"), frozenset(seen)


def _filled(ids: set[bytes]) -> set[bytes]:
    """Add the numbers that a sample of a dense set has missed."""
    numbers = {int(i) for i in ids if i.isdigit() and len(i) < 7}
    if numbers and len(numbers) == len(ids) and len(numbers) >= DENSE * (max(numbers) + 1):
        width = 10 ** len(str(max(numbers))) if len(numbers) >= 64 else max(numbers) + 1
        return ids | {b"%d" % n for n in range(min(width, MOST_IDS))}
    return ids


def _own_contexts(tag: re.Pattern[bytes], lines: Sequence[bytes]) -> list[str]:
    """Return lookbehinds for texts like `Epoch: ` that always stand before the same kind of bracket and text."""
    follows: dict[bytes, Counter[bytes]] = {}
    for line in lines:
        for match in tag.finditer(line, 1, 400):
            before = _DIGITS.sub(b"0", line[max(0, match.start() - 6) : match.start()])
            after = _DIGITS.sub(b"0", line[match.end() : match.end() + 8])[:5]
            follows.setdefault(before, Counter())[after] += 1
    out = []
    for before, counts in follows.items():
        n = sum(counts.values())
        if n >= 8 and len(before) >= 4 and counts.most_common(1)[0][1] >= 0.9 * n and b"0" not in before:
            out.append(f"(?<!{re.escape(before.decode('latin-1'))})")
    return out[:32]


@lru_cache(maxsize=256)
def _plan(dialect: Dialect) -> Plan | None:
    if dialect.midline is None:
        return None
    regex = re.compile(dialect.midline)
    if not dialect.seen_ids:
        return Plan(regex, ((b"[rank", b"\n[rank"),), None)
    tokens = _tokens(dialect)
    return Plan(regex, tokens, None if tokens else re.compile(rb"(?m)^" + dialect.midline))


def _tokens(dialect: Dialect) -> tuple[tuple[bytes, bytes], ...]:
    """Return literals whose counts tell whether any tag stands in mid-line; empty where none do."""
    text = (dialect.midline or b"").decode("latin-1")
    if "parallel" in " ".join(dialect.prefixes) and not text.count("|"):
        return ((b"\r", b""),)
    if dialect.prefixes and dialect.prefixes[0] in ("srun-label", "host-label"):
        return ()
    out = []
    if r"\[default" in text:
        out.append((b"[default", b"\n[default"))
    if "stdout" in text:
        out.append((b">:", b""))
    return tuple(out) if len(out) == 1 and out[0][1] else ()


def midline_suspects(block: bytes, dialect: Dialect) -> int:
    """Return how many tags of a block may stand in mid-line; 0 says that none does."""
    plan = _plan(dialect)
    if plan is None:
        return 0
    if plan.tokens:
        token, start = plan.tokens[0]
        every = block.count(token)
        if not every or not start:
            return every
        return max(0, every - block.count(start) - block.startswith(start[1:]))
    return 1


def cut(line: bytes, dialect: Dialect) -> list[int]:
    """Return the offsets where further segments of a line begin; 0 is not among them."""
    plan = _plan(dialect)
    if plan is None:
        return []
    out: list[int] = []
    behind = 0  # where the last tag ended: a tag right there is payload
    for match in plan.regex.finditer(line):
        if match.start() != behind and _known(match, dialect):
            out.append(match.start())
        behind = match.end()
    return out


def _known(match: re.Match[bytes], dialect: Dialect) -> bool:
    if not dialect.seen_ids:
        return True
    return match.lastindex is not None and match[match.lastindex] in dialect.seen_ids
