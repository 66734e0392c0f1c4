"""A small form over the log: a few lines to fill in, kept with Enter on the last one, dropped with Esc."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static


class Field(NamedTuple):
    """One line of a form."""

    name: str
    label: str
    value: str = ""
    choices: Sequence[str] = ()  # offered while it is typed


class Form(ModalScreen[Mapping[str, str] | None]):
    """Gives what was typed by name, or None."""

    BINDINGS = [("escape", "cancel"), ("down", "move(1)"), ("up", "move(-1)")]  # noqa: RUF012 -- Textual's form

    def __init__(
        self, title: str, about: str, fields: Sequence[Field], check: Callable[[Mapping[str, str]], str]
    ) -> None:
        """`check` says in words what is wrong with the answers; "" when nothing is."""
        super().__init__()
        self._heading, self._about, self._fields, self._check = title, about, tuple(fields), check

    def compose(self) -> ComposeResult:
        """A label and a line for each field."""
        with VerticalScroll(id="sheet", can_focus=False) as sheet:
            sheet.border_title, sheet.border_subtitle = self._heading, "Enter keeps   Esc closes"
            yield Static(self._about, id="form-about", markup=False)
            for field in self._fields:
                yield Static(field.label, classes="form-label", markup=False)
                suggester = SuggestFromList(list(field.choices), case_sensitive=False) if field.choices else None
                yield Input(field.value, id=f"form-{field.name}", compact=True, suggester=suggester)
            yield Static("", id="form-wrong", markup=False)

    def on_mount(self) -> None:
        """Begin with the first line."""
        self.query(Input).first().focus()

    @property
    def answers(self) -> dict[str, str]:
        """What stands in the lines."""
        return {field.name: self.query_one(f"#form-{field.name}", Input).value.strip() for field in self._fields}

    def action_move(self, step: int) -> None:
        """Go to another line."""
        self.focus_next() if step > 0 else self.focus_previous()

    def action_cancel(self) -> None:
        """Drop it."""
        self.dismiss(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Go on to the next line; behind the last one keep all, unless something is wrong."""
        event.stop()
        if event.input.id != f"form-{self._fields[-1].name}":
            self.focus_next()
            return
        wrong = self._check(self.answers)
        self.query_one("#form-wrong", Static).update(wrong)
        if not wrong:
            self.dismiss(self.answers)
