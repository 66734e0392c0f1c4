"""What a message is to the record it stands in: found once per plan, from its text alone."""

from __future__ import annotations

import re

from l4tui.engine.model import Level, LineClass, Marker, Parse

READ = 400  # bytes of a message that tell its class
# launchers' texts of several lines: their lines join the frame around them
FRAMED = frozenset({"torchrun-table", "mpirun", "hydra-banner"})

# tqdm and its like (also with a total unknown), rich and pip bars, wget, keras, checkpoint loaders
_BAR = re.compile(
    rb"\d{1,3}%\||\|[ ]*\d+/\d+[ ]*\[\d|(?:^|[: ])\d[\d.]*[kMG]?it \[\d\d:\d\d"
    rb"|(?:\xe2\x94\x81|\xe2\x95\xb8|\xe2\x95\xba|\xe2\x96\x88){3}.{0,80}(?:\d%|\d/|eta|:\d\d)"
    rb"|\d{1,3}%[ ]?\[[=#>. -]*\]|\[[=#>.-]{5,}[ ]*\][ ]?\d{1,3}%|^[ ]*\d+/\d+ \[[=>.]+\]"
    rb"|\d{1,3}% Completed \||^[ ]*\d{1,3}%[ ]*$|^[ \t]*\[[#.=>-]{4,}\][ \t]*$"
)
_OPENS = re.compile(
    rb"(?:[ ]?|[ ]*\+ Exception Group )Traceback \(most recent call last\)"
    rb"|terminate called |Fatal Python error: |\*\*\* (?:Aborted at|SIG[A-Z]+ |Process received signal)"
    rb"|[=]{4,} ?backtrace"
    rb"|(?:\xe2\x95\xad|\xe2\x94\x8c).{0,400}Traceback|C\+\+ (?:Traceback|stack)|Stack trace:"
)
_ANNOUNCES = re.compile(
    rb"Exception in thread |Exception ignored in|Error in (?:atexit|sys\.)|--- Logging error ---"
    rb"|Error executing job with overrides|[\w.]*RemoteTraceback:"
)
_CHAINS = re.compile(
    rb"During handling of the above exception|The above exception was the (?:direct )?cause|Original Traceback "
    rb"|Original exception was:|Current thread 0x|Thread 0x[0-9a-f]+ |Call stack:|'''$|\"\"\"$"
    rb"|Exception raised from .{1,200}\(most recent call first\)"
)
_RAISED = re.compile(
    rb"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Failure|Iteration|ExceptionGroup|Fault)"
    rb"(?:\([\w.]+\))?(?::|[ ]*$)"
)
# text at the left edge that never stands alone: frames of C++ stacks, the rest of a box or object, torch's advice
_CONTINUES = re.compile(
    rb"frame #\d+: |#\d+[ ]+(?:0x|[\w:~]+\()|\[(?:\d+|0x[0-9a-f]+)\]:?$|=[ ]{2,}\S|[)\]}]+[,;]?$"
    rb"|(?:/|\./)[^ ]*\([^)]*\)[ ]?\[0x[0-9a-f]+\]|\(\+0x[0-9a-f]+\)|\[0x[0-9a-f]+\]$"
    rb"|\xe2\x94[\x82\x83\x94\x97\x9c\x9e\xa0\xa1\x98\x9b]|\xe2\x95[\x9a\x9d\xa0\x91\xaf\xb0]|\|.*\|[ ]*$|\+[-=+]{3,}"
    rb"|CUDA kernel errors might be asynchronously|For debugging consider passing |Compile with `"
    rb"|Device-side assertion |nccl[A-Z]\w+Error: |Last error:|what\(\): "
    rb"|This is typically caused by a remote worker|HIP kernel errors might"
    rb"|Extension modules: |\[Previous line repeated|Solution: |\^+$|<\w+>[^ ]*$"
)
_RULE = re.compile(rb"(?:={8,}|\*{8,})$")
_BANNER = re.compile(rb"-{74}$")
_FRAME = re.compile(rb'[ ]{2,}File "')


def is_progress(text: bytes) -> bool:
    """Tell whether a message is a state of a progress bar."""
    return _BAR.search(text[:READ]) is not None


def classify(text: bytes, parse: Parse) -> LineClass:
    """Return what a message is to its record.

    Args:
        text: the message: what follows the prefixes and headers.
        parse: of the whole line.
    """
    head = text[:READ]
    bare = head.rstrip(b" \t\r")
    if _OPENS.match(head):
        return LineClass.TRACEBACK
    if parse.launcher and FRAMED.isdisjoint(parse.formats) and (parse.head or not _is_body(head, bare, parse)):
        return LineClass.ASIDE
    if parse.head:
        return _of_header(head, bare, parse)
    if not bare:
        return LineClass.BLANK
    if is_progress(head):
        return LineClass.PROGRESS
    if _ANNOUNCES.match(bare):
        return LineClass.ANNOUNCE
    if _CHAINS.match(bare):
        return LineClass.CHAIN
    if _RULE.match(bare):
        return LineClass.RULE
    if _BANNER.match(bare):
        return LineClass.BANNER
    if _is_body(head, bare, parse):
        return LineClass.BODY
    return LineClass.RAISED if _RAISED.match(bare) else LineClass.PLAIN


def _is_body(head: bytes, bare: bytes, parse: Parse) -> bool:
    indented = head[:2] == b"  " or head[:1] == b"\t"
    return (indented and parse.marker == Marker.NONE) or _CONTINUES.match(bare.lstrip(b" ")) is not None


def _of_header(head: bytes, bare: bytes, parse: Parse) -> LineClass:
    """Class a line with a logging header: some loggers repeat it on every line of a traceback."""
    if not bare and parse.level == Level.NONE:
        return LineClass.STAMP
    if _FRAME.match(head):
        return LineClass.BODY
    return LineClass.FAILED if parse.level >= Level.ERROR else LineClass.HEAD
