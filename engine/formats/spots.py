"""Spots: numbers in a line that may be ranks, with the form around them and the kind of text in front."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

FAR = 160  # bytes in which a place behind a header is looked for
MOST_KEYS = 1 << 13  # remembered
RANK, WEAK, DEVICE, BARE, TEE = "rank", "weak", "device", "bare", "tee"
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
DIGITS = re.compile(rb"\d+")
WORD = re.compile(rb"[A-Za-z_](?:[\w./-]*\w)?")
_WORD = re.compile(
    rb"(?<![\w.-])(?P<open>[\[({<]?)"
    rb"(?:(?P<rank>(?i:(?:(?:global|world|mpi|pmix?|ompi_comm_world)[ _-]?)?rank(?:[ _-]?id)?|slurm_procid|"
    rb"process[ _]?(?:index|id)))"
    rb"|(?P<weak>(?i:proc(?:ess)?|worker|trainer|replica|task|pe|[rpt]))|(?P<device>(?i:gpu|cuda|device)))"
    rb"(?P<sep>[\"']?(?: ?[=:] {0,6}[\"']?|[ _#-]|[\[(])?)(?P<id>\d{1,6})(?P<size>(?:/| of )\d{1,6})?(?![\w%]|\.\d)"
    rb"(?P<after>[\"']?(?:[\])}>]:?)?(?: ?[|:>,;](?!\w)| -(?= ))?)"
)
_HOST = rb"[A-Za-z](?=[\w.-]*\d)[\w.-]*"
_BARE = tuple(
    re.compile(pattern)
    for pattern in (
        rb"^(?P<id>\d{1,6})(?P<after>[>|]| [|>-]| ?:)?(?=[ \t])",
        rb"^(?:" + _HOST + rb"|\d+)[:/@|](?P<id>\d{1,6})(?P<after>[:|>])(?=[ \t])",
        rb"^" + _HOST + rb" (?P<id>\d{1,6})(?P<after>[:|>])(?=[ \t])",
        rb"^[\[({<](?:" + _HOST + rb"|\d+)[:/@|, ] ?(?P<id>\d{1,6})(?P<after>[\])}>]:?)",
        rb"^[\[({<]?(?P<id>\d{1,6})(?P<after>[:/@|,](?:" + _HOST + rb"|\d+)(?:[\])}>]:?|[:|]))",
        rb"(?<![\w.:,-])[\[({<](?P<id>\d{1,6})(?P<after>(?:/\d{1,6})?[\])}>]:?)",
        rb"^#(?P<id>\d{1,6})(?P<after>:?)(?=[ \t])",
    )
)
_BEHIND_HEADER = tuple(  # without brackets: only behind a stamp or level
    re.compile(rb"(?:[\d.,:Z\]]\d\]?|TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)\]?" + pattern)
    for pattern in (
        rb" ?[|] ?(?P<id>\d{1,6})(?P<after> ?[|])",
        rb" - (?P<id>\d{1,6})(?P<after> -)(?= )",
        rb" +(?P<id>\d{1,6})(?P<after>:)(?= )",
        rb" (?P<id>\d{1,6})(?P<after>)(?= +\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|CRITICAL))",
        rb" +" + _HOST + rb"[:/@](?P<id>\d{1,6})(?P<after>:?)(?=[ \t])",
    )
) + tuple(  # behind a stamp and names
    re.compile(rb"^[\[(]?[\d/-]{4,10}[ T]\d\d:\d\d:\d\d[\d.,Z]*[\])]?" + pattern)
    for pattern in (
        rb"(?: - [A-Za-z_][\w.]*+){1,3} - (?P<id>\d{1,6})(?P<after> -)(?= )",
        rb"(?: ?[|] ?[A-Za-z_][\w.]*+ *+){1,3}[|] ?(?P<id>\d{1,6})(?P<after> ?[|])",
    )
)
_TEE = re.compile(rb"(?<=.)\[default(?P<id>\d{1,4})\]:", re.DOTALL)  # torchrun's, behind what a collector wrote
# of another numbering, or of another process: the text is about them
_OTHERS = re.compile(
    rb"(?i:\b(?:local|node|group|[tpdecsm]p|tensor|pipeline|data|model|expert|context|parallel|machine|peer|src|dst|"
    rb"source|target|remote|process|from|to|by|for|of|on|with|at|in|lost|dead|failed|slow|slowest|slower|waiting|straggler|"
    rb"lora|low|matrix|per|each|all|and|or|than|epoch|step|iter|iteration|batch|fold|trial|run|seed|round|stage|layer)"
    rb"[ _:=-]{0,3}$|\[PG [^\]]*$)"
)
_DEVICE_OF = re.compile(rb" (?:\S+:\d+ (?:\(\w+\) )?)?(?:NCCL|RCCL)\b")  # in front of it stands a device
TOKEN = re.compile(rb"\d+|[A-Za-z_](?:[\w./-]*\w)?|\s+|.", re.DOTALL)


class Spot(NamedTuple):
    """A number in a line that may be a rank; offsets."""

    kind: str
    form: tuple[bytes, ...]  # what surrounds the number
    skeleton: bytes  # the kind of text in front; empty at the start
    start: int
    id_at: int
    id_end: int
    end: int
    is_last: bool  # nothing follows


class Finder:
    """Spots of lines, remembered by their keys: digits do not matter."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Spot, ...]] = {}

    def among(self, lines: Sequence[bytes]) -> list[tuple[bytes, tuple[Spot, ...]]]:
        """Return the lines that have spots, with them."""
        out = []
        for text in lines:
            key = text.translate(_ZEROS)
            spots = self._known.get(key)
            if spots is None:
                if len(self._known) >= MOST_KEYS:
                    self._known.clear()
                spots = self._known[key] = tuple(_spots(key))
            if spots:
                out.append((text, spots))
        return out


