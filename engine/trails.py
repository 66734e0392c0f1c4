"""Trails: what an untagged line is to a text of several lines, and to whom the text may belong (weaving.py).

Python's tracebacks, c10's messages, and what a process prints while it is aborted have a fixed form: from one line to
the next it is known what must follow in the text of the same process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

from l4tui.engine.model import Level, LineClass, Parse

_ADVICE = (
    b"CUDA kernel errors might be asynchronously", b"For debugging consider passing ", b"Compile with `",
    b"HIP kernel errors might be", b"Device-side assertion tracking was not enabled",
)  # fmt: skip
MOST = 1000  # bytes of a message that tell whether a traceback follows
_C10 = frozenset(("c10", "c10-mid"))
_ASSERTED = b"device-side assert triggered"
_TABLE = re.compile(rb"-{5,}$|Failures:$|\[\d+\]:$|\S.{0,400} FAILED$|  \S")
# carets, and the values that loguru, rich and their like draw below a source line
_CARET = re.compile(rb"[ ]{4,}(?:[ ~^]*[~^][ ~^]*$|(?:\xe2\x94\x82 *)*\xe2\x94[\x82\x94](?:$|[ ]))")
# words that promise a traceback, or that tell of a failure which the process survives
_CAUGHT = re.compile(
    rb"\b(?:exceptions?|traceback|uncaught|unhandled|crash(?:ed)?|error (?:in|while|during))\b"
    rb"|\b(?:fail(?:ed|ure|s)?|could not|error)\b.{0,200}"
    rb"\b(?:continuing|ignor(?:ed|ing)|skip(?:ped|ping)|retrying|will retry|anyway)\b",
    re.IGNORECASE,
)


class Trail(IntEnum):
    """What a line is to a text of several lines."""

    NONE = 0
    HEAD = 1  # first line of a c10 message; the rank tag is on it alone
    ADVICE = 2
    RAISED = 3  # "Exception raised from …": frames follow
    FRAME = 4
    BLANK = 5  # between advice and "Exception raised", and behind the last frame
    FAILED = 6  # a HEAD that tells an error: the process may abort next
    DYING = 7  # a HEAD after which the process aborts: its message is repeated by what()
    TERMINATE = 8  # "terminate called …"
    WHAT = 9
    FATAL = 10  # "Fatal Python error: …"
    STACK = 11  # "Thread 0x…"
    OPEN = 12  # "Traceback (most recent call last):"
    FILE = 13
    CODE = 14  # the source line of a FILE; any indented text looks so
    CARET = 15
    ERROR = 16  # the exception: the end of a traceback
    ASSERTION = 17  # printed by a kernel on the device
    ASSERTED = 18  # the failure that a process sees after an ASSERTION
    UNHANDLED = 19  # "Unhandled exception … in proc N."
    CODED = 20  # first line of an Ascend error; indented lines follow
    CONSOLE = 21  # a line of Paddle's launcher, which shows a worker's log on its own output
    CAUGHT = 22  # a logger's line about an exception, whose traceback the same call prints below it
    TABLE = 23  # what may stand in the table that torchrun's agent ends with
    RULE = 24  # the line above and below that table


# texts that the merge reads; of the others the kind is enough
TAGGED = frozenset((Trail.DYING, Trail.CONSOLE))  # of tagged lines, too
OF_AGENT = (Trail.TABLE, Trail.RULE)  # mean nothing unless an agent's table is open
TOLD = frozenset((*TAGGED, Trail.FRAME, Trail.WHAT, Trail.FILE, Trail.CODE, Trail.UNHANDLED))


def trail_of(text: bytes, parse: Parse, line_class: LineClass) -> Trail:
    """Return what a plan's message (or its shape) is; found once per plan."""
    kind = _of_c10(text, parse.formats)
    if kind is Trail.HEAD and b"terminated with exception" in text:
        return Trail.DYING
    if kind is Trail.HEAD and parse.level >= Level.ERROR:
        return Trail.FAILED
    if kind is not Trail.NONE:
        return kind
    if "paddle-launch" in parse.formats or text.startswith(b"Container rank "):
        return Trail.CONSOLE
    if _ASSERTED in text:
        return Trail.ASSERTED
    if b"block: [" in text and b", thread: [" in text and b" Assertion `" in text:
        return Trail.ASSERTION
    if parse.head:
        return _of_header(text, parse)
    return _of_text(text, line_class)


def _of_header(text: bytes, parse: Parse) -> Trail:
    if "ascend-code" in parse.formats:
        return Trail.CODED
    return Trail.CAUGHT if parse.level >= Level.WARNING and _CAUGHT.search(text[:MOST]) else Trail.NONE


def _of_c10(text: bytes, formats: Sequence[str]) -> Trail:
    if text.startswith(b"frame #"):
        return Trail.FRAME
    if text.startswith(b"Exception raised from "):
        return Trail.RAISED
    if text.startswith(_ADVICE):
        return Trail.ADVICE
    if text.startswith((b"terminate called after ", b"terminate called without ")):
        return Trail.TERMINATE
    if text.lstrip().startswith(b"what():"):
        return Trail.WHAT
    return Trail.HEAD if not _C10.isdisjoint(formats) else Trail.NONE


def _of_text(text: bytes, line_class: LineClass) -> Trail:
    """Return what a line without a header is by its own form."""
    if text.startswith(b"Traceback (most recent call last)"):
        return Trail.OPEN
    if text.startswith((b'  File "', b'> File "')) or text.rstrip() == b"  <no Python frame>":
        return Trail.FILE
    if _CARET.match(text):
        return Trail.CARET
    if text.startswith((b"Thread 0x", b"Current thread 0x")):
        return Trail.STACK
    if text.startswith(b"Fatal Python error: "):
        return Trail.FATAL
    if text.startswith(b"Unhandled exception ") and b" in proc " in text:
        return Trail.UNHANDLED
    if not text.strip():
        return Trail.BLANK
    if line_class is LineClass.BODY and text.startswith(b"    "):
        return Trail.CODE
    if line_class is LineClass.RAISED:
        return Trail.ERROR
    if text.startswith(b"=====") and not text.strip(b"="):
        return Trail.RULE
    return Trail.TABLE if _TABLE.match(text) else Trail.NONE
