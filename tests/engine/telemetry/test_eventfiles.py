"""Event files: what is written is what is read, by our reader and by TensorBoard's own."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from l4tui.engine.telemetry.eventfiles import EventFile, EventWriter, curves_of, masked_crc

STEPS = np.array([0, 1, 127, 128, 20_000, 3_000_000_000])
VALUES = np.array([1.5, -2.25, 0.0, 1e-3, np.inf, 12.03115])


def write(folder: Path) -> Path:
    writer = EventWriter(folder, 1_700_000_000.0)
    writer.add("lm loss", STEPS, 1_700_000_000.5 + np.arange(6), VALUES)
    writer.add("lr", STEPS[:1], np.array([1_700_000_001.0]), np.array([np.nan]))
    writer.close()
    return writer.path


def test_the_crc_is_castagnolis() -> None:
    crc = 0xE3069283  # of "123456789", RFC 3720
    assert masked_crc(b"123456789") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def test_what_is_written_is_read(tmp_path: Path) -> None:
    curves = {curve.name: curve for curve in curves_of(write(tmp_path))}
    loss = curves["lm loss"]
    assert loss.step.tolist() == STEPS.tolist()
    np.testing.assert_array_equal(loss.value, VALUES.astype(np.float32))
    assert loss.time[1] - loss.time[0] == 10**9
    assert np.isnan(curves["lr"].value).all()


def test_a_torn_tail_waits_and_a_broken_record_ends(tmp_path: Path) -> None:
    path = write(tmp_path)
    whole = path.read_bytes()
    for cut in range(1, 80, 7):
        path.write_bytes(whole[:-cut])
        file = EventFile(path)
        before = len(list(file.read()))
        assert before < 7 and not file.is_broken
        path.write_bytes(whole)
        assert before + len(list(file.read())) == 7
    path.write_bytes(whole[:100] + b"\xff" + whole[101:])
    assert len(list(EventFile(path).read())) < 7
    path.write_bytes(b"\xff" * 4096)
    assert list(EventFile(path).read()) == []


def test_tensor_scalars_are_read(tmp_path: Path) -> None:
    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    tensors = {
        "float": b"\x08\x01" + field(5, struct.pack("<f", 1.5)),
        "double": b"\x08\x02" + field(4, struct.pack("<d", 2.5)),
        "int": b"\x08\x03" + b"\x38\x07",
        "vector": b"\x08\x01" + field(5, struct.pack("<2f", 1, 2)),
    }
    out = b""
    for tag, tensor in tensors.items():
        event = b"\x10\x05" + field(5, field(1, field(1, tag.encode()) + field(8, tensor)))
        length = struct.pack("<Q", len(event))
        out += length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event))
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(out)
    assert {c.name: (c.step.tolist(), c.value.tolist()) for c in curves_of(path)} == {
        "float": ([5], [1.5]), "double": ([5], [2.5]), "int": ([5], [7.0]),
    }  # fmt: skip


READ = """
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator, SCALARS, TENSORS
acc = EventAccumulator(sys.argv[1], size_guidance={SCALARS: 0, TENSORS: 0}); acc.Reload()
for tag in acc.Tags()["scalars"]:
    for e in acc.Scalars(tag): print(tag, e.step, e.wall_time, e.value, sep="\\t")
"""


def test_tensorboards_own_reader_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    write(tmp_path)
    done = subprocess.run([sys.executable, "-c", READ, str(tmp_path)], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    loss = [row for row in rows if row[0] == "lm loss"]
    assert [int(row[1]) for row in loss] == STEPS.tolist()
    np.testing.assert_array_equal([float(row[3]) for row in loss], VALUES.astype(np.float32))
