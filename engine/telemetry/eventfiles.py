"""TensorBoard's event files, written and read without TensorFlow.

A file is a row of records: uint64 length, CRC of it, a serialised `Event`, CRC of that (CRC-32C, masked), as described
in tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from l4tui.engine.model import UNKNOWN
from l4tui.engine.telemetry.curves import Curve

MARK = "events.out.tfevents"
LONGEST = 1 << 26  # bytes of a record that is read; a longer length is not believed
_POLYNOMIAL = 0x82F63B78
_HEAD = 12
_FOOT = 4

Bytes = NDArray[np.uint8]


def _table() -> NDArray[np.uint32]:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, (values >> np.uint32(1)) ^ np.uint32(_POLYNOMIAL), values >> np.uint32(1))
    return values


_TABLE = _table()
_LIST: list[int] = _TABLE.tolist()


def masked_crc(data: bytes) -> int:
    """Return the masked CRC-32C of bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _LIST[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _masked_crcs(rows: Bytes) -> NDArray[np.uint32]:
    """Return the masked CRC-32C of every row of a matrix."""
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in rows.T:
        crc = _TABLE[(crc ^ column) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    crc ^= np.uint32(0xFFFFFFFF)
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)


def _record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    return length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event))


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


class EventWriter:
    """Appends scalars to one new event file."""

    def __init__(self, folder: Path, wall_time: float, suffix: str = "l4tui") -> None:
        """Create the file; wall_time (seconds) stands in its name and its first record."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{MARK}.{int(wall_time):010d}.{suffix}"
        self._file: BinaryIO = self.path.open("wb")
        self._file.write(_record(b"\x09" + struct.pack("<d", wall_time) + _field(3, b"brain.Event:2")))

    def add(
        self, tag: str, step: NDArray[np.int64], wall_time: NDArray[np.float64], value: NDArray[np.float64]
    ) -> None:
        """Append the points of one tag in this order; steps ≥ 0, times in seconds."""
        widths = np.ones(len(step), np.int64)
        for bits in range(7, 63, 7):
            widths += step >= (1 << bits)
        at = 0
        for run in np.split(np.arange(len(step)), np.flatnonzero(np.diff(widths)) + 1):
            if len(run):
                self._file.write(_rows(tag, step[run], wall_time[run], value[run], int(widths[at])))
                at += len(run)

    def flush(self) -> None:
        """Let readers see what was added."""
        self._file.flush()

    def close(self) -> None:
        """End the file."""
        self._file.close()


def _rows(
    tag: str, step: NDArray[np.int64], wall: NDArray[np.float64], value: NDArray[np.float64], width: int
) -> bytes:
    """Return records of one tag whose steps have one width as varints."""
    name = tag.encode()
    summary = _field(5, _field(1, _field(1, name) + b"\x15" + bytes(4)))
    event = b"\x09" + bytes(8) + b"\x10" + bytes(width) + summary
    rows = np.tile(np.frombuffer(event, np.uint8), (len(step), 1))
    rows[:, 1:9] = wall.astype("<f8").view(np.uint8).reshape(-1, 8)
    for k in range(width):
        more = 0x80 if k + 1 < width else 0
        rows[:, 10 + k] = (step >> (7 * k)) & 0x7F | more
    with np.errstate(over="ignore"):
        rows[:, -4:] = value.astype("<f4").view(np.uint8).reshape(-1, 4)
    length = struct.pack("<Q", len(event))
    head = np.frombuffer(length + struct.pack("<I", masked_crc(length)), np.uint8)
    foot = _masked_crcs(rows).astype("<u4").view(np.uint8).reshape(-1, 4)
    return np.hstack([np.tile(head, (len(step), 1)), rows, foot]).tobytes()


class Scalar(NamedTuple):
    """One value of an event file."""

    tag: str
    step: int
    wall_time: float
    value: float


class EventFile:
    """An event file that may still grow; `read` returns what was added since."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.at = 0  # bytes read
        self.is_broken = False  # a record did not match its CRC: nothing is read behind it

    def read(self) -> Iterator[Scalar]:
        """Yield the scalars of all whole records behind the last one read; a torn last record waits."""
        if self.is_broken:
            return
        with self.path.open("rb") as file:
            file.seek(self.at)
            while len(head := file.read(_HEAD)) == _HEAD:
                length, crc = struct.unpack("<QI", head)
                if length > LONGEST or masked_crc(head[:8]) != crc:
                    self.is_broken = True
                    return
                body = file.read(length + _FOOT)
                if len(body) < length + _FOOT:
                    return
                if masked_crc(body[:-_FOOT]) != struct.unpack("<I", body[-_FOOT:])[0]:
                    self.is_broken = True
                    return
                self.at += _HEAD + length + _FOOT
                yield from _scalars(body[:-_FOOT])


