"""Where the values stand in a shape, and what each is called: done once per shape, never per line.

A shape is a message whose digit runs are one 0 each, its bytes read as Latin-1, so that places in it are bytes. Names
come from what stands before a number: `key=`, `key:`, a quoted key, else the words since the last separator; where
nothing does, from its unit or the word behind it.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from l4tui.engine.telemetry.units import UNITS, is_unit

MOST_FIELDS = 64  # a line with more is a dump of settings
LONGEST_NAME = 64
LONGEST_TEXT = 48

# Identity, time and place: columns of their own, not telemetry.
_PLACES = """rank local_rank global_rank self_rank world_rank node node_rank group_rank pid tid pgid host hostname port
asctime timestamp lineno line file filename func funcname module path logger caller level levelname severity msg message
event event_type name
thread process processname threadname relativecreated msecs time_ms namespace version seed uuid id"""
_PHRASES = "local rank,global rank,world size,node rank,thread id,process id"
_STAMPED = "time ts date created t"
_SMALL = "a an and are as at by for from has in into is of on over per the to was with after before"
_NOT_VALUES = frozenset(_PLACES.split()) | frozenset(_PHRASES.split(","))
_IDENTITY = re.compile(r"(?i)(?:^|[\s_])(?:rank|pid|tid|gpus?|npu|dev|device|cuda|channel|port|errno)(?: total)?$")
_STAMPS = frozenset(_STAMPED.split())  # as a quoted key: when the line was written
_STOP = frozenset(_SMALL.split())

_NUMBER = r"[-+]?(?:0(?:,0)*(?:\.0?)?|\.0)(?:[eE][-+]?0)?"
_BEFORE = r"(?<![\w.°])(?<![\w.][-+])"
_TOKENS = re.compile(
    r"(?P<skip>0-0-0(?:[T ]+0:0(?::0)?(?:[.,]0)?)?(?:Z|[+-]0:?0?)?"  # a date, perhaps with a time
    r"|0(?::0)+(?:\.0)?(?!\w)|0(?:\.0){2,}(?::0)?"  # a time of day, a duration, a version or an address
    r"|0%\|[^|]{0,400}\|"  # a bar
    r"|(?<![\w)%])(?:~|\.{1,2})?/[\w.+=:-]+(?:/[\w.+=:-]*)*|(?<!\w)\w{1,20}://[^\s,]+"  # a path, a URL
    r"|(?<![\w.-])[A-Za-z_][\w.-]*\.[A-Za-z]+:0)"  # file:line
    r"|(?<![\w./-])(?P<key>[A-Za-z_][\w./-]*)=(?P<text>'(?![-+]?\.?0)[^'=]{1,48}'|\"(?![-+]?\.?0)[^\"=]{1,48}\""
    r"|(?!(?i:[-+]?nan|[-+]?inf(?:inity)?)\b)[A-Za-z_][\w.:/+-]{0,47})(?=[\s,;)\]}|]|$)"
    r"|(?P<quote>['\"])(?P<qkey>[^'\"]{1,64})(?P=quote)\s*:\s*(?:(?P<mark>['\"])(?![-+]?\.?0|(?i:[-+]?nan|[-+]?inf))"
    r"(?P<qtext>[^'\"\\]{1,48})(?P=mark)|(?P<bare>true|false|True|False|null|None)\b)"
    rf"|{_BEFORE}(?P<done>0)\s*/\s*(?P<of>0)(?![\w.])"
    rf"|{_BEFORE}(?P<odd>[-+]?(?i:nan|inf(?:inity)?))(?![\w.])"
    rf"|{_BEFORE}(?P<number>{_NUMBER})(?P<unit>%|Â?°?[A-Za-zµÂ]+(?:/[A-Za-z]+)*)?(?![\w°])",
    re.ASCII,
)
_SPACED_UNIT = re.compile(r" ?(%|Â?°?[A-Za-zµÂ]+(?:/[A-Za-z]+)*)(?![\w:=(°])")
_KEYED = re.compile(r"([^\s|,;{}\[\]\"'=<>]{1,64})=$")
_ASSIGNED = re.compile(r"([^|,;{}\[\]\"'=<>:\t]{1,64}?)\s+=$")
_QUOTED = re.compile(r"['\"]([^'\"]{1,64})['\"]\s*[:=]$")
_COLON = re.compile(r"([^|,;{}\[\]\"'=<>:\t]{1,96})\s*:$")
_HEADING = re.compile(r"\((\S{1,12})\)\s*[|:]\s*\w|\b(\S{1,12}):\s")
_WORDS_BEFORE = re.compile(r"[^|,;{}\[\]\"'=<>:()\t]*$")
_UNIT_BEHIND = re.compile(r"\s*[(\[]([^()\[\]]{1,20})[)\]]$")
_WORD_BEHIND = re.compile(r"\s+([A-Za-z_][\w/-]*)")
_SEPARATED = re.compile(r"[|,;{}\t]")
_GAP = re.compile(r"\s{2,}")
_LABELS = ("key", "name", "metric", "tag")
_BRACE = re.compile(r"(?<![\w./-])([\w./-]{1,64})\s?[:=]\s?\{\s?$")
_LEADER = re.compile(r"\.{4,}|-{8,}|={8,}|\*{8,}")
_PAIR = re.compile(r" [A-Za-z_][\w.-]* [-+]?(?:0|nan\b|inf\b)")  # "forward nan backward 0.0": names and values in turn
_RATED = re.compile(r" [A-Za-z_]\w*/[A-Za-z]+ [-+]?0(?:\.0)?(?:[eE][-+]?0)?\s*(?:$|[,|;)\]])")
_PROSE = re.compile(r"\s+[A-Za-z]")


class Type(IntEnum):
    """What the values of a series are."""

    INT = 0
    FLOAT = 1
    TEXT = 2


class Field(NamedTuple):
    """One value of a shape: start and end in the shape, what it is called, and where its name stands (−1: nowhere)."""

    start: int
    end: int
    name: str
    unit: str
    type: Type
    keyed: bool  # named by a key of its own, not by the words before it
    name_at: int


def utf8(text: str) -> str:
    """Read the bytes that Latin-1 text stands for as UTF-8."""
    return text if text.isascii() else text.encode("latin-1", "replace").decode("utf-8", "replace")


def fields_of(shape: str) -> tuple[Field, ...]:
    """Find the values of a shape; none where it is a rule, a table of settings or a dump."""
    if _LEADER.search(shape):
        return ()
    scan = _Scan(shape)
    for match in _TOKENS.finditer(shape):
        scan.take(match)
        if len(scan.fields) > MOST_FIELDS:
            return ()
    return tuple(scan.fields)


class _Scan:
    """The walk over one shape."""

    def __init__(self, shape: str) -> None:
        self.shape = shape
        self.fields: list[Field] = []
        self.end = 0  # of what has been read
        self.heading = ""  # unit said for all that follows: "times ms:", "memory (MB) |"
        self.last = ""  # name of the value before
        self.taken: dict[str, int] = {}
        self.label = ("", -1)  # what "value" is the value of, and where that stands: {"key": "loss", "value": 2.5}

    def take(self, match: re.Match[str]) -> None:
        """Read one token."""
        start, end = match.span()
        if match["skip"]:
            self.last = "progress" if match["skip"].startswith("0%|") else ""
        elif match["text"] or match["qkey"]:
            self._text(match)
        elif match["odd"]:
            if not self._is_value(start, end):
                return
            self._value(start, end, "", Type.FLOAT, end)
        elif match["done"]:
            self._fraction(match)
        else:
            end = self._number(match)
            if end < 0:
                return
        self.end = end

    def _is_value(self, start: int, end: int) -> bool:
        """Tell a nan that is a value from one in prose ("number of nan iterations: 0")."""
        before = self.shape[self.end : start].rstrip(" '\"[(")
        if before.endswith(("=", ":")) or not _PROSE.match(self.shape, end):
            return True
        return _PAIR.match(self.shape, end) is not None and before[-1:].isalpha()

    def _number(self, match: re.Match[str]) -> int:
        start, end = match.span("number")
        unit = match["unit"] or ""
        if unit and not is_unit(utf8(unit)):
            return -1
        if end < len(self.shape) and self.shape[end] in "-.:" and self.shape[end + 1 : end + 2].isalnum():
            return -1  # 0-0, 0.log
        stop = match.end()
        spaced = None if unit or self._is_next_name(start, end) else _SPACED_UNIT.match(self.shape, end)
        if spaced and is_unit(utf8(spaced[1])):
            unit, stop = spaced[1], spaced.end()
        kind = Type.FLOAT if any(c in match["number"] for c in ".eE") else Type.INT
        self._value(start, end, unit, kind, stop)
        return stop

    def _is_next_name(self, start: int, end: int) -> bool:
        """Tell a rate that names the number behind it ("loss 0.0 tok/s 0") from the unit of the one before it."""
        return self.shape[self.end : start].rstrip()[-1:].isalpha() and _RATED.match(self.shape, end) is not None

    def _fraction(self, match: re.Match[str]) -> None:
        name, unit, keyed, at = self._name(match.start(), "", match.end())
        name = name or "progress"
        self._add(*match.span("done"), name, unit, Type.INT, keyed, at)
        self._add(*match.span("of"), f"{name} total", unit, Type.INT, keyed, at)

    def _text(self, match: re.Match[str]) -> None:
        group = "text" if match["text"] else "qtext" if match["qtext"] else "bare"
        key = match["key"] or match["qkey"]
        start, end = match.span(group)
        if match["text"] and self.shape[start] in "'\"":
            start, end = start + 1, end - 1
        if match["qtext"] and key in _LABELS:
            self.label = (self.shape[start:end], start)
        elif key.lower() not in _NOT_VALUES:
            self._add(start, end, key, "", Type.TEXT, True, match.start("key" if match["key"] else "qkey"))

    def _value(self, start: int, end: int, unit: str, kind: Type, stop: int) -> None:
        name, said, keyed, at = self._name(start, unit, stop)
        if name:
            self._add(start, end, name, unit or said or self.heading, kind, keyed, at)

    def _add(self, start: int, end: int, name: str, unit: str, kind: Type, keyed: bool, at: int) -> None:
        if name == "value" and self.shape[at - 1 : at] in ("'", '"'):
            name, at = self._labelled(at)
        self.last = name
        if kind is Type.INT and not unit and _IDENTITY.search(name):
            return
        if name.lower() in _NOT_VALUES or (name.lower() in _STAMPS and self.shape[at - 1 : at] in ("'", '"')):
            return
        seen = self.taken[name] = self.taken.get(name, 0) + 1
        if seen > 1 and "0" not in name:
            name, at = f"{name} #{seen}", -1
        self.fields.append(Field(start, end, name[:LONGEST_NAME], utf8(unit), kind, keyed, at))

    def _labelled(self, at: int) -> tuple[str, int]:
        """Return the name of a quoted "value": what a key beside it says, else the word before the brace."""
        if self.label[0]:
            return self.label
        before = _BRACE.search(self.shape, 0, at - 1)
        return (before[1], before.start(1)) if before else ("value", at)

    def _name(self, start: int, unit: str, stop: int) -> tuple[str, str, bool, int]:
        """Return name, unit said in it, whether a key names it, and where the name begins."""
        begin = self.end
        gap = self.shape[begin:start].rstrip(" '\"[({<~$\t\xa0")
        if heading := _HEADING.search(gap):
            word = heading[1] or heading[2]
            if word in UNITS or ("/" in word and is_unit(word)):
                self.heading = word
        for pattern in (_QUOTED, _KEYED, _ASSIGNED, _COLON):
            if found := pattern.search(gap):
                return self._keyed(found[1], begin + found.start(1), words=pattern in (_ASSIGNED, _COLON))
        found = _WORDS_BEFORE.search(gap)
        phrase = found[0] if found else ""
        name = _phrase(phrase, 3)
        if name:
            at = gap.rfind(name)
            return name, "", False, begin + at if at >= 0 else -1
        if self.last and not _SEPARATED.search(self.shape[begin:start]):
            return f"{self.last} {unit}".strip(), "", False, -1
        if unit and len(unit) > 1:
            return unit, unit, False, -1
        behind = _WORD_BEHIND.match(self.shape, stop)
        if behind and behind[1].lower() not in _STOP:
            return behind[1], "", False, -1
        return _phrase(" ".join(re.findall(r"[A-Za-z_][\w-]*", self.shape[:start])[:3]), 3), "", False, -1

    def _keyed(self, key: str, at: int, words: bool) -> tuple[str, str, bool, int]:
        unit = ""
        text = key.rstrip()
        if (found := _UNIT_BEHIND.search(text)) and is_unit(found[1].strip()):
            unit, text = found[1].strip(), text[: found.start()]
        name = _phrase(text, 6, trim=False) if words else text.strip("-./ ")
        inside = key.find(name) if name else -1
        return name, unit, True, at + inside if inside >= 0 else -1


def _phrase(text: str, most: int, trim: bool = True) -> str:
    """Return the last words of a text that can name a value; "" where there are none."""
    text = _GAP.split(text.strip(" \t-*>.~#@&+!?%$/\\"))[-1]
    words = text.split()[-most:]
    if trim:
        while words and words[0].lower() in _STOP:
            words.pop(0)
        while words and words[-1].lower() in _STOP:
            words.pop()
    name = " ".join(words).strip("-*>.~()[]")
    return name if any(c.isalpha() for c in name) and len(name) <= LONGEST_NAME else ""
