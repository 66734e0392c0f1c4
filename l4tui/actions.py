"""The one table of what a person can do: bindings, help, palette, commands and the keymap file all come from it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NamedTuple

from l4tui.panes import PANES


class Action(NamedTuple):
    """One thing a person can do. Keys are written as in the config file: "j", "ctrl+d", "?"."""

    id: str
    keys: tuple[str, ...]
    words: str
    group: str


class KeyClash(ValueError):
    """Two actions want one key, or a keymap names an action that is not there."""


MOVE, SEEK, NARROW, LOOK = "Move", "Find", "Narrow", "Look closer"
PANE, MARK, PROGRAM = "Panes", "Mark and copy", "Program"

ACTIONS: tuple[Action, ...] = (
    Action("down", ("j", "down"), "one line down", MOVE),
    Action("up", ("k", "up"), "one line up", MOVE),
    Action("page_down", ("space", "pagedown"), "one page down", MOVE),
    Action("page_up", ("b", "pageup"), "one page up", MOVE),
    Action("half_down", ("ctrl+d",), "half a page down", MOVE),
    Action("half_up", ("ctrl+u",), "half a page up", MOVE),
    Action("first", ("g", "home"), "first line", MOVE),
    Action("last", ("G", "end"), "last line; following goes on", MOVE),
    Action("left", ("h", "left"), "scroll left", MOVE),
    Action("right", ("l", "right"), "scroll right", MOVE),
    Action("line_start", ("0",), "start of the text", MOVE),
    Action("line_end", ("$",), "end of the text", MOVE),
    Action("follow", ("F",), "follow, on or off", MOVE),
    Action("pause", ("=",), "pause reading, or go on", MOVE),
    Action("search", ("/",), "search with a regex", SEEK),
    Action("next_hit", ("n",), "next hit", SEEK),
    Action("previous_hit", ("N",), "previous hit", SEEK),
    Action("next_error", ("e",), "next error", SEEK),
    Action("previous_error", ("E",), "previous error", SEEK),
    Action("next_warning", ("w",), "next warning", SEEK),
    Action("previous_warning", ("W",), "previous warning", SEEK),
    Action("next_divergent", ("d",), "what sets ranks apart, most telling first", SEEK),
    Action("previous_divergent", ("D",), "back among what sets ranks apart", SEEK),
    Action("next_same", ("o",), "next line like this one", SEEK),
    Action("previous_same", ("O",), "previous line like this one", SEEK),
    Action("next_odd", ("s",), "next odd iteration", SEEK),
    Action("previous_odd", ("S",), "previous odd iteration", SEEK),
    Action("evidence", ("a",), "the line that the verdict rests on", SEEK),
    Action("go_to", ("t",), "go to 12:03, -5m, i1200", SEEK),
    Action("filter", ("&",), "only what matches; &! hides, & clears", NARROW),
    Action("toggle_filters", ("\\",), "all filters off, or on again", NARROW),
    Action("drop_filter", ("backspace",), "remove the condition added last", NARROW),
    Action("drop_one", ("K",), "remove a condition by its number", NARROW),
    Action("hide_event", ("x",), "hide this call site or event", NARROW),
    Action("only_event", ("X",), "show only this call site or event", NARROW),
    Action("only", (), "only a stage, iteration, level, site, event, rank, node", NARROW),
    Action("hide", (), "hide a stage, iteration, level, site, event, rank, node", NARROW),
    Action("filters", (), "what is hidden; take one away", NARROW),
    Action("previous_rank", ("[",), "previous rank alone", NARROW),
    Action("next_rank", ("]",), "next rank alone", NARROW),
    Action("pick_ranks", ("r",), "ranks: 0-7,!3,node:n12,attempt:1", NARROW),
    Action("scope_to_suspect", ("A",), "suspect, its node and peers, iterations around", NARROW),
    Action("lens", ("v",), "next lens: rows, lines, one rank", NARROW),
    Action("open", ("enter",), "a row's lines; a rank alone; all again", NARROW),
    Action("fold", ("z",), "fold an iteration, or unfold it", NARROW),
    Action("fold_all", ("Z",), "fold all iterations, or none", NARROW),
    Action("back", ("escape",), "back to what was shown before", NARROW),
    Action("fields", ("p",), "fields of this line", LOOK),
    Action("pretty", ("P",), "whole record, laid out", LOOK),
    Action("histogram", ("i",), "lines over time", LOOK),
    Action("wrap", ("ctrl+w",), "wrap long lines", LOOK),
    Action("elapsed", ("T",), "times since this line, or of day", LOOK),
    Action("files", ("f",), "files read, mirrors, left out", LOOK),
    Action("log", ("1",), "the log alone", PANE),
    *(Action(f"pane_{entry.name}", (entry.key,), entry.words, PANE) for entry in PANES),
    Action("zoom_in", ("+",), "chart: closer", PANE),
    Action("zoom_out", ("-",), "chart: wider", PANE),
    Action("log_scale", ("%",), "chart: logarithmic, or linear", PANE),
    Action("smooth", ("~",), "chart: smoother, or as it is", PANE),
    Action("focus", ("tab",), "keys to the pane, or to the log", PANE),
    Action("mark", ("m",), "mark this line with a note", MARK),
    Action("next_mark", ("u",), "next mark", MARK),
    Action("previous_mark", ("U",), "previous mark", MARK),
    Action("select", ("V",), "select lines", MARK),
    Action("copy", ("y",), "copy the selection, with ranks", MARK),
    Action("copy_line", ("c",), "copy this line", MARK),
    Action("confirm", ("C",), "confirm: file this event with its cause", MARK),
    Action("dump", ("L",), "this page as plain text", MARK),
    Action("command", (":",), ":line, :50%, :command", PROGRAM),
    Action("palette", ("ctrl+p",), "all commands", PROGRAM),
    Action("help", ("?", "f1"), "keys", PROGRAM),
    Action("jobs", (), "another job of the folder", PROGRAM),
    Action("mouse", ("f2",), "mouse on or off", PROGRAM),
    Action("redraw", ("ctrl+l",), "draw the screen anew", PROGRAM),
    Action("suspend", ("ctrl+z",), "to the shell; fg comes back", PROGRAM),
    Action("quit", ("q",), "close", PROGRAM),
)

# What a terminal cannot tell apart, keeps for itself, or needs an Alt key for.
FORBIDDEN = frozenset(
    [f"ctrl+{letter}" for letter in ("a", "b", "c", "h", "i", "j", "m", "q", "s", "backslash", "left_square_bracket")]
)


def keymap(changes: Mapping[str, object] | None = None, actions: tuple[Action, ...] = ACTIONS) -> dict[str, str]:
    """Say which action each key runs; raise KeyClash that names both actions of a key.

    Args:
        changes: action id → keys, comma separated or a list; an empty one unbinds.
        actions: the table.
    """
    known = {action.id: action for action in actions}
    wanted = {action.id: action.keys for action in actions}
    for name, keys in (changes or {}).items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise KeyClash(f"keys: no action {name!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        wanted[name] = split_keys(keys)
    bound: dict[str, str] = {}
    for name, keys in wanted.items():
        for key in keys:
            if key in FORBIDDEN:
                raise KeyClash(f"keys: {key!r} for {name!r} does not reach a program in every terminal")
            if bound.setdefault(key, name) != name:
                raise KeyClash(f"keys: {key!r} is wanted by {bound[key]!r} and by {name!r}")
    return bound


def split_keys(keys: object) -> tuple[str, ...]:
    """Read keys from a setting: a comma-separated string or a list; a comma itself is "comma"."""
    items = keys.split(",") if isinstance(keys, str) else keys if isinstance(keys, list | tuple) else None
    if items is None or not all(isinstance(item, str) for item in items):
        raise KeyClash(f"keys: {keys!r} is neither a string nor a list of strings")
    return tuple(_NAMES.get(item.strip().lower(), item.strip()) for item in items if item.strip())


_NAMES = {
    "slash": "/", "question_mark": "?", "ampersand": "&", "backslash": "\\", "colon": ":",
    "esc": "escape", "return": "enter",
}


def shown_key(key: str, ascii_only: bool = False) -> str:
    """Write a key as people do: Ctrl+D, Space, PgDn, ↓."""
    words = {
        "space": "Space", "pagedown": "PgDn", "pageup": "PgUp", "home": "Home", "end": "End",
        "escape": "Esc", "enter": "Enter", "backspace": "Backspace", "tab": "Tab",
    }
    arrows = {"down": "↓", "up": "↑", "left": "←", "right": "→"}
    if key.startswith("ctrl+"):
        return f"Ctrl+{key[5:].upper()}"
    if key[:1] == "f" and key[1:].isdigit():
        return key.upper()
    if key in arrows:
        return key.capitalize() if ascii_only else arrows[key]
    return words.get(key, key)
