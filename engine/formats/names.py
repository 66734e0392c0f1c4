"""Names in front of lines that hold a rank: `gx1-rank3: `, `rank0.1 | `, `gx0:r5` and a tab.

A word says so, or the number stands behind a host's name and several do behind one host; and the numbers of all
names are those of processes, each one name's.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from l4tui.engine.formats.crews import Crew

_WORD = re.compile(r"(?i:(?:^|(?<=[^A-Za-z]))rank[-_.=:]?)(\d{1,6})(?=[^0-9A-Za-z]|$)")
_LETTER = re.compile(r"(?<=\d)[-_.:/]+r(\d{1,6})$")
_NUMBER = re.compile(r"(?<=\d)[-_:/]+(\d{1,6})$")
_HOST = re.compile(r"([A-Za-z](?=[\w.-]*\d)[\w.-]*?)([-_.:/]*)")
_DIGITS = re.compile(r"\d+")


def ranked(names: Collection[str]) -> str | None:
    """Return the regex of names that differ in numbers alone, with their rank as `task` and their host as `node`.

    Names without a number are a launcher's own, and not in it.
    """
    distinct = sorted({name for name in names if _DIGITS.search(name)})
    if len({_DIGITS.sub("0", name) for name in distinct}) != 1:
        return None
    for word in (_WORD, _LETTER, _NUMBER):
        found = [word.search(name) for name in distinct]
        numbers = [int(match[1]) for match in found if match is not None]
        hosts = {name[: match.start()] for name, match in zip(distinct, found, strict=True) if match is not None}
        if len(set(numbers)) < len(distinct) or not Crew(numbers, ()).is_block():
            continue
        if word is not _WORD and (len(hosts) == len(distinct) or 0 not in numbers):
            continue  # a row of hosts, each its own
        if word is _NUMBER and len(hosts) < 2:
            continue  # of pods, that go on counting in each set anew
        match = next(match for match in found if match is not None)
        return _pattern(match.string, match)
    return None


def _pattern(name: str, rank: re.Match[str]) -> str:
    before, word, after = name[: rank.start()], name[rank.start() : rank.start(1)], name[rank.end() :]
    host = _HOST.fullmatch(before)
    front = f"(?P<node>{_any_number(host[1])}){_any_number(host[2])}" if host is not None else _any_number(before)
    return front + _any_number(word) + r"(?P<task>\d+)" + _any_number(after)


def _any_number(text: str) -> str:
    return re.sub(r"\d+", r"\\d+", re.escape(text))
