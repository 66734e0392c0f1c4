"""Draws the pictures of screenshots/ from the demo: ``python -m l4tui.pictures [FOLDER]``; the same every time."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from textual.pilot import Pilot

from l4tui.actions import keymap
from l4tui.app import L4App
from l4tui.config import Config
from l4tui.demo import write
from l4tui.engine.discovery import discover
from l4tui.screens.job import JobScreen

BYTES = 2_000_000
PATIENCE_S = 60.0
CALM = 4  # looks in a row that find nothing on its way: messages between threads are on no list


class Picture(NamedTuple):
    """One picture: a fault of the demo, a size, and the keys that are pressed first."""

    name: str
    scenario: str
    size: tuple[int, int]
    keys: tuple[str, ...]
    ranks: int = 64
    nodes: int = 8


PICTURES = (
    Picture("verdict", "oom-gpu", (120, 36), ("a",)),
    Picture("verdict-80x24", "oom-gpu", (80, 24), ("a",)),
    Picture("search", "hang-collective", (160, 48), ("slash", *"watchdog", "enter")),
    Picture("one-rank", "nan-rank", (120, 36), ("a", "enter", "&", *"!batch", "enter")),
    Picture("histogram", "elastic-restart", (120, 36), ("i",)),
    Picture("fields", "rank-exception", (120, 36), ("a", "p")),
    Picture("diagnosis", "hang-collective", (160, 48), ("3",)),
    Picture("diagnosis-80x24", "nan-rank", (80, 24), ("3",)),
    Picture("iterations", "elastic-restart", (120, 40), ("4", "s")),
    Picture("telemetry", "straggler", (160, 48), ("6", "/", *"forward", "enter", *["left"] * 12)),
    Picture("telemetry-80x24", "nan-rank", (80, 24), ("6",)),
    Picture("help", "healthy", (120, 40), ("?",)),
    Picture("collapsed", "nan-rank", (120, 36), ("d",)),
    Picture("collapsed-80x24", "hang-collective", (80, 24), ("d",)),
    Picture("unfolded", "hang-collective", (120, 36), ("d", "enter")),
    Picture("ranks", "hang-collective", (160, 48), ("2",)),
    Picture("ranks-1024", "straggler", (120, 40), ("2",), 1024, 128),
    Picture("sites", "nan-rank", (120, 40), ("5", "d")),
    Picture("compare", "rank-exception", (160, 48), ("d", "|")),
    Picture("compare-80x24", "nan-rank", (80, 24), ("d", "|")),
)


def draw(picture: Picture, folder: Path, out: Path) -> None:
    """Write one picture as SVG, reading the demo's log in a folder."""
    svg = asyncio.run(_drawn(picture, folder))
    out.write_text(svg, encoding="utf-8")


async def _drawn(picture: Picture, folder: Path) -> str:
    app = L4App(discover([str(folder)]), Config(follow=False, theme="l4tui"), keymap())
    async with app.run_test(size=picture.size) as pilot:
        await _settled(pilot, judged=True)
        for key in picture.keys:
            await pilot.press(key)
            await _settled(pilot)
        return app.export_screenshot(title="l4tui")


async def _settled(pilot: Pilot[int], *, judged: bool = False) -> None:
    """Wait until nothing is on its way: no worker, no held page, a verdict."""
    calm = 0
    for _ in range(int(PATIENCE_S / 0.05)):
        await pilot.pause(0.05)
        screen = next((s for s in pilot.app.screen_stack if isinstance(s, JobScreen)), None)
        calm = calm + 1 if screen is not None and _rests(screen, judged) else 0
        if calm == CALM:
            return
    raise TimeoutError("the screen does not come to rest")


def _rests(screen: JobScreen, judged: bool) -> bool:
    """Say whether all is shown that there will be: what is said of a part of a large log changes with the rest."""
    whole, study, ruling = screen.snapshot, screen.study, screen.ruling
    if not screen.is_settled or not whole.is_complete or study is None or study.snapshot.version != whole.version:
        return False
    return not judged or (ruling.is_final and ruling.version == whole.version)


def main(arguments: Sequence[str]) -> int:
    """Draw all pictures into a folder."""
    out = Path(arguments[0] if arguments else "screenshots").absolute()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="l4tui-pictures-") as name:
        for picture in PICTURES:
            folder = Path(name) / f"{picture.scenario}-{picture.ranks}" / "job-4711"
            if not folder.exists():
                write(folder, picture.scenario, ranks=picture.ranks, nodes=picture.nodes, seed=7, bytes_wanted=BYTES)
                (folder / "truth.json").unlink(missing_ok=True)
            with contextlib.chdir(folder.parent):  # no picture shows where it was made
                draw(picture, Path(folder.name), out / f"{picture.name}.svg")
            print(out / f"{picture.name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
