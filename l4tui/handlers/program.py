"""The program itself: commands, help, palette, terminal, leaving."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

from l4tui.actions import ACTIONS
from l4tui.handlers import answers, handles
from l4tui.terminal import has_shell, stop_job
from l4tui.widgets.sheet import TextSheet

if TYPE_CHECKING:
    from l4tui.screens.job import JobScreen


@handles("command")
def command(screen: JobScreen, text: str) -> None:
    """Ask for a command."""
    screen.prompt.ask("command", ":", "line   50%   or a command: filter, go_to, theme …")


@answers("command")
def run_command(screen: JobScreen, text: str) -> None:
    """Go to a line or a percentage, or run an action by its name with an argument."""
    text = text.strip()
    if re.fullmatch(r"\d[\d,_]*", text, re.ASCII):
        screen.go_to_line(int(re.sub(r"[,_]", "", text)))
    elif match := re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*%", text, re.ASCII):
        share = min(float(match[1]), 100.0) / 100
        screen.view.go(round((screen.view.rows.length - 1) * share), place="middle")
    elif text:
        name, _, argument = text.partition(" ")
        _run_named(screen, name, argument.strip())


def _run_named(screen: JobScreen, name: str, argument: str) -> None:
    wanted = name.replace("-", "_").lower()
    if wanted == "theme":
        _set_theme(screen, argument)
        return
    short = {"q": "quit", "ranks": "pick_ranks", "goto": "go_to", "h": "help"}
    wanted = short.get(wanted, wanted)
    known = [action.id for action in ACTIONS]
    matches = [wanted] if wanted in known else [action for action in known if action.startswith(wanted)]
    if len(matches) == 1:
        screen.act(matches[0], argument)
    else:
        why = f"which of {', '.join(matches)}?" if matches else "no such command (? lists them)"
        screen.say(f":{name}: {why}", "error")


def _set_theme(screen: JobScreen, name: str) -> None:
    if name in screen.app.available_themes:
        screen.app.theme = name
    else:
        screen.say(f"themes: {', '.join(sorted(screen.app.available_themes))}", "error" if name else "busy")


@handles("palette")
def palette(screen: JobScreen, _: str) -> None:
    """Open the command palette."""
    screen.app.action_command_palette()


@handles("help")
def show_help(screen: JobScreen, _: str) -> None:
    """Show the keys."""
    from l4tui.screens.help import help_text  # built when asked for

    plain = screen.config.ascii
    screen.app.push_screen(TextSheet("Keys", lambda width: help_text(screen.keys, width, plain)))


@handles("jobs")
def other_job(screen: JobScreen, _: str) -> None:
    """Choose another job of the folder."""
    if not screen.choose_job():
        screen.say("there is one job here")


@handles("mouse")
def mouse(screen: JobScreen, _: str) -> None:
    """Take the mouse, or leave it to the terminal's own selection."""
    screen.mouse_on = not screen.mouse_on
    driver = screen.app._driver  # Textual has no public way to change its mind about the mouse
    if isinstance(driver, LinuxDriver):
        driver._mouse = True  # both calls below do nothing without it
        if screen.mouse_on:
            driver._enable_mouse_support()
        else:
            driver._disable_mouse_support()
        driver._mouse = screen.mouse_on
    screen.say("mouse on: the wheel scrolls, a click moves the cursor" if screen.mouse_on else "mouse off")


@handles("redraw")
def redraw(screen: JobScreen, _: str) -> None:
    """Draw everything anew."""
    screen.refresh(layout=True)
    screen.app.refresh(layout=True)


@handles("suspend")
def suspend(screen: JobScreen, _: str) -> None:
    """Go to the shell."""
    if not has_shell():
        screen.say("there is no shell here to come back from: q closes", "warning")
        return
    screen.app.app_suspend_signal.publish(screen.app)
    stop_job()


@handles("quit")
def leave(screen: JobScreen, _: str) -> None:
    """Close; while a live job is followed, only when asked twice."""
    if screen.is_live and screen.view.following and not screen.leaving:
        screen.leaving = True
        screen.say("still following: q again closes", "warning")
        return
    screen.app.exit(0)


