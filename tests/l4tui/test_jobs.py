"""From a folder to a job: the picker, another job, the list of files."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from l4tui.actions import keymap
from l4tui.app import L4App, run_app
from l4tui.config import Config
from l4tui.engine.discovery import discover
from l4tui.exits import UsageError
from l4tui.screens.job import JobScreen
from l4tui.widgets.sheet import ListSheet
from tests.l4tui.screen import until


def write_job(folder: Path, number: int, day: int) -> None:
    lines = [
        f"{rank}: 2026-01-{day:02} 12:00:{step:02},000 - train - INFO - step {step} of job {number}\n"
        for step in range(40)
        for rank in range(4)
    ]
    (folder / f"slurm-{number}.out").write_text("".join(lines))


def opened(pilot: Pilot[int], words: str) -> bool:
    screen = pilot.app.screen
    if not isinstance(screen, JobScreen) or screen.view.cursor_line is None:
        return False
    return words in screen.view.cursor_line.text


async def test_a_folder_of_several_jobs_opens_a_picker(tmp_path: Path) -> None:
    write_job(tmp_path, 1001, 3)
    write_job(tmp_path, 1002, 9)
    (tmp_path / "train.py").write_text("import torch\n\n\ndef main():\n    pass\n")
    found = discover([str(tmp_path)])
    assert len(found.jobs) == 2
    async with L4App(found, Config(follow=False), keymap()).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, ListSheet))
        await pilot.press("j", "enter")
        first = found.jobs[1].name
        await until(pilot, lambda: isinstance(pilot.app.screen, JobScreen) and pilot.app.screen.job_name == first)
        await until(pilot, lambda: opened(pilot, "step 39"))
        screen = pilot.app.screen
        assert isinstance(screen, JobScreen) and "left out" in screen.notice
        await pilot.press(":", *"jobs", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ListSheet))
        await pilot.press("g", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, JobScreen) and pilot.app.screen is not screen)
        await until(pilot, lambda: opened(pilot, "step 39"))
        assert len(pilot.app.screen_stack) == 2


async def test_leaving_the_picker_leaves(tmp_path: Path) -> None:
    write_job(tmp_path, 1001, 3)
    write_job(tmp_path, 1002, 9)
    async with L4App(discover([str(tmp_path)]), Config(), keymap()).run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, ListSheet))
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.return_value == 0


def test_settings_that_cannot_be_are_usage_errors(tmp_path: Path) -> None:
    write_job(tmp_path, 1001, 3)
    found = discover([str(tmp_path)])
    wrong = ({"keys": {"search": "j"}}, {"keys": {"nothing": "j"}}, {"ranks": "7-"}, {"theme": "dusk"})
    for config in (Config(**settings) for settings in wrong):  # type: ignore[arg-type]
        try:
            run_app(found, config)
        except UsageError as error:
            assert str(error)
        else:
            raise AssertionError(config)
