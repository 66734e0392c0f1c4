"""Places: where lines of a source tell a rank in a form that no entry knows, learnt from many lines.

A place is a number behind a word (`rank`, `process`, `worker`), in brackets or at the start, always behind the same
kind of text; or a pair `rank=3` wherever it stands; or the end of the line. Whether its numbers are ranks is asked of
crews.py; the weaker the word, the more it takes. What stays doubtful is not read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from l4tui.engine.formats.crews import Crew, is_a_loop, rises
from l4tui.engine.formats.spots import BARE, DEVICE, DIGITS, FAR, RANK, TEE, TOKEN, WEAK, WORD, Spot, finder

MOST_HEADS = 8  # kinds of text in front of one place
MANY = 30  # hits: of few lines it is not clear that all say so
MOST_PLACES = 4  # of one source
MOST_WORDS = 12  # words that a place lists
HEADER, TAIL, FREE = "header", "tail", "free"
_TROUBLE = (
    r"(?!.*\b(?i:fail|lost|los[et]|dead|die|dying|exit|kill|crash|abort|terminat|evict|remov|join|left|leav|"
    r"timed?[ -]?out|miss|wait|error|exception|from|to rank|receiv|recv|sen[dt]|src|dst|source|target|peer|remote|"
    r"straggl|slow|late|lag|behind|stuck|hang|hung|detect|unreach|unhealth|heartbeat|disconnect|connect|respon|worker|"
    r"other|suspect|monitor|watch|check|probe|health|status))"
)
_STAMP = re.compile(
    rb"^\W*(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[\d.,Z]*\S*|^.*?\"(?:message|msg|event|text)\": ?|^.*?\bmsg="
)
_TIME = re.compile(rb"\d{1,4}[-/:.,]\d\d(?:[-/:.,T ]\d+)*|\b[A-Z][a-z]{2} [ \d]\d ")
HOST = r"[A-Za-z](?=[\w.-]*\d)[\w.-]*"
_BOUND = re.compile(rb"(?<![\w.-])(" + HOST.encode() + rb")[:/@]$")  # a host in front of the number bound to it
_GLOG = re.compile(rb"[DIWEFC]\d{4,8}")  # level and date
_LEVELS = ("TRACE", "DEBUG", "INFO", "NOTICE", "SUCCESS", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL")
_WORLD = re.compile(rb"(?:world[_ ]?size\W{1,3}|nranks )(\d{1,6})\b")
_POOL = re.compile(
    rb"(?i:\bpool (?:of|with|size)\W{1,3}(\d{1,4})\b|\b(\d{1,4}) (?:\w+ )?(?:workers|processes) in (?:a|the) pool\b)"
)
_WORKERS = re.compile(
    rb"(?i:\b(?:num|max|n)_(?:workers|proc)[\"']?[=: ]{1,3}(\d{1,4})\b|"
    rb"\b(\d{1,4}) (?:data ?loader |data )?(?:workers|threads)\b)"
)
LOOKED_AT = 600  # hits that tell whether they are ranks


class Place(NamedTuple):
    """Where many lines tell their writer."""

    kind: str
    where: str
    pattern: str  # with one group `id`, bound to the start of the line
    share: float  # of the lines
    local: bool  # the number is a local rank
    is_head: bool  # it begins the lines: a prefix up to the end of the pattern
    pair: str = ""  # regex of a word and = or a colon


def world_told(texts: Iterable[bytes]) -> int:
    """Return the number of processes that lines name; 0 where they name none, or several."""
    joined = b"\n".join(texts).lower()
    found = set(_WORLD.findall(joined)) if b"world" in joined or b"nranks " in joined else set()
    return int(found.pop()) if len(found) == 1 else 0


def learn_places(texts: Sequence[bytes], is_placed: bool) -> list[Place]:
    """Return the places that tell ranks, the surest first; `is_placed`: a launcher's tag names the process already."""
    lines = [text for text in texts if text.strip()]
    groups: dict[tuple[str, tuple[bytes, ...]], list[tuple[bytes, Spot]]] = defaultdict(list)
    for text, spots in finder().among(lines):
        for spot in spots:
            groups[spot.kind, spot.form].append((text, spot))
    world = cache(lambda: world_told(lines))  # seldom asked
    found = []
    texts_of: dict[Place, set[int]] = {}
    for (kind, _), hits in groups.items():
        if len(hits) >= 4 and not (is_placed and kind != RANK):
            place = _judge(kind, hits, len(lines), world)
            if place is not None and not _is_a_pools(kind, hits, lines, world()):
                found.append(place)
                texts_of[place] = {id(text) for text, _ in hits}
    found += [_as_field(place) for place in found if place.kind == RANK and place.pair][:1]
    order = (TEE, RANK, WEAK, BARE, DEVICE)
    found.sort(key=lambda place: (order.index(place.kind), -place.share))
    sure = [place for place in found if place.kind in (TEE, RANK)]
    told = set().union(*(texts_of.get(place, ()) for place in sure))
    rest = [place for place in found if place not in sure and not _share(texts_of[place], told)]
    return sure + rest[:1]  # of a program's own lines, where torch's tell its way


