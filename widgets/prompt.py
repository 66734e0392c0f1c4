"""The line in which searches, filters, places and commands are typed."""

from __future__ import annotations

from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static
from textual.widgets.input import Selection

RECALLED = 100  # entries kept for each kind


class Prompt(Horizontal):
    """Opens for one question at a time; ↑ recalls what was typed before for that kind of question."""

    BINDINGS = [("escape", "cancel"), ("up", "recall(-1)"), ("down", "recall(1)")]  # noqa: RUF012 -- Textual's form

    @dataclass
    class Changed(Message):
        """The text is being typed."""

        kind: str
        text: str

    @dataclass
    class Submitted(Message):
        """The text is done."""

        kind: str
        text: str

    @dataclass
    class Cancelled(Message):
        """The question was dismissed."""

        kind: str

    def __init__(self) -> None:
        super().__init__()
        self.kind = ""
        self._history: dict[str, list[str]] = {}
        self._recalled = 0

    def compose(self) -> ComposeResult:
        """Sign, input, note."""
        yield Static("", id="prompt-sign", markup=False)
        yield Input(id="prompt-input", compact=True, select_on_focus=False)
        yield Static("", id="prompt-note", markup=False)

    @property
    def is_open(self) -> bool:
        """Whether a question stands."""
        return bool(self.kind)

    def ask(self, kind: str, sign: str, note: str = "", text: str = "") -> None:
        """Open for a kind of question; what is typed replaces a given `text`, unless the cursor is moved first."""
        self.kind = kind
        self._recalled = len(self._history.get(kind, ()))
        self.query_one("#prompt-sign", Static).update(sign)
        self.say(note)
        field = self.query_one(Input)
        with field.prevent(Input.Changed):
            field.value = text
        field.selection = Selection(0, len(text))
        self.add_class("-open")
        self.screen.set_focus(field)  # at once: what is typed behind the key that opened it belongs to it

    def say(self, note: str, *, wrong: bool = False) -> None:
        """Put a note at the right of the line."""
        note_line = self.query_one("#prompt-note", Static)
        note_line.set_class(wrong, "-wrong")
        note_line.update(note)

    def close(self) -> None:
        """Put the line away."""
        self.kind = ""
        self.remove_class("-open")

    def action_cancel(self) -> None:
        """Dismiss the question."""
        kind = self.kind
        self.close()
        self.post_message(self.Cancelled(kind))

    def action_recall(self, step: int) -> None:
        """Bring back what was typed before."""
        known = self._history.get(self.kind, [])
        self._recalled = min(max(self._recalled + step, 0), len(known))
        field = self.query_one(Input)
        field.value = known[self._recalled] if self._recalled < len(known) else ""
        field.cursor_position = len(field.value)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.post_message(self.Changed(self.kind, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        known = self._history.setdefault(self.kind, [])
        if event.value and known[-1:] != [event.value]:
            known.append(event.value)
            del known[:-RECALLED]
        self.post_message(self.Submitted(self.kind, event.value))
