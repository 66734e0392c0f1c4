"""The pictures of screenshots/ can be drawn anew and say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4tui.demo import write
from l4tui.pictures import PICTURES, Picture, draw

FOLDER = Path(__file__).parents[2] / "screenshots"


def test_every_picture_is_there_and_no_other() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == {picture.name for picture in PICTURES}


def test_a_picture_is_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    write(Path("job"), "rank-exception", ranks=8, nodes=2, seed=1)
    picture = Picture("one", "rank-exception", (80, 24), ("a", "enter"))
    drawn = []
    for name in ("a.svg", "b.svg"):
        draw(picture, Path("job"), Path(name))
        drawn.append(Path(name).read_text())
    assert drawn[0] == drawn[1] and "rank&#160;" in drawn[0]
