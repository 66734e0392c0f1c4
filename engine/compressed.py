"""Compressed logs: recognised by their first bytes, inflated once, as far as somebody reads.

A page of gzip, xz, bzip2 or zstd cannot be had without everything before it, so the text goes piece by piece into
a spill file while it is read, and every later page is a pread. Nothing is inflated ahead of the reader.
"""

from __future__ import annotations

import bz2
import contextlib
import importlib
import lzma
import math
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

from l4tui.engine.descriptors import SourceError
from l4tui.engine.spill import Spill

MAGIC = {b"\x1f\x8b\x08": "gz", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2"}
SUFFIXES = (".gz", ".zst", ".xz", ".bz2")
CHUNK = 1 << 20
FINE = 1 << 9  # bytes of text at a time where the next ones are broken


class Inflater(Protocol):
    """What bz2, lzma and zstd of the standard library share; gzip is brought into this form below."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def kind_of(head: bytes) -> str:
    """Return gz, zst, xz or bz2 for a file that begins with `head`, else ""."""
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")


def inflate(file: IO[bytes], kind: str) -> Iterator[bytes]:
    """Yield the text in pieces of at most CHUNK bytes; raises SourceError for missing or broken input."""
    kinds: dict[str, Callable[[], Inflater]] = {"gz": _Gzip, "xz": lzma.LZMADecompressor, "bz2": bz2.BZ2Decompressor}
    new = kinds[kind] if kind in kinds else _zstd()
    done = 0
    try:
        for text in _inflate_members(file, new):
            done += len(text)
            yield text
    except SourceError:
        raise
    except Exception as error:  # each library has its own class for broken data
        if kind != "bz2":  # a block of which is either whole or nonsense
            yield from _up_to_the_fault(file, new, done)
        raise SourceError(f"{kind} data are broken: {error}") from error


def _up_to_the_fault(file: IO[bytes], new: Callable[[], Inflater], done: int) -> Iterator[bytes]:
    """Yield what stands between the text that was had and the fault: a library keeps it to itself when it fails."""
    file.seek(0)
    have = 0
    with contextlib.suppress(Exception):
        for text in _inflate_members(file, new, done):
            have += len(text)
            if have > done:
                yield text[max(len(text) - (have - done), 0) :]


def _inflate_members(file: IO[bytes], new: Callable[[], Inflater], coarse: float = math.inf) -> Iterator[bytes]:
    """Yield the text, in small pieces once there are `coarse` bytes of it."""
    inflater = new()
    data = file.read(CHUNK)
    begun = False
    have = 0
    while data or not inflater.needs_input:
        text = inflater.decompress(data, CHUNK if have < coarse else FINE)
        begun = True
        data = b""
        if text:
            have += len(text)
            yield text
        if inflater.eof:  # files may be several members in a row, padded with zeros
            data = (inflater.unused_data or file.read(CHUNK)).lstrip(b"\0")
            inflater, begun = new(), False
        elif inflater.needs_input:
            data = file.read(CHUNK)
    if begun and not inflater.eof:
        raise SourceError("compressed data end early")


class _Zstandard:
    """The package zstandard in the form of the standard library's decompressors."""

    SLICE = 2048  # input bytes at a time: the package bounds no output, and four bytes may stand for 128 kB

    def __init__(self) -> None:
        try:
            module = importlib.import_module("zstandard")
        except ImportError:
            raise SourceError("reading .zst needs the package zstandard: pip install 'l4tui[zstd]'") from None
        self._inner = module.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        self._data = b""
        self._at = 0

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def needs_input(self) -> bool:
        return self._at >= len(self._data)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data) + self._data[self._at :]

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if data:
            self._data, self._at = self._data[self._at :] + data, 0
        pieces, size = [], 0
        while size < max_length and not self.needs_input and not self.eof:
            piece = self._data[self._at : self._at + self.SLICE]
            self._at += len(piece)
            pieces.append(self._inner.decompress(piece))
            size += len(pieces[-1])
        return b"".join(pieces)


def _zstd() -> Callable[[], Inflater]:
    try:  # Python 3.14
        found: Callable[[], Inflater] = importlib.import_module("compression.zstd").ZstdDecompressor
    except ImportError:
        return _Zstandard
    return found


class Inflation:
    """Fills a spill from a compressed file whenever its reader asks for more."""

    def __init__(self, path: str, kind: str, spill: Spill) -> None:
        self._file: IO[bytes] | None = Path(path).open("rb", buffering=0)  # noqa: SIM115 - until the end is read
        self._pieces = inflate(self._file, kind)
        self._spill = spill
        self._packed, self._taken = Path(path).stat().st_size, 0  # bytes of the file, and those read
        self._turn = threading.Lock()
        self.is_final = False
        self.problem = ""
        self.on_data: Callable[[], None] | None = None

    @property
    def dropped_lines(self) -> int:
        return self._spill.dropped_lines

    @property
    def kept_lines(self) -> int:
        return self._spill.lines

    @property
    def expected(self) -> int:
        """Estimate the whole text's bytes from the share of the packed ones that has been read."""
        have = self._spill.size
        return have if self.is_final else max(have * self._packed // max(self._taken, 1), have + 1)

    def more(self, have: int, timeout: float) -> bool:
        """Inflate one piece; `timeout` is not needed, the text is there."""
        del timeout
        with self._turn:
            while not self.is_final and self._spill.size <= have:
                try:
                    self._spill.append(next(self._pieces))
                    self._taken = self._file.tell() if self._file is not None else self._packed
                    self.problem = self._spill.problem
                except StopIteration:
                    self.close()
                except SourceError as error:
                    self.problem = str(error)
                    self.close()
        return self._spill.size > have

    def close(self) -> None:
        """Stop inflating."""
        self.is_final = True
        if self._file is not None:
            self._file.close()
            self._file = None