def _share(texts: set[int], told: set[int]) -> bool:
    """Say whether more than a few of the texts are told already."""
    return len(texts & told) > 0.1 * len(texts)


def _is_a_pools(kind: str, hits: Sequence[tuple[bytes, Spot]], lines: Sequence[bytes], world: int) -> bool:
    """Say whether lines name a pool of as many workers as there are numbers: threads or children of one process."""
    many = len({int(text[spot.id_at : spot.id_end]) for text, spot in hits})
    if kind not in (WEAK, BARE) or many == world:
        return False
    joined = b"\n".join(lines)
    told = _POOL.findall(joined)
    if hits[0][1].form[1].lower().startswith((b"worker", b"proc")):
        told += _WORKERS.findall(joined)
    return any(int(first or second) == many for first, second in told)


def head_of(places: Sequence[Place]) -> str:
    """Return the regex of the prefix among places, which may stand behind others; "" for none."""
    return next((_named([place]).removeprefix("^") for place in places if place.is_head), "")


def writer_of(places: Sequence[Place]) -> str:
    """Return the regex of lines that tell their writer elsewhere than in a prefix; "" for none."""
    return _named([place for place in places if not place.is_head][:MOST_PLACES])


def _named(places: Sequence[Place]) -> str:
    """Join the places; their fields are numbered as `registry` wants it."""
    out = []
    for k, place in enumerate(places):
        field = "local_rank" if place.local else "self_rank"
        out.append(place.pattern.replace("(?P<id>", f"(?P<{field}__{k}>" if k else f"(?P<{field}>"))
    return f"(?:{'|'.join(out)})" if len(out) > 1 else "".join(out)


def _judge(kind: str, hits: Sequence[tuple[bytes, Spot]], lines: int, world: Callable[[], int]) -> Place | None:
    for where, inside in _wheres(kind, hits):
        share = len(inside) / lines
        inside = inside[:LOOKED_AT]
        ids = [int(text[spot.id_at : spot.id_end]) for text, spot in inside]
        seats = _seats(inside, ids) if kind == BARE and where == HEADER else []
        ids = seats or ids
        if not Crew(ids, ()).fills() and (kind != RANK or len(set(ids)) > 1):
            continue
        crew = Crew(ids, [_said(where, text, spot) for text, spot in inside])
        spot = inside[0][1]
        if not _is_proven(kind, where, crew, share, world, _is_marked(where, spot.form)):
            continue
        local = kind in (DEVICE, TEE)
        if kind == TEE and _is_mixed([text[: one.start] for text, one in inside]):
            return None
        if where == HEADER and _is_split(ids, [_beside(*hit) for hit in inside]):
            return None
        if seats:
            return Place(kind, where, _pattern(where, inside, share, False, hosted=True), share, True, False)
        if where == HEADER and _is_split(ids, [_hosts(*hit) for hit in inside]):
            if kind == RANK:
                return None
            local = True
        if kind != RANK and crew.is_doubled():
            return None
        is_head = where == HEADER and share >= 0.9 and b"0" not in spot.skeleton and spot.id_end < 48
        word, sep = (part.decode("latin-1") for part in spot.form[1:3])
        pair = re.escape(word) + _separator(sep) if _is_pair(kind, spot.form) else ""
        return Place(kind, where, _pattern(where, inside, share, is_head), share, local, is_head, pair)
    return None


