"""Where lines end up: file and tag of each writer, as the launchers really do it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

import numpy as np

from l4tui.demo.job import DMESG, LAUNCHER, Job, Line

NOBODY = -1  # a line of no rank
UNSAID = -2  # a line that does not tell its rank
TORN = -3  # a line of several ranks
KEPT = 400_000  # lines of a file whose writers are kept for the truth file
_TELLS = re.compile(r"\[(rank ?|Rank )\d+\]|\"rank\": \d|NCCL INFO comm .* rank \d+ ")


class Layout(ABC):
    """Places lines of a job into files; remembers who wrote which line."""


    def __init__(self, job: Job) -> None:
        self.job = job
        self.writers: dict[str, array[int]] = defaultdict(lambda: array("i"))
        self.torn: dict[tuple[str, int], list[int]] = {}  # (file, line from 0): ranks
        self.lines: dict[str, int] = defaultdict(int)
        self._places: dict[tuple[int, bool], tuple[str, str]] = {}

    @abstractmethod
    def file(self, writer: int, stderr: bool) -> str:
        """Name the file a writer's lines go to."""

    def tag(self, writer: int, stderr: bool) -> str:
        return ""

    def place_of(self, writer: int, stderr: bool) -> tuple[str, str]:
        key = (writer, stderr)
        if key not in self._places:
            if writer <= DMESG:
                self._places[key] = (f"dmesg-{self.job.hosts[DMESG - writer]}.txt", "")
            else:
                self._places[key] = (self.file(writer, stderr), self.tag(writer, stderr))
        return self._places[key]

    def restart(self) -> None:
        """Forget places after the job's attempt changed."""
        self._places.clear()

    def place(self, lines: Iterable[Line]) -> dict[str, bytes]:
        """Return the bytes to append to each file."""
        out: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            file, tag = self.place_of(line.writer, line.stderr)
            for text in self.cut(line.writer, line.text):
                out[file].append(tag + text)
                self.note(file, line.writer, text)
        return {file: self.join(file, texts) for file, texts in out.items()}

    def cut(self, writer: int, text: str) -> list[str]:
        return text.split("\n") if "\n" in text else [text]

    def note(self, file: str, writer: int, text: str) -> None:
        seen = self.writers[file]
        if len(seen) < KEPT:
            seen.append(self.said_by(writer, text))
        self.lines[file] += 1

    def repeated(self, file: str, lines: int, times: int) -> None:
        """Note that the last lines of a file stand there `times` times in all."""
        seen = self.writers[file]
        if len(seen) == self.lines[file]:
            again = array("i", (w if w != TORN else UNSAID for w in seen[len(seen) - lines :]))
            for _ in range(times - 1):
                if len(seen) < KEPT:
                    seen.extend(again)
        self.lines[file] += lines * (times - 1)

    def said_by(self, writer: int, text: str) -> int:
        return writer if writer >= 0 else NOBODY

    def join(self, file: str, texts: list[str]) -> bytes:
        return ("\n".join(texts) + "\n").encode()


class TorchrunTee(Layout):
    """torchrun --tee 3: one file a node, tag with the local rank, agent's lines without; CR becomes a newline."""

    def file(self, writer: int, stderr: bool) -> str:
        if writer == LAUNCHER:
            return f"slurm-{self.job.number}.out"
        return f"{self.job.hosts[self.job.node_of(writer) if writer >= 0 else -1 - writer]}.log"

    def tag(self, writer: int, stderr: bool) -> str:
        return f"[default{self.job.local(writer)}]:" if writer >= 0 else ""

    def cut(self, writer: int, text: str) -> list[str]:
        return super().cut(writer, text.lstrip("\r"))


class SrunLabel(Layout):
    """srun --label: one file, task id padded to the width of the largest, lines cut at 1,024 bytes."""

    def file(self, writer: int, stderr: bool) -> str:
        return f"slurm-{self.job.number}.out"

    def tag(self, writer: int, stderr: bool) -> str:
        if writer == LAUNCHER:
            return ""
        task = writer if writer >= 0 else (-1 - writer) * self.job.per_node  # slurmstepd speaks as the first task
        return f"{task:{len(str(self.job.ranks - 1))}d}: "

    def cut(self, writer: int, text: str) -> list[str]:
        parts = super().cut(writer, text)
        if writer == LAUNCHER or len(text) <= 512:
            return parts
        return [piece for part in parts for piece in pieces(part)]


