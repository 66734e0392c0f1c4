"""Tags in a program's own text: weak ones are believed, sure ones refused, by what many lines of a source show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from l4tui.engine.formats.candidates import Candidates
from l4tui.engine.formats.crews import Crew, is_a_loop, rises
from l4tui.engine.formats.dialect import REFUSED
from l4tui.engine.formats.hits import Hints, Hits
from l4tui.engine.formats.labels import is_somebodys
from l4tui.engine.formats.places import message_of, world_told
from l4tui.engine.formats.registry import Format, built_in

TAG = "tag"  # key of Dialect.rest
SHARE = 0.3  # of the lines: a table of ranks that one rank prints stays below it
FEWEST = 10
MANY = 30  # lines that refute a sure tag
MOST = 0.8  # share of lines that tell their writer where any of their kind does
FAR = 64  # a smaller number is always a rank
READ = 200  # bytes in front of which a tag can stand: prefix, header
SURE = ("tag-rank", "json-rank", "trainer-process")  # forms that programs also use for other things


def accepted_tags(texts: Sequence[bytes]) -> tuple[tuple[str, str], ...]:
    """Return (TAG, name) for each weak tag that many of the sampled lines carry, (REFUSED, name) for imitations."""
    lines = [text for text in texts if text.strip()]
    found: dict[str, list[re.Match[bytes]]] = {}
    for _, text, formats in _read().among(lines):
        for fmt in formats:
            match = _carried(fmt, text)
            if match is not None:
                found.setdefault(fmt.name, []).append(match)
    out = []
    for fmt in built_in() if found else ():
        some = found.get(fmt.name, ())
        if some and fmt.name in SURE:
            if _is_imitated(fmt, some, lines):
                out.append((REFUSED, fmt.name))
        elif len(some) >= max(FEWEST, SHARE * len(lines)) and not _is_somebodys(fmt, some, len(lines)):
            out.append((TAG, fmt.name))
    return tuple(out)


def _ids(fmt: Format, some: Sequence[re.Match[bytes]]) -> list[int]:
    groups = [index for field, index in fmt.fields if field in ("self_rank", "local_rank")]
    return [int(next((match[group] for group in groups if match[group]), b"0")) for match in some]


def _is_somebodys(fmt: Format, some: Sequence[re.Match[bytes]], lines: int) -> bool:
    """Say whether the ranks are those of results, of each of which one thing is said, or of others."""
    ids = _ids(fmt, some)
    if is_somebodys(Hits([], list(some), lines), ids, Hints()):
        return True
    crew = Crew(ids, [match.string[match.end() :] for match in some])
    if len(ids) < MANY:
        return False
    is_apart = len(set(ids)) > 1 and not crew.common() + crew.in_step() and not crew.is_throng()
    return is_apart or crew.is_about_others()


def _is_imitated(fmt: Format, some: Sequence[re.Match[bytes]], lines: Sequence[bytes]) -> bool:
    """Say whether a sure tag's numbers are no ranks, but of results, pids, a message's own."""
    if fmt.name == "trainer-process":  # said once: the second process with that local rank is another node's
        return len(some) > len(set(_ids(fmt, some)))
    records = sum(text[:1] == b"{" for text in lines) if fmt.layer == "writer" else 0
    if records >= FEWEST and len(some) < MOST * records:
        return True
    if len(some) < MANY:
        return False
    ids = _ids(fmt, some)
    distinct = sorted(set(ids))
    if len(distinct) > 2 and distinct[0] > 0 and rises(ids):
        return True
    is_torchs = all(m[0].startswith(b"[rank") and m[0][5:6].isdigit() for m in some)  # nobody numbers results so
    if len(distinct) > 1 and (0 not in distinct or fmt.layer == "writer" or (is_a_loop(ids) and not is_torchs)):
        crew = Crew(ids, [message_of(m.string[: m.start()]) + message_of(m.string[m.end() :]) for m in some])
        if crew.common() < 2 and crew.in_step() < 3:
            behind = Crew(ids, [message_of(m.string[m.end() :]) for m in some])
            if not behind.is_throng():
                return True
    aligned = distinct[-1] - distinct[0] + 1 == len(distinct) and distinct[0] % len(distinct) == 0
    are_pids = distinct[0] >= FAR and len(distinct) > 1 and len(ids) >= MOST * len(lines)
    return are_pids and not aligned and not world_told(lines)


@cache
def _read() -> Candidates:
    return Candidates([f for f in built_in() if (f.layer == "tag" and f.weak) or f.name in SURE], _carries)


def _carried(fmt: Format, text: bytes) -> re.Match[bytes] | None:
    found = fmt.regex.search(text, 0, 400 if fmt.layer == "writer" else READ)
    return found if found is not None and (found.start() == 0 or text[found.start() - 1] in b" ]-|:") else None


def _carries(fmt: Format, text: bytes) -> bool:
    return _carried(fmt, text) is not None
