"""Every screen as text, at three sizes, in colours and with NO_COLOR and --ascii, as it stands in snapshots/.

After a change that is meant: ``L4TUI_SNAPSHOTS=write pytest tests/l4tui/test_snapshots.py``, and look at the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from l4tui.screens.job import JobScreen
from tests.l4tui.demo_screen import SIZES, job_of, opened, picture, press

FOLDER = Path(__file__).parent / "snapshots"
SCREENS = {  # name → keys from the screen before it
    "collapsed": ("g", "d"),
    "log": ("v", "g"),
    "rank": ("r", "3", "enter", "g"),
    "unfolded": ("backspace", "g", "v", "g", *["j"] * 7, "enter", "j", "j", "enter"),
    "ranks": ("g", "2"),
    "sites": ("5",),
    "compare": ("|", "G"),
    "chips": ("|", ":", *"hide rank 3", "enter", "X", "g"),
}


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return job_of(tmp_path_factory.mktemp("jobs") / "job-4711", "rank-exception")


async def seen(pilot: Pilot[int], screen: JobScreen) -> dict[str, list[str]]:
    """Walk through the screens."""
    found = {}
    for name, keys in SCREENS.items():
        await press(pilot, screen, *("space" if key == " " else key for key in keys))
        screen._said = ""  # what stands for some seconds only
        screen.tell()
        await pilot.pause()
        found[name] = picture(screen)
    return found


@pytest.mark.parametrize("plain", [False, True], ids=["colours", "ascii"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_screens(failed: Path, size: tuple[int, int], plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
    async with opened(failed, size, ascii=plain) as (pilot, screen):
        found = await seen(pilot, screen)
    differ = []
    for name, rows in found.items():
        path = FOLDER / f"{name}-{size[0]}x{size[1]}{'-ascii' if plain else ''}.txt"
        text = "\n".join(rows) + "\n"
        assert all(len(row) <= size[0] for row in rows) and len(rows) == size[1]
        assert not plain or text.isascii()
        if os.environ.get("L4TUI_SNAPSHOTS") == "write":
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            differ.append(f"--- {path.name}\n{text}")
    assert not differ, "\n".join(differ)


def test_every_snapshot_is_of_a_screen() -> None:
    names = {f"{name}-{w}x{h}{end}" for name in SCREENS for w, h in SIZES for end in ("", "-ascii")}
    assert {path.stem for path in FOLDER.glob("*.txt")} == names