def _wheres(kind: str, hits: Sequence[tuple[bytes, Spot]]) -> Iterable[tuple[str, Sequence[tuple[bytes, Spot]]]]:
    """Yield the kinds of place that the spots may share, with those that are in it."""
    form = hits[0][1].form
    last = [hit for hit in hits if hit[1].is_last]
    if len(last) >= 0.9 * len(hits):
        if kind == RANK and _is_marked(TAIL, form):
            yield TAIL, last
    else:
        heads = Counter(spot.skeleton for _, spot in hits)
        kept = {head for head, n in heads.most_common(MOST_HEADS) if n >= max(3, 0.03 * len(hits))}
        inside = [hit for hit in hits if hit[1].skeleton in kept]
        if len(inside) >= 0.8 * len(hits) and all(spot.start < FAR for _, spot in inside):
            yield HEADER, inside
    if _is_pair(kind, form):
        yield FREE, hits


def _is_pair(kind: str, form: tuple[bytes, ...]) -> bool:
    return kind == RANK and (b"=" in form[2] or b":" in form[2])


def _as_field(place: Place) -> Place:
    """Return the place of such a pair among other fields, wherever it stands."""
    pattern = rf"^{_TROUBLE}(?:.*[,;|] |){place.pair}(?P<id>\d{{1,6}})(?:[,;|] |$)"
    return Place(RANK, FREE, pattern, 0.0, False, False)


def _is_marked(where: str, form: tuple[bytes, ...]) -> bool:
    """Say whether brackets, = or a colon set the number apart from prose."""
    opened, _, sep, _, after = form
    if where == TAIL:
        return bool(opened and after) or b"=" in sep
    return bool(opened or after or sep.strip(b" _#-"))


def _is_proven(kind: str, where: str, crew: Crew, share: float, world: Callable[[], int], is_marked: bool) -> bool:
    ids = crew.ids
    distinct = len(set(ids))
    if kind == TEE:
        return where == HEADER and share >= 0.2
    if distinct == 1:
        return kind == RANK and len(ids) >= 10 and share >= 0.5 and len(crew.kinds()) > 2
    if not crew.fills():
        return False
    loop, steps, common = is_a_loop(ids), crew.in_step(), crew.common()
    if where == FREE and crew.is_whole() and not loop and (len(ids) == distinct >= 4 or world() == distinct):
        return common > 0  # each says it once
    if (distinct > 2 and rises(ids)) or (where == HEADER and crew.is_about_others()):
        return False
    if kind == RANK and is_marked:
        # a loop may be a table that one prints; it does not tell the step again in each row
        return len(ids) >= 8 and (steps > 2 or not loop) and (common > 1 or (steps > 2 and (not loop or share >= 0.5)))
    if loop or common < 2:
        return False
    if kind == RANK:
        return len(ids) >= 20 and share >= 0.4 and (common > 2 or steps > 3)
    if not (crew.is_whole() or (kind != DEVICE and crew.is_block())) or world() not in (0, max(ids) + 1):
        return False  # of nodes, or of a group
    agree = steps > 3 or world() == max(ids) + 1 or (common > 2 and (steps > 2 or crew.is_led()))
    return len(ids) >= MANY and share >= 0.4 and agree


def message_of(text: bytes) -> bytes:
    """Return a text without the stamp, or without the fields in front of a record's message."""
    return _STAMP.sub(b"", text, count=1).lstrip()


def _said(where: str, text: bytes, spot: Spot) -> bytes:
    if where == HEADER:
        return message_of(text[spot.end :])
    return message_of(text[: spot.start]) + text[spot.end :]


def _is_split(ids: Sequence[int], others: Sequence[bytes]) -> bool:
    """Say whether one number stands beside different ones."""
    return len(set(zip(ids, others, strict=True))) > len(set(ids))


def _beside(text: bytes, spot: Spot) -> bytes:
    """Return the numbers in one pair of brackets with a bare number."""
    if spot.kind != BARE:
        return b""
    return b" ".join(DIGITS.findall(text[spot.start : spot.id_at]) + DIGITS.findall(text[spot.id_end : spot.end]))


def _seats(hits: Sequence[tuple[bytes, Spot]], ids: Sequence[int]) -> list[int]:
    """Number the pairs of a host and what is bound to it, where each host counts from 0 alike; else nothing."""
    hosts = [_BOUND.search(text, 0, spot.id_at) for text, spot in hits]
    if any(host is None for host in hosts):
        return []
    names = [host[1] for host in hosts if host is not None]
    per_host: dict[bytes, set[int]] = defaultdict(set)
    for name, number in zip(names, ids, strict=True):
        per_host[name].add(number)
    many = {len(numbers) for numbers in per_host.values()}
    if len(many) > 1 or many == {1} or any(max(numbers) + 1 != len(numbers) for numbers in per_host.values()):
        return []
    first = {name: at * max(many) for at, name in enumerate(sorted(per_host))}
    return [first[name] + number for name, number in zip(names, ids, strict=True)]


