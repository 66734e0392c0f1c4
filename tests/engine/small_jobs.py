"""Small jobs written by us, read whole or piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from l4tui.engine.discovery import discover
from l4tui.engine.job import Job


def stamp(seconds: float) -> str:
    """Write a time of day on the day of all small jobs."""
    return f"2026-03-01 10:{int(seconds) // 60:02d}:{int(seconds) % 60:02d},{round(seconds % 1 * 1000):03d}"


def trainer(
    steps: int, ranks: int = 4, odd: Callable[[int, int], list[str]] | None = None, leads: int = 0
) -> Iterator[str]:
    """Yield a healthy job's labelled lines; `odd` adds messages of (step, rank), `leads` prints the step lines."""
    for r in range(ranks):
        yield f"{r}: {stamp(r / 100)} - INFO - model.py:10 - building model on device {r}"
    for step in range(1, steps + 1):
        for r in range(ranks):
            at = stamp(step + r / 100)
            if r == leads:
                yield f"{r}: {at} - INFO - train.py:20 - step {step}/{steps} | loss {3 - step / 100:.3f} | lr 1.0e-04"
            yield f"{r}: {at} - DEBUG - train.py:22 - step {step} local loss {3 - step / 100 + r / 1000:.4f}"
            for text in odd(step, r) if odd else ():
                yield text if text.startswith(f"{r}:") else f"{r}: {at} - {text}"


def read(path: Path, lines: list[str] | Iterator[str] | None = None) -> Job:
    """Write lines to a file, if given, and read it, or the files of a folder, as one job."""
    if lines is not None:
        path.write_text("".join(f"{line}\n" for line in lines))
    job = Job(discover([str(path)]).whole().sources)
    job.read_all()
    return job


class Growing:
    """A job whose files grow between readings."""

    def __init__(self, folder: Path, names: tuple[str, ...] = ("job.log",)) -> None:
        self._paths = [folder / name for name in names]
        for path in self._paths:
            path.write_text("# log\n")
        self.job = Job(discover([str(folder)]).whole().sources)
        self.job.read_all(final=False)

    def add(self, text: str, file: int = 0) -> None:
        """Append text and read it."""
        with self._paths[file].open("a") as out:
            out.write(text)
        self.job.read_all(final=False)
