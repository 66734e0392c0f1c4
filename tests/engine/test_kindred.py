"""Of many files with one kind of name few lines are looked at, and the same is concluded."""

from pathlib import Path

import pytest

from l4tui.engine import kindred
from l4tui.engine.formats import Dialect, detect
from l4tui.engine.kindred import FIRST, MANY, Kindred
from l4tui.engine.sampling import sample
from l4tui.engine.sources import Source, open_path

LINES = 3000


def sources(folder: Path, texts: list[str]) -> list[Source]:
    out = []
    for number, text in enumerate(texts):
        path = folder / f"node{number:03}.log"
        path.write_text(text)
        out.append(open_path(str(path)))
    return out


def tagged(number: int, ranks: int = 8) -> str:
    return "".join(f"[default{k % ranks}]:step {k} of node {number} lasted {k % 977} ms\n" for k in range(LINES))


def plain(number: int) -> str:
    return "".join(f"step {k} of node {number} lasted {k % 977} ms, as long as it should\n" for k in range(LINES))


def full(source: Source) -> Dialect:
    return detect(sample(source, source.size()), source.name)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of lines of each sample that is looked at."""
    counts: list[int] = []

    def counting(lines: list[bytes], *rest: object) -> Dialect:
        counts.append(len(lines))
        return detect(lines, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(kindred, "detect", counting)
    return counts


def test_files_alike_are_looked_at_in_full_a_few_times(tmp_path: Path, asked: list[int]) -> None:
    files = sources(tmp_path, [tagged(n) for n in range(MANY)])
    one = Kindred(files, ())
    assert [one.dialect(file, file.size())[0] for file in files] == [full(file) for file in files]
    assert sum(count > 1000 for count in asked) == FIRST
    assert len(asked) == MANY + FIRST


def test_a_file_that_shows_something_else_is_looked_at_in_full(tmp_path: Path) -> None:
    texts = [tagged(n) for n in range(MANY)]
    texts[20], texts[25] = plain(20), tagged(25, ranks=4)
    files = sources(tmp_path, texts)
    one = Kindred(files, ())
    found = [one.dialect(file, file.size())[0] for file in files]
    assert found == [full(file) for file in files]
    assert len(set(found)) == 3


def test_what_few_lines_do_not_tell_is_looked_for_in_all(tmp_path: Path) -> None:
    """Half of the files have tags where few lines are not taken from."""
    mixed = (
        plain(0)[: 1 << 15] + tagged(0)[: 1 << 15] + plain(0)[: 1 << 15] + tagged(0)[: 1 << 15] + plain(0)[: 1 << 16]
    )
    texts = [plain(n) + plain(n) if n % 2 else mixed for n in range(MANY)]
    files = sources(tmp_path, texts)
    one = Kindred(files, ())
    found = [one.dialect(file, file.size())[0] for file in files]
    assert found == [full(file) for file in files]


def test_few_files_are_looked_at_in_full(tmp_path: Path, asked: list[int]) -> None:
    files = sources(tmp_path, [tagged(n) for n in range(MANY - 1)])
    one = Kindred(files, ())
    for file in files:
        one.dialect(file, file.size())
    assert len(asked) == MANY - 1
    assert min(asked) > 1000


def test_files_that_all_differ_are_not_looked_at_twice_for_ever(tmp_path: Path, asked: list[int]) -> None:
    texts = [
        "".join(f"[gpu{n}x{k % 3}] step {k} took {k % 977} ms of time\n" for k in range(LINES)) for n in range(MANY)
    ]
    texts = [
        text.replace("gpu", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"[n : n + 6])
        for n, text in enumerate(texts)
    ]
    files = sources(tmp_path, texts)
    one = Kindred(files, ())
    assert [one.dialect(file, file.size())[0] for file in files] == [full(file) for file in files]
    assert len(asked) <= 2 * MANY
