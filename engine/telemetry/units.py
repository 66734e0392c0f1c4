"""Units that stand behind numbers or in the brackets behind their names."""

from __future__ import annotations

import re

_WORDS = (
    "ns us µs ms s sec secs second seconds min mins minutes h hours "
    "B KB kB MB GB TB KiB MiB GiB TiB bytes "
    "bps Kbps Mbps Gbps Gb TFLOP TFLOPs TFLOPS tflops GFLOPS PFLOPS "
    "W kW mW Watt Watts J kJ V mV A C degC °C MHz GHz Mhz mhz Hz rpm K k M G T x"
)
UNITS = frozenset(_WORDS.split()) | {"%"}
_COUNTED = "it|iter|iters|step|steps|tok|tokens?|samples?|sequences?|imgs?|images?|examples?|batch|batches|rows?|words?"
_RATE = re.compile(
    rf"(?i:{_COUNTED}|[a-z]{{0,2}}b|bytes?|[ptgmk]?flops?|ms|s|sec|us|ops?|files?|frames?|graphs?|[a-z]{{2,12}})"
    rf"(?:/(?i:s|sec|seconds?|ms|min|h|{_COUNTED}|gpus?|devices?|ranks?|nodes?|chips?)){{1,3}}"
)


def is_unit(word: str) -> bool:
    """Tell whether a word is a unit: ms, GiB, tok/s, TFLOP/s/GPU, %."""
    return word in UNITS or (len(word) <= 40 and "/" in word and _RATE.fullmatch(word) is not None)
