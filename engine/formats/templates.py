"""Prefixes with a role or a template of the user's: `[trainer3]:`, `[default:g1:l1] `, `[rank=3 local=1]: `."""

from __future__ import annotations

import re
from collections import Counter

from l4tui.engine.formats.hits import Hints, Hits, is_concentrated
from l4tui.engine.formats.labels import is_glued, is_label_set, is_somebodys

_ROLE = re.compile(rb"\[([A-Za-z_][\w-]*?)(\d+)\]:")
_SLOT = re.compile(rb"\d+")
_WORD_BEFORE = re.compile(rb"([A-Za-z_]+)[\s=:#-]*\Z")
_MEANINGS = {
    "rank": frozenset(("g", "r", "rank", "global", "global_rank", "grank", "world_rank", "globalrank")),
    "local_rank": frozenset(("l", "lr", "local", "local_rank", "lrank", "localrank")),
    "group_rank": frozenset(("group", "group_rank", "gr", "node_rank", "noderank")),
    "attempt": frozenset(("a", "attempt", "restart", "restart_count", "restarts")),
}
_FIELD_OF = {word: field for field, words in _MEANINGS.items() for word in words}
_GROUP_BEFORE = re.compile(
    rb"(?i:\b(?:[tpdecsm]p|tensor|pipeline|data|model|expert|context|parallel|node|group))[ _-]rank\W*\Z"
)
_HOST = re.compile(r"(\b(?:host|hostname|node)[=:])([A-Za-z](?:[\w.]|\\[-.]|\\d\+)*)")  # in a regex
# texts inside brackets that other entries read better
_NOT_A_TEMPLATE = re.compile(rb"\[(?:rank *\d+|pg |tid |l4 rank=)", re.IGNORECASE)


def judge_role(hits: Hits, hints: Hints) -> str | None:
    """Accept roles whose numbers are local ranks 0 to n-1."""
    by_role: dict[bytes, list[int]] = {}
    for k, match in enumerate(hits.found):
        found = _ROLE.match(match[0])
        if found is not None and found[1] not in (b"rank", b"default"):
            by_role.setdefault(found[1], []).append(k)
    patterns = []
    for role, rows in sorted(by_role.items()):
        chosen = set(rows)
        part = hits.only([k in chosen for k in range(len(hits.at))])
        texts = part.texts()
        tail = _role_digits(texts)
        ids = [int(text[tail:]) for text in texts]
        good = len(ids) >= 2 * len(set(ids)) and is_label_set(part, ids, hints) and is_glued(part)
        if good and not is_somebodys(part, ids, hints):
            patterns.append(re.escape(role.decode("latin-1")) + r"\d" * tail)
    if not patterns:
        return None
    return rf"\[(?:{'|'.join(patterns)})(?P<local_rank>\d+)\]:"


def _role_digits(texts: list[str]) -> int:
    """Return how many leading digits belong to a role like gpu2: those all numbers share when 0 is not among them."""
    ids = {int(text) for text in texts}
    shared = len(texts[0]) - 1 if len(texts[0]) > 1 else 0
    while shared and not all(len(text) > shared and text[:shared] == texts[0][:shared] for text in texts):
        shared -= 1
    return 0 if 0 in ids or len(ids) < 2 else shared


def judge_template(hits: Hits, hints: Hints) -> str | None:
    """Learn the one template that begins most lines; its numbers are named by the words before them."""
    good = [not _ROLE.match(match[0]) and not _NOT_A_TEMPLATE.match(match[0]) for match in hits.found]
    hits = hits.only(good)
    if not hits.at:
        return None
    shapes = Counter(_SLOT.sub(b"0", match[0]) for match in hits.found)
    shape, n = shapes.most_common(1)[0]
    if n < 0.5 * len(hits.at):
        return None
    hits = hits.only([_SLOT.sub(b"0", match[0]) == shape for match in hits.found])
    numbers = [[int(slot[:9]) for slot in _SLOT.findall(match[0])] for match in hits.found]
    fields = _fields(shape)
    telling = [k for k, field in enumerate(fields) if field in ("rank", "local_rank")]
    if not telling or not is_concentrated(hits):
        return None
    if not all(is_label_set(hits, [row[k] for row in numbers], hints) for k in telling):
        return None
    pieces = [re.escape(text.decode("latin-1")) for text in shape.split(b"0")]
    out = pieces[0]
    for field, piece in zip(fields, pieces[1:], strict=True):
        out += (rf"(?P<{field}>\d+)" if field else r"\d+") + piece
    return _HOST.sub(r"\1(?P<node>\2)", out, count=1)


def judge_pair(hits: Hits, hints: Hints) -> str | None:
    """Find out which number of `(3/1) ` is the rank, and whether the other is the local rank or the world size."""
    shapes = Counter(_SLOT.sub(b"0", match[0]) for match in hits.found)
    shape, _ = shapes.most_common(1)[0]
    hits = hits.only([_SLOT.sub(b"0", match[0]) == shape for match in hits.found])
    pairs = [tuple(int(slot[:9]) for slot in _SLOT.findall(match[0])) for match in hits.found]
    for at in (0, 1):
        ranks, others = [pair[at] for pair in pairs], [pair[1 - at] for pair in pairs]
        if len(set(ranks)) < 2 or 0 not in ranks or not is_label_set(hits, ranks, hints):
            continue
        if is_somebodys(hits, ranks, hints):
            continue
        second = _second(ranks, others)
        if second is not None:
            names = ["rank", second] if at == 0 else [second, "rank"]
            slots = [rf"(?P<{name}>\d+)" if name else r"\d+" for name in names]
            pieces = [re.escape(text.decode("latin-1")) for text in shape.split(b"0")]
            return pieces[0] + slots[0] + pieces[1] + slots[1] + pieces[2]
    return None


def _second(ranks: list[int], others: list[int]) -> str | None:
    """Return what the numbers beside ranks are: local ranks, or nothing when they are the world size or the same."""
    n = max(ranks) + 1
    if set(others) == {n} or others == ranks:
        return ""
    per_node = max(others) + 1
    fits = 1 < per_node < n and len(set(ranks)) > per_node
    return "local_rank" if fits and all(b == a % per_node for a, b in zip(ranks, others, strict=True)) else None


def _fields(shape: bytes) -> list[str]:
    fields: list[str] = []
    for slot in _SLOT.finditer(shape):
        before = _WORD_BEFORE.search(shape, 0, slot.start())
        field = _FIELD_OF.get(before[1].decode("latin-1").lower(), "") if before else ""
        if field == "rank" and _GROUP_BEFORE.search(shape, 0, slot.start()):
            field = ""
        fields.append("" if field in fields else field)
    return fields
