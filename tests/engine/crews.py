"""What the processes of a job write and how they mix, for tests of forms in which they tell their rank."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Form = Callable[[int, str, int], str]  # rank, text, number of the line → line
CRASH = ("Traceback (most recent call last):", '  File "/srv/jobs/fit.py", line 61, in turn', "ValueError: odd")


def clock(k: int) -> str:
    return f"2026-11-29 10:{k // 60 % 60:02}:{k % 60:02}"


def said(n: int, led: bool, seed: int = 3) -> list[tuple[int, str]]:
    """Return (rank, text) in a job's order: all say each step, or (`led`) mostly rank 0."""
    race = Random(seed)
    draw, norm = race.randrange, race.random
    out: list[tuple[int, str]] = []

    def everybody(text: Callable[[int], str]) -> None:
        turns = [(r, text(r)) for r in range(n)]
        race.shuffle(turns)
        out.extend(turns)

    everybody(lambda r: f"up with pid {4000 + 7 * r}")
    everybody(lambda r: "reading corpus /srv/corpus")
    everybody(lambda r: f"read {900 + r} files in 2.{r} s")
    for step in range(60 if led else 14):
        if led:
            out.append((0, f"step {step} loss {2.4 - step / 100:.3f} words/s {draw(9000, 9900)}"))
        else:
            everybody(lambda r, s=step: f"step {s} loss {2.4 - s / 100:.2f}{draw(10, 99)} norm {norm():.2f}")
        if step % 5 == 4:
            everybody(lambda r: f"gathered in {norm():.3f} s")
    everybody(lambda r: "shard written")
    return out


def job(form: Form, n: int = 8, led: bool = False, every: bool = False) -> list[tuple[str, int | None]]:
    """Return (line, rank) of a job; a traceback ends it, tagged too where `every` line is (None: not told)."""
    lines: list[tuple[str, int | None]] = [(form(r, text, k), r) for k, (r, text) in enumerate(said(n, led))]
    bad = n - 1
    return lines + [(form(bad, text, len(lines)), bad) if every else (text, None) for text in CRASH]