def curves_of(path: str | Path) -> tuple[Curve, ...]:
    """Read an event file as curves, a curve per tag; what is torn or broken at its end is left out."""
    rows: dict[str, tuple[list[int], list[float], list[float]]] = {}
    for scalar in EventFile(path).read():
        steps, times, values = rows.setdefault(scalar.tag, ([], [], []))
        steps.append(scalar.step)
        times.append(scalar.wall_time)
        values.append(scalar.value)
    return tuple(
        Curve(tag, "", None, UNKNOWN, _ns(times), np.array(steps, np.int64), np.array(values, np.float64))
        for tag, (steps, times, values) in rows.items()
    )


def _ns(seconds: list[float]) -> NDArray[np.int64]:
    times = np.nan_to_num(np.array(seconds, np.float64), nan=0.0)
    ns: NDArray[np.int64] = (np.clip(times, -9e9, 9e9) * 1e9).astype(np.int64)
    return ns


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield field number and value of a message: a number for varints, bytes for all else; ends where it is broken."""
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == 0:
            number, at = _read_varint(data, at)
            yield key >> 3, number
            continue
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind == 2:
            size, at = _read_varint(data, at)
        if (not size and kind != 2) or at + size > end:
            return
        yield key >> 3, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return value, len(data)


def _scalars(event: bytes) -> Iterator[Scalar]:
    wall, step, summary = 0.0, 0, b""
    for number, value in _fields(event):
        if number == 1 and isinstance(value, bytes) and len(value) == 8:
            wall = struct.unpack("<d", value)[0]
        elif number == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >> 63 else value
        elif number == 5 and isinstance(value, bytes):
            summary = value
    for number, value in _fields(summary):
        if number == 1 and isinstance(value, bytes):
            tag, found = _value(value)
            if found is not None:
                yield Scalar(tag, min(step, 2**62), wall, found)


def _value(data: bytes) -> tuple[str, float | None]:
    tag, found = "", None
    for number, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif number == 2 and isinstance(value, bytes) and len(value) == 4:
            found = float(struct.unpack("<f", value)[0])
        elif number == 8 and isinstance(value, bytes):
            found = _tensor(value)
    return tag, found


_DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}  # DT_FLOAT DOUBLE INT32 INT64 HALF
_PACKED = {5: "<f4", 6: "<f8"}  # float_val, double_val


def _tensor(data: bytes) -> float | None:
    """Return the value of a TensorProto with one element, None for others."""
    dtype, found = 0, None
    for number, value in _fields(data):
        if number == 1 and isinstance(value, int):
            dtype = value
        elif number == 4 and isinstance(value, bytes):
            kind = _DTYPES.get(dtype)
            if kind and len(value) == np.dtype(kind).itemsize:
                found = float(np.frombuffer(value, kind)[0])
        elif number in _PACKED and isinstance(value, bytes) and len(value) == int(_PACKED[number][2]):
            found = float(np.frombuffer(value, _PACKED[number])[0])
        elif number in (7, 10):  # int_val, int64_val: one number, packed or not
            number_, at = _read_varint(value, 0) if isinstance(value, bytes) else (value, 0)
            if not isinstance(value, bytes) or at == len(value):
                found = float(number_ - (1 << 64) if number_ >> 63 else number_)
    return found
