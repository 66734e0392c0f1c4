"""Keys typed ahead: what comes in one packet behind a key that moves the focus waits until the focus has moved."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable

from textual import events
from textual.app import App
from textual.command import CommandPalette
from textual.widgets import Input

from l4tui.widgets.prompt import Prompt

RETRY_S = 0.01
MOST_S = 1.0  # then keys go where the focus is, whatever holds it up
LEAVING = ("enter", "escape")  # keys after which a prompt closes
PASSING = "ctrl+c"  # ends the program even now


class TypeAhead:
    """Holds back the keys of an app while what they are meant for has not got the focus yet."""

    def __init__(self, app: App[int], press: Callable[[events.Key], Awaitable[None]]) -> None:
        self._app, self._press = app, press
        self._keys: deque[events.Key] = deque()
        self._until = 0.0
        self._left: Prompt | None = None  # the prompt that a key has been sent to that closes it

    async def take(self, event: events.Key) -> None:
        """Hand a key on, now or when the focus has moved."""
        if event.key != PASSING and (self._keys or self._is_moving()):
            self._keys.append(event)
            if len(self._keys) == 1:
                self._until = time.monotonic() + MOST_S
                self._app.set_timer(RETRY_S, self._go_on)
        else:
            await self._send(event)

    async def _send(self, event: events.Key) -> None:
        focused = self._app.focused
        if event.key in LEAVING and isinstance(focused, Input) and isinstance(focused.parent, Prompt):
            self._left = focused.parent
        await self._press(event)

    async def _go_on(self) -> None:
        while self._keys and (time.monotonic() > self._until or not self._is_moving()):
            self._left = None
            await self._send(self._keys.popleft())
        if self._keys:
            self._app.set_timer(RETRY_S, self._go_on)

    def _is_moving(self) -> bool:
        """Tell whether a prompt is about to close, or the palette about to open."""
        if self._left is not None and not self._left.is_open:
            self._left = None
        focused = self._app.focused
        in_prompt = isinstance(focused, Input) and isinstance(focused.parent, Prompt) and not focused.parent.is_open
        opening = isinstance(self._app.screen, CommandPalette) and not isinstance(focused, Input)
        return self._left is not None or in_prompt or opening
