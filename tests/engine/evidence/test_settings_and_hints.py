"""Settings that differ, launchers' first word, and ranks that compare themselves: each on three logs of their own."""

import pytest

from l4tui.engine.evidence import hint, setting
from l4tui.engine.evidence.record import Said
from l4tui.engine.model import Level

from .jobs import launcher, said, steps, told


def odd(index: int, usual: str, other: str, ranks: int = 8) -> list[Said]:
    return [said(r, other if r == index else usual, stage="init") for r in range(ranks)]


SETTINGS = {
    "batches": odd(1, "dataloader ready, batches 2872", "dataloader ready, batches 2868"),
    "precision": odd(5, "precision=bf16 shards=8", "precision=fp32 shards=8"),
    "layers": odd(6, "transformer with 24 layers, vocab 32000", "transformer with 22 layers, vocab 32000"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_one_rank_with_another_setting(name: str) -> None:
    found = setting.judge(told([*SETTINGS[name], *steps(range(8), 5)]).case)
    assert [f.rank for f in found] == [{"batches": 1, "precision": 5, "layers": 6}[name]]


def test_one_rank_with_another_setting_among_thousands() -> None:
    """Rank after rank, as files of ranks are read: the first 20,000 lines are those of the first 1,400."""
    ranks = range(2000)
    lines = [said(r, f"module {k} is ready", stage="init") for r in ranks for k in range(14)]
    lines += [said(r, f"precision={'fp32' if r == 1800 else 'bf16'} shards=8", stage="init") for r in ranks]
    lines.sort(key=lambda line: line.rank)
    found = setting.judge(told([*lines, *steps(ranks, 2)]).case)
    assert [f.rank for f in found] == [1800]


@pytest.mark.parametrize(
    "lines",
    [
        [said(r, f"rank {r} listens on port {29500 + r}", stage="init") for r in range(8)],
        odd(3, "loaded in 0.31 s", "loaded in 0.92 s"),
        odd(2, "free memory 71 GiB, used 3", "free memory 70 GiB, used 4"),
    ],
    ids=["numbers of ranks", "seconds", "memory"],
)
def test_what_is_measured_is_no_setting(lines: list[Said]) -> None:
    assert setting.judge(told([*lines, *steps(range(8), 5)]).case) == []


HINTS = {
    "composer": (2, "ERROR:composer.cli.launcher:Rank 2 crashed with exit code 1."),
    "open mpi": (3, "  Process name: [[51326,1],3]"),
    "prte": (1, "prterun has exited due to process rank 1 with PID 17 on node n0 exiting improperly."),
}


@pytest.mark.parametrize("name", HINTS)
def test_the_launchers_word_where_nobody_speaks(name: str) -> None:
    rank, text = HINTS[name]
    found = told([*steps(range(4), 5), launcher(text)])
    assert found.blame.ranks[0].rank == rank
    assert found.blame.ranks[0].findings[0].kind == hint.KIND


def test_an_error_of_a_known_rank_outweighs_the_launchers_word() -> None:
    lines = [
        *steps(range(4), 5),
        said(1, "ValueError: bad token", 6, level=Level.ERROR),
        launcher(HINTS["composer"][1]),
    ]
    assert told(lines).blame.ranks[0].rank == 1


COMPARED = {
    "one reports": ([6], 0, 6),
    "another reports": ([3], 0, 3),
    "all but the reference report": ([1, 2, 3, 4, 5, 6, 7], 0, 0),
}


@pytest.mark.parametrize("name", COMPARED)
def test_who_compares_itself(name: str) -> None:
    reporters, reference, culprit = COMPARED[name]
    text = "RuntimeError: DDP expects same model across all ranks, but Rank {} has 198 params, "
    text += "while rank {} has inconsistent 218 params."
    lines = [said(r, "building model", stage="model_build") for r in range(8)]
    lines += [said(r, text.format(r, reference), stage="model_build", level=Level.ERROR) for r in reporters]
    assert told(lines).blame.ranks[0].rank == culprit
