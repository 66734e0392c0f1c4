"""Arrays that are mapped elsewhere: the same values, parts of parts, and descriptors that end with their arrays."""

from __future__ import annotations

import gc
import multiprocessing
import os
import tempfile
from multiprocessing.connection import Connection

import numpy as np
import pytest

from l4tui.engine.sharing import LEAST, receive_arrays, remember, send_arrays, shared, window_of

MANY = LEAST // 8
pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no memory without a name")


def sums(pipe: Connection) -> None:
    mapped = receive_arrays(pipe)
    pipe.send({name: (int(array.sum()), len(array), array.flags.writeable) for name, array in mapped.items()})


def test_the_other_process_reads_the_same_values() -> None:
    whole = shared(2 * MANY, np.dtype(np.int64))
    whole[:] = np.arange(2 * MANY)
    with tempfile.TemporaryFile() as file:
        on_disk = np.memmap(file, np.int64, "w+", shape=(MANY,))
        remember(on_disk, file.fileno())
    on_disk[:] = 2
    arrays = {"part": whole[5:][: MANY + 7], "ordinary": np.ones(MANY), "file": on_disk[:], "small": np.arange(3)}
    assert window_of(arrays["part"]) is not None and window_of(arrays["file"]) is not None
    assert window_of(arrays["ordinary"]) is None
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=sums, args=(theirs,), daemon=True)
    process.start()
    left = send_arrays(ours, arrays, process.pid or 0)
    assert list(left) == ["small"]
    part = arrays["part"]
    told = {"part": int(part.sum()), "ordinary": MANY, "file": 2 * MANY}
    assert ours.recv() == {name: (total, len(arrays[name]), False) for name, total in told.items()}
    process.join()


def test_a_descriptor_ends_with_the_last_view() -> None:
    array = shared(MANY, np.dtype(np.int64))
    view = array[3:]
    descriptor, _ = window_of(view) or (-1, None)
    del array
    gc.collect()
    os.fstat(descriptor)
    del view
    gc.collect()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(descriptor)


def test_small_arrays_are_ordinary() -> None:
    assert window_of(shared(8, np.dtype(np.int32))) is None
