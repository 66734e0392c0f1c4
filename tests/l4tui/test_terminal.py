"""The installed command in a real terminal."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4tui.handlers import program
from l4tui.terminal import has_shell, stop_job
from tests.l4tui.fake import FakeJob
from tests.l4tui.screen import shown, until
from tests.l4tui.tty import Terminal

LINE = "[default{r}]:2026-01-31 12:03:{s:02},{n:03} - trainer - INFO - step {n} loss 2.31\n"


def lines(start: int, count: int) -> str:
    return "".join(LINE.format(r=n % 4, s=n // 60 % 60, n=n % 1000) for n in range(start, start + count))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(lines(0, 200))
    return path


@pytest.fixture
def opened(log: Path) -> Iterator[Terminal]:
    terminal = Terminal([str(log), "--no-cache"])
    terminal.wait_for(lambda text: "= 200 lines" in text and "step 199" in text)
    yield terminal
    terminal.close()


def test_a_growing_file_is_followed_and_left_clean(opened: Terminal, log: Path) -> None:
    with log.open("a") as stream:
        stream.write(lines(200, 1))
        stream.flush()
        opened.wait_for(lambda text: "step 200" in text)
    opened.send("q")
    opened.wait_for(lambda text: "q again" in text)
    opened.send("q")
    assert opened.end() == 0
    assert opened.modes_left_on() == []


def test_nothing_is_sent_while_nothing_changes(opened: Terminal) -> None:
    # queries of the terminal and the first judgement of silence come first, on a busy machine late
    assert any(opened.read(2.5) == 0 for _ in range(12))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_leave_the_terminal_clean(opened: Terminal, number: int, code: int) -> None:
    opened.kill(number)
    assert opened.end() == code
    assert opened.modes_left_on() == []


def test_ctrl_c_ends_with_130(opened: Terminal) -> None:
    opened.send("\x03")
    assert opened.end() == 130
    assert opened.modes_left_on() == []


def test_the_terminal_vanishing_ends_the_program(opened: Terminal) -> None:
    os.close(opened.fd)
    opened.fd = os.open(os.devnull, os.O_RDONLY)
    for _ in range(100):
        pid, status = os.waitpid(opened.pid, os.WNOHANG)
        if pid:
            opened.code = os.waitstatus_to_exitcode(status)
            break
        signal.sigtimedwait([], 0.05)
    assert opened.code is not None


def test_a_piped_log_takes_keys() -> None:
    reading, writing = os.pipe()
    terminal = Terminal(["-"], stdin=reading)
    os.close(reading)
    try:
        os.write(writing, lines(0, 50).encode())
        terminal.wait_for(lambda text: "= 50 lines" in text and "step 49" in text)
        terminal.send("g")
        terminal.wait_for(lambda text: "step 0 loss" in text)
        os.write(writing, lines(50, 10).encode())
        terminal.wait_for(lambda text: "= 60 lines" in text)
        os.close(writing)
        terminal.send("qq")
        assert terminal.end() == 0
    finally:
        terminal.close()


def test_the_first_page_stands_before_the_app_does(log: Path) -> None:
    terminal = Terminal([str(log), "--no-cache"])
    try:
        terminal.wait_for(lambda text: "step 199" in text)
        assert b"\x1b[?1049h" not in terminal.received
    finally:
        terminal.close()


def test_sixteen_colours_and_ascii_draw_nothing_else(log: Path) -> None:
    terminal = Terminal([str(log), "--ascii"], TERM="xterm", COLORTERM="")
    try:
        terminal.wait_for(lambda text: "= 200 lines" in text)
        assert terminal.text.isascii()
        assert b"38;2;" not in terminal.received and b"38;5;" not in terminal.received
    finally:
        terminal.close()


def test_no_color_draws_no_colour(log: Path) -> None:
    terminal = Terminal([str(log)], NO_COLOR="1")
    try:
        terminal.wait_for(lambda text: "= 200 lines" in text)
        assert b"38;2;" not in terminal.received and b"48;2;" not in terminal.received
    finally:
        terminal.close()


def test_an_interrupt_from_outside_ends_as_ctrl_c_does(opened: Terminal) -> None:
    opened.kill(signal.SIGINT)
    assert opened.end() == 130
    assert opened.modes_left_on() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_ended_while_it_starts_leaves_nothing(tmp_path: Path, number: int) -> None:
    terminal = Terminal(["demo"], TMPDIR=str(tmp_path))
    try:
        for _ in range(300):
            if any(tmp_path.iterdir()):
                break
            signal.sigtimedwait([], 0.02)
        terminal.kill(number)
        assert terminal.end() == 128 + number
        assert list(tmp_path.iterdir()) == []
        assert terminal.modes_left_on() == []
    finally:
        terminal.close()


def test_keys_that_arrive_together_go_where_they_were_typed(opened: Terminal) -> None:
    opened.send("gjj")
    opened.send("/step 150\r")
    opened.wait_for(lambda text: "/step 150  1 hit" in text)
    opened.send(":20\r")
    opened.wait_for(lambda text: "job.log:20 " in text)
    opened.send("&step 7\r")
    opened.wait_for(lambda text: "11 of 200" in text)


def test_keys_typed_ahead_of_a_closing_prompt_reach_the_log(opened: Terminal) -> None:
    opened.send("g")
    opened.send("/step 15\rnnn")  # one packet: hits at 15 and 150 to 159
    opened.wait_for(lambda text: "/step 15  11 hits" in text and "job.log:153 " in text)
    opened.send("/step 1\r:20\rj")
    opened.wait_for(lambda text: "job.log:21 " in text)


def test_keys_typed_ahead_of_the_palette_reach_it(opened: Terminal) -> None:
    opened.send("\x10mouse")
    opened.wait_for(lambda text: "mouse" in text.lower() and "= 200 lines" in text)
    opened.send("\x1b")
    opened.read(0.5)
    opened.send("\x10colla\x03")  # and nothing holds up an end
    assert opened.end() == 130


def test_a_time_outside_the_log_is_told(opened: Terminal) -> None:
    for typed in ("2026-01-31T11:00", "2026-02-01", "12:01"):
        opened.send(f"t{typed}\r")
        opened.wait_for(lambda text, typed=typed: f"{typed} is outside: the log goes from 12:03:00 to 12:03:" in text)


def test_a_job_is_stopped_whole_and_only_where_a_shell_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    stop_job()
    assert sent == [(os.getpgrp(), signal.SIGTSTP)]
    parents = {1: (1, 1), 70: (70, 70)}  # process → group, session
    monkeypatch.setattr(os, "getpgrp", lambda: 99)
    monkeypatch.setattr(os, "getpgid", lambda pid: parents[pid][0])
    monkeypatch.setattr(os, "getsid", lambda pid: parents[pid][1] if pid else 70)
    monkeypatch.setattr(os, "getppid", lambda: 70)
    assert has_shell()
    monkeypatch.setattr(os, "getppid", lambda: 1)  # the only program of its terminal
    assert not has_shell()
    monkeypatch.setattr(os, "getppid", lambda: 0)
    monkeypatch.setattr(os, "getpgid", lambda pid: -1)
    assert not has_shell()


async def test_where_nobody_could_wake_it_the_screen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "has_shell", lambda: False)
    monkeypatch.setattr(program, "stop_job", lambda: pytest.fail("stopped for good"))
    async with shown(FakeJob(100)) as (pilot, screen):
        await pilot.press("ctrl+z")
        await until(pilot, lambda: "no shell" in screen._said)