def _is_mixed(fronts: Sequence[bytes]) -> bool:
    """Say whether a number in front, other than a stamp's or a line's, parts the lines: it may be a node's."""
    columns = zip(*(DIGITS.findall(_TIME.sub(b"", front)) for front in fronts), strict=False)
    return any(1 < len(set(column)) < len(fronts) / 3 for column in columns)


def _hosts(text: bytes, spot: Spot) -> bytes:
    """Return the words with digits in front of a number, and what is bound to it behind: hosts."""
    words = [word for word in WORD.findall(text[: spot.id_at]) if any(48 <= byte < 58 for byte in word)]
    words = [word for word in words if not _GLOG.fullmatch(word)]
    return b" ".join(words + WORD.findall(text[spot.id_end : spot.end]))


def _pattern(
    where: str, hits: Sequence[tuple[bytes, Spot]], share: float, is_head: bool, hosted: bool = False
) -> str:  # fmt: skip
    guard = "" if share >= 0.5 and len(hits) >= MANY else _TROUBLE
    opened, word, sep, size, after = (part.decode("latin-1") for part in hits[0][1].form)
    number = r"(?P<id>\d{1,6})"
    if hits[0][1].kind == BARE:
        number = _class(word) + number + _class(after)
    else:
        size = re.escape(size).replace("0", r"\d+")
        number = re.escape(opened + word) + _separator(sep) + number + size + r"(?![\w%]|\.\d)" + re.escape(after)
    if where == TAIL:
        return rf"^{guard}.*(?<![\w.-]){number}\s*$"
    if where == FREE:
        return rf"^{guard}.*(?<![\w.-]){number}"
    heads: dict[bytes, list[bytes]] = defaultdict(list)
    if hosted:
        number = rf"(?P<node>{HOST})[:/@]{number}"
    for text, spot in hits:
        bound = _BOUND.search(text, 0, spot.id_at) if hosted else None
        heads[spot.skeleton].append(text[: bound.start() if bound is not None else spot.start])
    fronts = "|".join(_front(some) for some in heads.values())
    tail = _tail(hits) if is_head else ""
    return rf"^(?:{fronts}){number}{tail}"


def _separator(sep: str) -> str:
    return "".join(f" ?{one} *" if one in "=:" else re.escape(one) for one in sep)


def _class(shape: str) -> str:
    """Return the regex of a shape: W a word, 0 a number."""
    escaped = re.escape(shape).replace("0", r"\d+")
    return escaped.replace("W", r"[A-Za-z_](?:[\w./-]*\w)?")


def _front(prefixes: Sequence[bytes]) -> str:
    """Return the regex of texts of one skeleton: the words that were seen, all levels where one is a level."""
    columns = list(zip(*(TOKEN.findall(prefix) for prefix in prefixes[:400]), strict=True))
    out = ""
    for column in columns:
        first = column[0][:1]
        if first.isdigit():
            out += r"\d+"
        elif first.isspace():
            out += r"\s+"
        elif first.isalpha() or first == b"_":
            out += _words({word.decode("latin-1") for word in column})
        else:
            out += re.escape(first.decode("latin-1"))
    return out


def _words(words: set[str]) -> str:
    if all(_GLOG.fullmatch(word.encode()) for word in words):
        return r"[DIWEFC]\d+"
    if any(word.upper() in _LEVELS for word in words):
        words |= {(str.lower if next(iter(words)).islower() else str)(level) for level in _LEVELS}
    elif len(words) > MOST_WORDS:
        return r"[A-Za-z_](?:[\w./-]*\w)?"
    shapes = sorted({re.sub(r"\d+", "0", word) for word in words}, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word).replace("0", r"\d+") for word in shapes) + ")"


def _tail(hits: Sequence[tuple[bytes, Spot]]) -> str:
    """Return the blank behind a tag where all texts have it."""
    behind = [text[spot.end : spot.end + 1] for text, spot in hits]
    return r"(?:[ \t]|$)" if sum(one in (b" ", b"\t", b"") for one in behind) >= 0.98 * len(behind) else ""
