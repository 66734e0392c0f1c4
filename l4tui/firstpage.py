"""The last page of a log, printed plainly before anything heavy is loaded: something to read while the app starts."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

BLOCK = 64 * 1024  # bytes read from the end: some 400 lines
CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r\x1b")
TEXT = 0.95  # share of other bytes from which NULs stand in a text
LOOKED_AT = 2_000  # files of a folder that are considered
NO_LOGS = (
    *(".gz", ".zst", ".xz", ".bz2", ".pt", ".safetensors", ".bin"),
    *(".json", ".py", ".sh", ".yaml", ".yml", ".toml"),
)


def show(paths: Sequence[str]) -> None:
    """Print the last page of what was named, if there is a plain file and a terminal; never fails."""
    try:
        if not os.isatty(1):
            return
        chosen = newest_file(paths)
        if chosen is None:
            return
        width, height = os.get_terminal_size(1)
        lines = page(chosen, width, max(height - 1, 1))
        os.write(1, ("\r\n".join(lines) + "\r\n").encode(sys.stdout.encoding or "utf-8", "replace"))
    except OSError:
        return


def newest_file(paths: Sequence[str]) -> str | None:
    """Find the regular file that was written last."""
    best: tuple[float, str] | None = None
    left = LOOKED_AT
    for path in paths:
        for candidate in _files(path):
            left -= 1
            if left < 0:
                break
            try:
                found = Path(candidate).stat()
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode) and found.st_size and (best is None or found.st_mtime > best[0]):
                best = (found.st_mtime, candidate)
    return best[1] if best else None


def _files(path: str) -> list[str]:
    if not Path(path).is_dir():
        return [path]
    with os.scandir(path) as listing:
        names = [(entry.name, entry.path) for entry in listing]
    return [path for name, path in names if not name.startswith(".") and not name.endswith(NO_LOGS)]


def page(path: str, width: int, height: int) -> list[str]:
    """Read the last lines of a file, each made safe and cut to the width."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = os.fstat(fd).st_size
        start = max(size - BLOCK, 0)
        data = os.pread(fd, BLOCK, start)
    finally:
        os.close(fd)
    text = data.replace(b"\0", b"")  # holes that the writer of a cut file left, stray bytes
    if len(text.translate(None, CONTROLS)) < TEXT * len(text) or (not text and data):  # the app says what it is
        return []
    lines = text.split(b"\n")
    if start and len(lines) > 1:
        del lines[0]
    if lines and not lines[-1]:
        lines.pop()
    return [safe(line, width) for line in lines[-height:]]


def safe(line: bytes, width: int) -> str:
    """Make a line printable: its last progress state, no controls, no more characters than cells."""
    text = line.rstrip(b"\r").rpartition(b"\r")[2][: width * 4].decode("utf-8", "replace").expandtabs(8)
    shown = "".join(c if c.isprintable() else "" if c == "\x1b" else "�" for c in text)
    if shown.isascii():
        return shown[:width]
    cells, kept = 0, []
    for char in shown:
        cells += 1 if ord(char) < 0x1100 else 2  # wide at most: a row must never wrap
        if cells > width:
            break
        kept.append(char)
    return "".join(kept)
