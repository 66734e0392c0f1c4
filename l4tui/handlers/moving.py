"""Moving in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from l4tui.handlers import handles

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen

SIDE = 16  # cells of a step sideways


@handles("down")
def down(screen: JobScreen, _: str) -> None:
    """One line down; on the last one nothing moves."""
    screen.view.go(screen.view.row + 1)


@handles("up")
def up(screen: JobScreen, _: str) -> None:
    """One line up."""
    screen.view.go(screen.view.row - 1)


@handles("page_down")
def page_down(screen: JobScreen, _: str) -> None:
    """One page down."""
    screen.view.scroll(max(screen.view.page - 1, 1))


@handles("page_up")
def page_up(screen: JobScreen, _: str) -> None:
    """One page up."""
    screen.view.scroll(-max(screen.view.page - 1, 1))


@handles("half_down")
def half_down(screen: JobScreen, _: str) -> None:
    """Half a page down."""
    screen.view.scroll(max(screen.view.page // 2, 1))


@handles("half_up")
def half_up(screen: JobScreen, _: str) -> None:
    """Half a page up."""
    screen.view.scroll(-max(screen.view.page // 2, 1))


@handles("first")
def first(screen: JobScreen, _: str) -> None:
    """To the first line."""
    screen.view.go(0)


@handles("last")
def last(screen: JobScreen, _: str) -> None:
    """To the last line; a job that is followed is followed again."""
    screen.view.go_end(follow=screen.follows)


@handles("left")
def left(screen: JobScreen, _: str) -> None:
    """A step to the left."""
    screen.view.shift(-SIDE)


@handles("right")
def right(screen: JobScreen, _: str) -> None:
    """A step to the right."""
    screen.view.shift(SIDE)


@handles("line_start")
def line_start(screen: JobScreen, _: str) -> None:
    """To the start of the text."""
    screen.view.shift(-(1 << 30))


@handles("line_end")
def line_end(screen: JobScreen, _: str) -> None:
    """To the end of the line under the cursor."""
    screen.view.show_line_end()


@handles("follow")
def follow(screen: JobScreen, _: str) -> None:
    """Follow what is written, or stay."""
    if screen.view.following:
        screen.view.set_following(False)
    elif screen.follows:
        screen.view.go_end(follow=True)
    else:
        screen.view.go_end(follow=False)
        screen.say("nothing is followed: started with --no-follow")


@handles("pause")
def pause(screen: JobScreen, _: str) -> None:
    """Pause reading, or go on."""
    screen.feed.set_reading(not screen.feed.reading)
    screen.tell()