def pieces(text: str, size: int = 1024) -> list[str]:
    """Cut a text into pieces of at most `size` bytes (here never inside a character)."""
    raw = text.encode()
    if len(raw) <= size or len(raw) != len(text):
        return [text]
    return [text[at : at + size] for at in range(0, len(text), size)]


class MpirunTag(Layout):
    """mpirun --tag-output: one file; now and then a line is cut and another rank's text follows on it."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.rng = np.random.default_rng([job.spec.seed, 0x77])

    def file(self, writer: int, stderr: bool) -> str:
        return "mpirun.log"

    def tag(self, writer: int, stderr: bool) -> str:
        return f"[1,{writer}]<{'stderr' if stderr else 'stdout'}>:" if writer >= 0 else ""

    def join(self, file: str, texts: list[str]) -> bytes:
        """Glue about one pair of lines in fifty; the first one's newline comes later under its own tag."""
        seen, base = self.writers[file], self.lines[file] - len(texts)
        i = 0
        while file == "mpirun.log" and i + 1 < len(texts) and base + i + 1 < len(seen):
            i += 1 + int(self.rng.geometric(0.02))
            if i + 1 >= len(texts) or base + i + 1 >= len(seen):
                break
            a, b = seen[base + i], seen[base + i + 1]
            if min(a, b) < 0 or a == b:
                continue
            tag = texts[i][: texts[i].index(">:") + 2]
            texts[i : i + 2] = [texts[i] + texts[i + 1], tag]
            seen[base + i], seen[base + i + 1] = TORN, a
            self.torn[file, base + i] = [a, b]
        return super().join(file, texts)


class RankFiles(Layout):
    """One file a rank; srun and the agents write elsewhere."""

    def file(self, writer: int, stderr: bool) -> str:
        if writer >= 0:
            return f"train_{self.job.number}/rank_{writer:0{len(str(self.job.ranks - 1))}d}.log"
        return f"slurm-{self.job.number}.out"


class LogDir(Layout):
    """torchrun --log-dir: RUN_RANDOM/attempt_N/LOCAL/stdout.log and stderr.log, one run folder an agent."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789"))
        rng = np.random.default_rng([job.spec.seed, 0x99])
        self.ends = ["".join(rng.choice(letters, 8)) for _ in range(job.nodes)]

    def file(self, writer: int, stderr: bool) -> str:
        if writer == LAUNCHER:
            return f"slurm-{self.job.number}.out"
        if writer < 0:
            return f"{self.job.hosts[-1 - writer]}-torchrun.log"
        run = f"job{self.job.number}_{self.ends[self.job.node_of(writer)]}"
        stream = "stderr" if stderr else "stdout"
        host, local = self.job.host(writer), self.job.local(writer)
        return str(PurePosixPath(host, run, f"attempt_{self.job.attempt}", str(local), f"{stream}.log"))


class Plain(Layout):
    """One file, no tags: only what ranks say of themselves."""


    def file(self, writer: int, stderr: bool) -> str:
        return f"train-{self.job.number}.log"

    def said_by(self, writer: int, text: str) -> int:
        return NOBODY if writer < 0 else writer if _TELLS.search(text) else UNSAID


_LAYOUTS: dict[str, type[Layout]] = {
    "torchrun": TorchrunTee,
    "srun": SrunLabel,
    "mpirun": MpirunTag,
    "ranks": RankFiles,
    "logdir": LogDir,
    "plain": Plain,
}


def layout_of(job: Job) -> Layout:
    """Return the layout the job's spec names.

    Raises:
        ValueError: no layout has that name.
    """
    name = job.spec.layout
    if name not in _LAYOUTS:
        raise ValueError(f"unknown layout {name!r}; one of {', '.join(_LAYOUTS)}")
    return _LAYOUTS[name](job)
