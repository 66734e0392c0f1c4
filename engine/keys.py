"""Keys and shapes: what is left of a line when its digits, and what else varies, are taken out."""

from __future__ import annotations

import re

import numpy as np

from l4tui.engine.digits import Bytes

DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_SMALL = 4096  # bytes up to which Python's own translation is faster
_LARGE = 8 << 20  # and above which memory is not kept
_HELD = 512  # keys of which one is kept; bytes from which Python leaves an object to the system
LONGEST_KEY = 2048  # bytes of a line that tell it apart; what follows is data

_RUN = re.compile(rb"0+")
# A number with its sign, fraction, exponent and thousands; letters that touch it stay (fp16, H100, cuda:0).
_NUMBER = re.compile(rb"(?<![\w.])[-+]?0+(?:,0{3})*(?:\.0+)?(?:[eE][-+]?0+)?(?![\w.]*[A-Za-z_])|0+")
# Text that is new in nearly every line although it means the same thing. A token without any digit is prose.
VOLATILE = re.compile(
    rb"0x[0-9a-fA-F]{4,}"
    rb"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    rb"|(?<![\w.])(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}(?!\w|[-+]\d|\.\d)"  # no part of 1.0416666e-05
    rb"|\b(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])[A-Za-z0-9+/_-]{24,}={0,2}"
)
CROWD = b"\0crowd "  # begins the key of a plan that lines of different words share
PLACEHOLDER = b"\x01"  # no tidy line of a sane log holds it


class Keys:
    """Takes blocks apart into keys, in memory that it keeps from block to block.

    Fresh pages cost more than what is written into them: without this splitting takes nearly twice as long.
    """

    def __init__(self) -> None:
        self._worth = np.empty(0, np.uint8)
        self._is_digit = np.empty(0, np.bool_)
        self._longest = 0
        self._held: list[bytes] = []  # one object in each of the arenas that Python would else give back and ask for

    def zeroed(self, block: bytes) -> Bytes:
        """Return a block with its digits as 0; it stands until the next one."""
        if not _SMALL < len(block) <= _LARGE:
            return np.frombuffer(block.translate(DIGITS_TO_ZERO), np.uint8)
        if len(block) > len(self._worth):
            self._worth, self._is_digit = np.empty(len(block), np.uint8), np.empty(len(block), np.bool_)
        raw = np.frombuffer(block, np.uint8)
        worth, is_digit = self._worth[: len(raw)], self._is_digit[: len(raw)]
        np.subtract(raw, 48, out=worth)  # 0 to 9 for digits, more for all others
        np.less(worth, 10, out=is_digit)
        np.multiply(worth, is_digit.view(np.uint8), out=worth)
        np.subtract(raw, worth, out=worth)
        return worth  # a quarter of what translate costs

    def of(self, zeroed: Bytes) -> list[bytes]:
        """Return every line of a block of whole lines whose digits are 0."""
        keys = zeroed.tobytes().split(b"\n")
        keys.pop()
        if len(zeroed) > self._longest:
            self._longest = len(zeroed)
            self._held = [key for key in keys[::_HELD] if len(key) < _HELD]
        return keys


def key_of(line: bytes) -> bytes:
    """Return the line with every digit as 0, at most LONGEST_KEY bytes of it."""
    return line[:LONGEST_KEY].translate(DIGITS_TO_ZERO)


def volatile_key(line: bytes) -> tuple[bytes, int]:
    """Return the key with volatile tokens masked, and the offset of the first one (-1: there is none).

    Offsets before it hold for every line of the key, offsets behind it do not.
    """
    line = line[:LONGEST_KEY]
    first = VOLATILE.search(line)
    if first is None:
        return line.translate(DIGITS_TO_ZERO), -1
    return VOLATILE.sub(PLACEHOLDER, line).translate(DIGITS_TO_ZERO), first.start()


def shape_of(key: bytes) -> bytes:
    """Return the key with its numbers collapsed: what Drain and the consensus call the same text."""
    return _NUMBER.sub(b"0", key).replace(PLACEHOLDER, b"0x0")


def collapse(key: bytes) -> bytes:
    """Return the key with runs of zeros as one: equal for every width of the same numbers."""
    return _RUN.sub(b"0", key)
