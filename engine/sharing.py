"""Arrays that another process of ours can map instead of being sent.

Their memory (or file) has no name: the kernel frees it with its last user, however that one ends. Where a system has no
such memory arrays are ordinary ones, and are sent.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NamedTuple

import numpy as np

_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE: Python has no name for it
LEAST = 1 << 20  # bytes from which an array is worth a descriptor of its own

_descriptors: weakref.WeakKeyDictionary[mmap.mmap, int] = weakref.WeakKeyDictionary()


class Window(NamedTuple):
    """Where an array stands in what a descriptor opens."""

    dtype: str
    length: int
    offset: int  # bytes


def shared(room: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Return an array whose memory can be mapped elsewhere; an ordinary one where it is small or cannot be had."""
    size = room * dtype.itemsize
    if size < LEAST or not hasattr(os, "memfd_create"):
        return np.empty(room, dtype)
    try:
        descriptor = os.memfd_create("l4tui")
    except OSError:  # no more descriptors
        return np.empty(room, dtype)
    try:
        os.ftruncate(descriptor, size)
        array: np.ndarray = np.ndarray(room, dtype, mmap.mmap(descriptor, size))
        remember(array, descriptor)
        return array
    except OSError:
        return np.empty(room, dtype)
    finally:
        os.close(descriptor)


def touch(array: np.ndarray, begin: int, end: int) -> None:
    """Make the pages of some values ready to be written: asked for together they cost less than met one by one."""
    memory = _root(array)[1]
    if isinstance(memory, mmap.mmap) and len(memory) == array.nbytes:
        first = begin * array.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
        with contextlib.suppress(OSError, ValueError):  # Linux from 5.14 on
            memory.madvise(_POPULATE_WRITE, first, min(end * array.itemsize, array.nbytes) - first)


def remember(array: np.ndarray, descriptor: int) -> None:
    """Keep what an array is a map of, as long as the map lasts."""
    memory = _root(array)[1]
    own = os.dup(descriptor)
    _descriptors[memory] = own
    weakref.finalize(memory, os.close, own)


def window_of(array: np.ndarray) -> tuple[int, Window] | None:
    """Return descriptor and place of an array that can be mapped elsewhere."""
    root, memory = _root(array)
    if not isinstance(memory, mmap.mmap) or memory not in _descriptors or not array.flags.c_contiguous:
        return None
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return _descriptors[memory], Window(array.dtype.str, len(array), offset)


def send_arrays(pipe: Connection, arrays: dict[str, np.ndarray], pid: int) -> dict[str, np.ndarray]:
    """Hand arrays over to the process at the other end; return those that nothing can map: they have to be sent."""
    large = {name: array for name, array in arrays.items() if array.nbytes >= LEAST}
    windows: dict[str, tuple[int, Window]] = {}
    kept = []  # until the other end has them
    for name, array in large.items():
        found = window_of(array)
        if found is None:
            copy = shared(len(array), array.dtype)
            copy[:] = array  # without the interpreter's lock
            kept.append(copy)
            found = window_of(copy)
        if found is not None:
            windows[name] = found
    pipe.send({name: window for name, (_, window) in windows.items()})
    for descriptor, _ in windows.values():
        send_handle(pipe, descriptor, pid)
    return {name: array for name, array in arrays.items() if name not in windows}


def receive_arrays(pipe: Connection) -> dict[str, np.ndarray]:
    """Map what the other end hands over; it must not be written to."""
    windows: dict[str, Window] = pipe.recv()
    out: dict[str, np.ndarray] = {}
    for name, window in windows.items():
        descriptor = recv_handle(pipe)
        try:
            memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
        finally:
            os.close(descriptor)
        out[name] = np.frombuffer(memory, window.dtype, window.length, window.offset)
    return out


def _root(array: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return the array that an array is a part of in the end, and what holds its memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array, array.base