@cache
def finder() -> Finder:
    """Return the process's only finder: the lines of many sources are alike."""
    return Finder()


def _spots(key: bytes) -> Iterable[Spot]:
    for match in _WORD.finditer(key):
        kind = RANK if match["rank"] else WEAK if match["weak"] else DEVICE
        is_last = not key[match.end() :].strip()
        if _OTHERS.search(key, 0, match.start()) is None and not _names_host(match):
            sep = match["sep"].replace(b" ", b"") or match["sep"]  # numbers may be padded
            size = DIGITS.sub(b"0", match["size"] or b"")
            form = (match["open"], match["rank"] or match["weak"] or match["device"], sep, size, match["after"])
            at, end = match.span("id")
            yield Spot(kind, form, _skeleton(key[: match.start()]), match.start(), at, end, match.end(), is_last)
    for match in _TEE.finditer(key, 0, FAR):
        form = (b"", b"[default", b"", b"", b"]:")
        yield Spot(TEE, form, _skeleton(key[: match.start()]), match.start(), *match.span("id"), match.end(), False)
    bare = {(*match.span(), *match.span("id")) for regex in _BARE for match in regex.finditer(key, 0, FAR)}
    found = (match for regex in _BEHIND_HEADER for match in regex.finditer(key, 0, FAR))
    bare |= {(match.start("id"), match.end(), *match.span("id")) for match in found}
    for start, stop, at, end in sorted(bare):
        if _OTHERS.search(key, 0, start) is None and _DEVICE_OF.match(key, stop) is None:
            form = (b"", _shape(key[start:at]), b"", b"", _shape(key[end:stop]))
            yield Spot(BARE, form, _skeleton(key[:start]), start, at, end, stop, False)


def _names_host(match: re.Match[bytes]) -> bool:
    """Say whether a device or worker with its number may as well be a machine's name: gpu-3, worker3."""
    word = (match["weak"] or match["device"] or b"").lower()
    if word not in (b"gpu", b"device", b"worker") or match["sep"] not in (b"", b"-", b"_"):
        return False
    return match["sep"] == b"-" or word == b"worker" or not (match["open"] or match["device"].isupper())


def _shape(text: bytes) -> bytes:
    return DIGITS.sub(b"0", WORD.sub(b"W", text))


def _skeleton(prefix: bytes) -> bytes:
    out = []
    for token in TOKEN.findall(prefix[:FAR]):
        first = token[:1]
        out.append(b"0" if first.isdigit() else b"W" if first.isalpha() or first == b"_" else first)
    return b"".join(out)
