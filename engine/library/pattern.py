"""One fact about a message: pattern, meaning, role, whom it blames, cause and remedy."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

LONGEST_TEXT = 4000  # characters of a line that are searched: bounds the time of any pattern
_DIGITS = re.compile(r"\d+")


class PatternError(ValueError):
    """A library entry that cannot be used; the message says which and why."""


class Role(StrEnum):
    """What an event is to the failure."""

    INITIATING = "initiating"
    CASCADE = "cascade"
    TEARDOWN = "teardown"
    CONTEXT = "context"


class Blames(StrEnum):
    """Whom a line accuses."""

    WRITER = "writer"
    SUBJECT = "subject"  # the ranks or nodes in its groups
    PEER = "peer"  # one vote for the rank, host or address in its groups
    NODE = "node"  # the node it was written on
    MINORITY = "minority"  # of two ranks named, the one that most pairs share or that does the rare thing
    COMPARED = "compared"  # whoever reports differs from the rank named last; that one, when most report
    PROGRESS = "progress"  # numbers to compare across ranks
    EXIT = "exit"  # the process in its groups, by exit code or signal
    FROZEN = "frozen"  # the process in its groups did not react
    ABSENT = "absent"  # the ranks that never wrote
    RETRIES = "retries"  # counted
    HINT = "hint"  # the rank in its groups, weakly
    JOB = "job"
    NOBODY = "nobody"


CAUSES = {"code", "config", "data", "oom_gpu", "oom_host", "killed", "crash", "gpu", "network", "storage", "desync"}
CAUSES |= {"hang", "straggler", "numerics", "version", "scheduler", "unknown"}
SEVERITIES = {"info", "warning", "error", "fatal"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """An entry of the library."""

    id: str
    regex: re.Pattern[str]
    keys: tuple[str, ...]  # literals, one of which every match holds; runs of digits written as 0
    meaning: str
    role: Role
    blames: Blames
    severity: str
    cause: str
    stage: str = ""  # the stage this message belongs to whatever the lines around it say
    strong: bool = True
    hardware: bool = False  # evidence from the machine itself
    once: bool = False  # repetitions add nothing
    lasting: bool = False  # its harm stays though the job goes on: something was lost
    secondhand: bool = False  # the writer was told by others: it need not have waited itself
    after: str = ""  # counts only in the lines just after this pattern's
    explains: tuple[str, ...] = ()  # ids that tell the same fact less plainly: they follow from this one
    order: int = 50  # of several matches the lowest counts
    actions: tuple[str, ...] = ()
    reference: str = ""
    samples: tuple[str, ...] = ()
    rejects: tuple[str, ...] = field(default=())
    user: bool = False

    def search(self, text: str) -> re.Match[str] | None:
        """Search the line's first `LONGEST_TEXT` characters."""
        return self.regex.search(text[:LONGEST_TEXT])

    def may_match(self, zeroed: str) -> bool:
        """Tell whether a text with its digits zeroed holds one of the keys."""
        return not self.keys or any(key in zeroed for key in self.keys)


def zero_digits(text: str) -> str:
    """Write every run of digits as one 0."""
    return _DIGITS.sub("0", text)


def parse_pattern(entry: Mapping[str, object], *, user: bool = False) -> Pattern:
    """Read one table of a library file.

    Raises PatternError for a missing or unknown field, a broken regex or an unknown word.
    """
    if not (name := str(entry.get("id") or "")):
        raise PatternError("a pattern has no id")
    if unknown := set(entry) - _FIELDS:
        raise PatternError(f"{name}: unknown field {sorted(unknown)[0]!r}")
    try:
        regex = re.compile(str(entry["pattern"]))
        role, blames = Role(str(entry.get("role", "initiating"))), Blames(str(entry.get("blames", "writer")))
    except KeyError as error:
        raise PatternError(f"{name}: field {error.args[0]!r} is missing") from error
    except (re.error, ValueError) as error:
        raise PatternError(f"{name}: {error}") from error
    cause, severity = _known(entry, "cause", "unknown", CAUSES), _known(entry, "severity", "error", SEVERITIES)
    return Pattern(
        id=name,
        regex=regex,
        keys=tuple(zero_digits(k) for k in _words(entry, "keys")),
        meaning=str(entry.get("meaning", name)),
        role=role,
        blames=blames,
        severity=severity,
        cause=cause,
        stage=str(entry.get("stage", "")),
        strong=entry.get("certainty", "strong") == "strong",
        hardware=entry.get("kind") == "hardware",
        once=bool(entry.get("once", False)),
        lasting=bool(entry.get("lasting", False)),
        secondhand=bool(entry.get("secondhand", False)),
        after=str(entry.get("after", "")),
        explains=_words(entry, "explains"),
        order=int(str(entry.get("order", 0 if user else 50))),
        actions=_words(entry, "actions"),
        reference=str(entry.get("reference", "")),
        samples=_words(entry, "samples"),
        rejects=_words(entry, "not"),
        user=user,
    )


_FIELDS = {"id", "pattern", "keys", "meaning", "role", "blames", "severity", "cause", "stage", "certainty", "kind"}
_FIELDS |= {"once", "secondhand", "lasting", "after", "explains", "order", "actions", "reference", "samples", "not"}


def _known(entry: Mapping[str, object], name: str, usual: str, words: Collection[str]) -> str:
    value = str(entry.get(name, usual))
    if value not in words:
        raise PatternError(f"{entry.get('id')}: unknown {name}")
    return value


def _words(entry: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = entry.get(name, ())
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise PatternError(f"{entry.get('id')}: {name} is not a list")
    return tuple(str(v) for v in value)
