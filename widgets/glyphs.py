"""Signs for states, each with an ASCII form; a state is never told by colour alone."""

from __future__ import annotations

from typing import NamedTuple

from l4tui.engine.model import Level


class Glyphs(NamedTuple):
    """One set of signs; every sign is one cell wide."""

    mixed: str
    launcher: str
    unknown: str
    note: str
    cursor: str
    mark: str
    select: str
    track: str
    thumb: str
    hit: str
    running: str
    silent: str
    failed: str
    completed: str
    ellipsis: str
    down: str
    dot: str
    bars: str
    more: str
    bar: str
    rank_with: str
    rank_behind: str
    rank_ahead: str
    rank_silent: str
    rank_failed: str
    rank_suspect: str
    is_extra: str
    is_missing: str
    is_value: str
    is_order: str
    is_late: str
    is_evidence: str
    pending: str  # others may still say the same
    odd_value: str
    rule: str
    folded: str
    unfolded: str
    times: str
    gap: str
    differs: str
    bound: str
    remove: str
    deviations: str  # from far less to far more than usual

    def of(self, kind: str) -> str:
        """Give the sign of a kind of difference (extra missing value order late), or of evidence."""
        return str(getattr(self, f"is_{kind}"))


UNICODE = Glyphs(
    mixed="≠", launcher="⚙", unknown="?", note="§", cursor="▌", mark="◆", select="┃", track="│", thumb="█", hit="╾",
    running="●", silent="◌", failed="✖", completed="✔", ellipsis="…", down="↓", dot="·", bars="▁▂▃▄▅▆▇█",
    more="›", bar="█", rank_with="·", rank_behind="‹", rank_ahead="›", rank_silent="◌", rank_failed="✖",
    rank_suspect="▲", is_extra="▲", is_missing="▽", is_value="≈", is_order="⇄", is_late="◷", is_evidence="►",
    pending="⋯", odd_value="≈", rule="─", folded="▸", unfolded="▾", times="×", gap="╌", differs="≠", bound="│",
    remove="×", deviations="▼▽‹·›△▲",
)  # fmt: skip
ASCII = Glyphs(
    mixed="%", launcher="*", unknown="?", note="=", cursor=">", mark="+", select="|", track=":", thumb="#", hit="-",
    running="o", silent="z", failed="X", completed="v", ellipsis="~", down="v", dot="-", bars="_.-=+*%#",
    more=">", bar="#", rank_with=".", rank_behind="<", rank_ahead=">", rank_silent="z", rank_failed="X",
    rank_suspect="!", is_extra="^", is_missing="v", is_value="~", is_order="x", is_late="@", is_evidence="&",
    pending=":", odd_value="~", rule="-", folded="+", unfolded="-", times="x", gap="-", differs="%", bound="|",
    remove="x", deviations="Vv<.>aA",
)  # fmt: skip

LEVELS = {
    Level.NONE: " ",
    Level.TRACE: "t",
    Level.DEBUG: "d",
    Level.INFO: " ",  # the usual is not marked: what is rare stands out
    Level.WARNING: "W",
    Level.ERROR: "E",
    Level.FATAL: "F",
}


LEGEND = {  # sign → what it says of a line; in the order of the help
    "is_extra": "only these ranks said this",
    "is_missing": "these ranks did not say this",
    "is_value": "another word, or a value far off",
    "is_order": "another place or order than others",
    "is_late": "later than the others, more and more",
    "pending": "others may still say the same",
    "is_evidence": "the verdict rests on this line",
    "mixed": "text of several ranks on one line",
    "launcher": "a launcher's or scheduler's line",
    "unknown": "a line whose rank cannot be known",
    "note": "a note of l4tui, not of the log",
    "mark": "your mark",
}


def glyphs(ascii_only: bool) -> Glyphs:
    """Give the signs for this terminal."""
    return ASCII if ascii_only else UNICODE


def sparkline(values: list[float], bars: str) -> str:
    """Draw values as bars, the lowest and highest of them spanning the range; equal values are low."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high - low <= 0.02 * abs(high):  # what does not vary is not made to look as if it did
        return bars[0] * len(values)
    return "".join(bars[min(int((v - low) / (high - low) * len(bars)), len(bars) - 1)] for v in values)
