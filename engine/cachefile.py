"""A file of named arrays and one JSON table: written whole or not at all, checked and mapped when it is opened.

Nothing in it is ever executed: no pickle, only numbers, text and raw memory.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

MAGIC = b"l4tui index 1\n"
SUFFIX = ".l4index"
ALIGN = 4096
PROBES = 16  # pages of every array that the check sum covers
_PAGE = 4096
_TYPES = frozenset({"uint8", "int8", "bool", "uint16", "int16", "uint32", "int32", "int64"})
ABANDONED_S = 3600.0  # a temporary file this old is nobody's

Table = dict[str, object]


class CacheFileError(Exception):
    """A file that is no index of ours, or not a whole one."""


class Contents(NamedTuple):
    """What a file holds; the arrays are mapped and read-only."""

    table: Table
    arrays: dict[str, np.ndarray]


def write(path: Path, table: Table, arrays: Mapping[str, np.ndarray]) -> int:
    """Write atomically and return the bytes; raises OSError, leaving nothing behind."""
    layout, at = [], 0
    for name, array in arrays.items():
        layout.append([name, array.dtype.name, list(array.shape), at])
        at += -(-array.nbytes // ALIGN) * ALIGN
    sums = {name: _probe(array) for name, array in arrays.items()}
    text = json.dumps({"table": table, "layout": layout, "sums": sums, "bytes": at}).encode()
    head = MAGIC + b"%20d%12d\n" % (len(text), zlib.crc32(text)) + text
    head += b"\0" * (-len(head) % ALIGN)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(head)
            for array in arrays.values():
                file.write(_bytes_of(array).data)
                file.write(b"\0" * (-array.nbytes % ALIGN))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return len(head) + at


def read(path: Path) -> Contents:
    """Open a file; raises CacheFileError or OSError when it is not usable."""
    with path.open("rb") as file:
        start = file.read(len(MAGIC) + 33)
        if not start.startswith(MAGIC):
            raise CacheFileError(f"{path}: no index of this version")
        try:
            length, told = int(start[-33:-13]), int(start[-13:])
        except ValueError:
            raise CacheFileError(f"{path}: damaged") from None
        size = os.fstat(file.fileno()).st_size
        text = file.read(length) if 0 <= length <= size else b""
        if len(text) != length or zlib.crc32(text) != told:
            raise CacheFileError(f"{path}: damaged")
        found = json.loads(text)
        base = -(-(len(start) + length) // ALIGN) * ALIGN
        if size != base + found["bytes"]:
            raise CacheFileError(f"{path}: not whole")
        mapped = np.memmap(file, np.uint8, "r") if found["bytes"] else np.zeros(base, np.uint8)
    arrays = {}
    for name, kind, shape, at in found["layout"]:
        if kind not in _TYPES:
            raise CacheFileError(f"{path}: array of {kind}")
        nbytes = int(np.dtype(kind).itemsize * np.prod(shape, dtype=np.int64))
        flat = mapped[base + at : base + at + nbytes]
        array = flat.view(np.ndarray).view(kind).reshape(shape)
        if _probe(array) != found["sums"][name]:
            raise CacheFileError(f"{path}: {name} is damaged")
        arrays[name] = array
    return Contents(found["table"], arrays)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _probe(array: np.ndarray) -> int:
    """Return a check sum over pages spread over an array."""
    raw = _bytes_of(array)
    step = max((len(raw) - _PAGE) // (PROBES - 1), _PAGE)
    total = 0
    for at in range(0, len(raw), step):
        total = zlib.crc32(raw[at : at + _PAGE].data, total)
    return total


def make_room(folder: Path, cap: int, keep: Path) -> None:
    """Remove the indexes used longest ago until all together are no larger than `cap`; `keep` stays."""
    found = []
    for entry in os.scandir(folder):
        try:
            state = entry.stat()
            if entry.name.endswith(SUFFIX):
                found.append((state.st_mtime, state.st_size, Path(entry.path)))
            elif SUFFIX in entry.name and state.st_mtime < time.time() - ABANDONED_S:
                Path(entry.path).unlink(missing_ok=True)
        except OSError:
            continue  # another process was quicker
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= cap:
            return
        if path != keep:
            path.unlink(missing_ok=True)
            total -= size
