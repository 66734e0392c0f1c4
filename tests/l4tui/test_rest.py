"""What a screen does while nothing changes, and while a line is being written."""

from __future__ import annotations

from types import SimpleNamespace

from tests.l4tui.fake import FakeJob
from tests.l4tui.screen import shown, until


class Asked(SimpleNamespace):
    """A source that counts how often its time is asked for."""

    path, times = "job.log", 0

    @property
    def mtime(self) -> int:
        self.times += 1
        return 1


async def test_files_are_not_asked_for_their_time_again_and_again() -> None:
    job = FakeJob()
    async with shown(job) as (pilot, screen):
        await until(pilot, lambda: screen.feed.progress >= 1.0)
        source = Asked()
        screen.snapshot.sources = (source, source)  # type: ignore[misc]
        for _ in range(5):
            screen.tell()
        assert source.times == 2


async def test_the_line_that_is_being_written_is_told_at_the_end_only() -> None:
    job = FakeJob()
    async with shown(job) as (_, screen):
        job.unfinished = ("/logs/rank_3.log", b"10%\r20%\r30%\x1b[0m\r")
        screen.view.set_following(True)
        assert "rank_3.log writes: 30%" in screen._situation().message
        screen.view.set_following(False)
        assert screen._situation().message == ""
