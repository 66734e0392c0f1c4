"""Themes on the terminal's own background; states in the Okabe-Ito palette, told apart without red and green."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import BUILTIN_THEMES, Theme

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
PURPLE = "#CC79A7"

# The names that l4tui's own styles use, for a dark background of 256 or more colours.
DEFAULTS = {
    "state-error": "#F0752A",  # vermillion, lightened until small text reaches 4.5:1 on black
    "state-warning": ORANGE,
    "state-ok": GREEN,
    "state-busy": SKY,
    "state-odd": PURPLE,
    "hit-background": YELLOW,
    "hit-foreground": "#000000",
    "row-cursor": "#2C3340",
    "quiet": "#8A8F98",
    "rank": SKY,
    "panel-background": "#1B1F27",
    "bar-background": "#1B1F27",
    "panel-foreground": "#E6E6E6",
}
_LIGHT = {
    "state-error": "#B44F00",
    "state-warning": "#8F6300",
    "state-ok": "#006F51",
    "state-busy": "#005B8E",
    "state-odd": "#9C4276",
    "row-cursor": "#DCE5F0",
    "quiet": "#666B73",
    "rank": "#005B8E",
    "panel-background": "#EEF1F5",
    "bar-background": "#EEF1F5",
    "panel-foreground": "#1A1A1A",
}
_SIXTEEN = {
    "state-error": "ansi_bright_red",
    "state-warning": "ansi_yellow",
    "state-ok": "ansi_green",
    "state-busy": "ansi_cyan",
    "state-odd": "ansi_magenta",
    "hit-background": "ansi_yellow",
    "hit-foreground": "ansi_black",
    "row-cursor": "ansi_bright_black",
    "quiet": "ansi_default",
    "rank": "ansi_cyan",
    "panel-background": "ansi_default",
    "bar-background": "ansi_default",
    "panel-foreground": "ansi_default",
}


def _on_terminal(name: str, dark: bool, values: Mapping[str, str]) -> Theme:
    """Build a theme whose background and foreground are the terminal's."""
    merged = {**DEFAULTS, **values}
    plain = "ansi_default"
    surfaces = {
        "block-cursor-background": merged["row-cursor"],
        "block-cursor-foreground": merged["panel-foreground"],
        "block-cursor-blurred-background": merged["row-cursor"],
        "input-cursor-background": merged["panel-foreground"] if name != "l4tui-16" else "ansi_white",
        "input-cursor-foreground": merged["panel-background"] if name != "l4tui-16" else "ansi_black",
        "input-selection-background": merged["row-cursor"],
        "scrollbar": merged["quiet"],
        "scrollbar-background": plain,
        "border": merged["quiet"],
        "border-blurred": merged["quiet"],
    }
    return Theme(
        name=name,
        ansi=True,
        dark=dark,
        primary=merged["state-busy"],
        secondary=merged["rank"],
        accent=merged["state-busy"],
        warning=merged["state-warning"],
        error=merged["state-error"],
        success=merged["state-ok"],
        foreground=plain,
        background=plain,
        surface=plain,
        panel=plain,
        boost=plain,
        variables={**BUILTIN_THEMES["ansi-dark" if dark else "ansi-light"].variables, **merged, **surfaces},
    )


THEMES = (
    _on_terminal("l4tui", True, {}),
    _on_terminal("l4tui-light", False, _LIGHT),
    _on_terminal("l4tui-16", True, _SIXTEEN),
)


def known_themes() -> set[str]:
    """Name the themes there are: ours and Textual's."""
    return {theme.name for theme in THEMES} | set(BUILTIN_THEMES)


def choose(wanted: str, environ: Mapping[str, str]) -> str:
    """Name the theme for this terminal; `wanted` is a theme's name or "auto"."""
    if wanted != "auto":
        return wanted
    term = environ.get("TERM", "")
    plain = term in ("xterm", "screen", "linux", "tmux", "vt100", "vt220", "ansi", "dumb")
    if plain and not environ.get("COLORTERM"):
        return "l4tui-16"
    background = environ.get("COLORFGBG", "").rpartition(";")[2]  # set by rxvt, konsole, iTerm: 7 and 15 are light
    return "l4tui-light" if background in ("7", "15") else "l4tui"
