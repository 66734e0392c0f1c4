"""Text from a log as terminal cells: nothing that moves a cursor, hides or reorders text gets through."""

from __future__ import annotations

import re
import unicodedata

from rich.cells import cell_len, get_character_cell_size

LIMIT = 65_536  # characters of a line that can be scrolled to; what is longer ends in an ellipsis
_TAB = 8
_COMBINING_MAX = 2  # marks kept on one character: more are there to break layouts
_ODD = re.compile(r"[^ -~\u00a1-\u00ac\u00ae-\u02ff\u2500-\u257f\u2580-\u259f]")


def clean(text: str, ascii_only: bool = False) -> str:
    """Make text safe to print: tabs to spaces, controls to a visible mark, invisible and bidi characters out."""
    if len(text) > LIMIT:
        text = text[:LIMIT] + ("..." if ascii_only else "…")
    if text.isascii() and text.isprintable():
        return text
    if "\t" in text:
        text = text.expandtabs(_TAB)
    if ascii_only:
        return text.encode("ascii", "replace").decode().translate(_ASCII_CONTROLS)
    if not _ODD.search(text):
        return text
    return "".join(_safe(unicodedata.normalize("NFC", text)))


def unframed(text: str) -> str:
    """Leave out what closes a JSON line behind its message: a brace and a quote that open before the text does."""
    if not text.endswith("}") or text.count("{") >= text.count("}"):
        return text
    quotes = text.count('"') - text.count('\\"')
    if quotes % 2 == 0:  # no quote is open: a brace that ends a block of another kind
        return text
    return text[:-2] if quotes == 1 and text.endswith('"}') else text[:-1]


def _safe(text: str) -> list[str]:
    kept: list[str] = []
    marks = 0
    for char in text:
        if " " <= char <= "~":
            marks = 0
            kept.append(char)
            continue
        category = unicodedata.category(char)
        if category in ("Mn", "Me", "Mc"):
            marks += 1
            if marks <= _COMBINING_MAX and kept and not "\ufe00" <= char <= "\ufe0f":
                kept.append(char)
            continue
        marks = 0
        if category == "Cf":  # zero-width, bidi overrides and isolates, tags
            continue
        if category in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp"):
            kept.append("�")
        elif category == "Zs":
            kept.append(" ")
        else:
            kept.append(char)
    return kept


_ASCII_CONTROLS = dict.fromkeys((*range(32), 127), "?")


def width_of(text: str) -> int:
    """Count the cells of clean text."""
    return len(text) if text.isascii() else cell_len(text)


def window(text: str, left: int, width: int) -> tuple[int, int, int]:
    """Find the characters within cells left..left+width; (start, stop, blank cells in front for a cut wide one)."""
    if text.isascii():
        return min(left, len(text)), min(left + width, len(text)), 0
    start, cell = 0, 0
    while start < len(text) and cell < left:
        cell += get_character_cell_size(text[start])
        start += 1
    lead = cell - left if cell > left else 0
    stop, used = start, lead
    while stop < len(text):
        size = get_character_cell_size(text[stop])
        if used + size > width:
            break
        used += size
        stop += 1
    return start, stop, lead


def fold(text: str, width: int, most: int) -> list[tuple[int, int]]:
    """Cut text into pieces of at most `width` cells; (start, stop) characters of the first `most` pieces."""
    pieces: list[tuple[int, int]] = []
    at = 0
    width = max(width, 2)  # a wide character must fit, else nothing would ever advance
    while len(pieces) < most:
        if text.isascii():
            stop = min(at + width, len(text))
        else:
            _, stop, _ = window(text[at : at + width * 2], 0, width)
            stop += at
        pieces.append((at, stop))
        at = stop
        if at >= len(text):
            break
    return pieces


def folded(text: str, width: int, most: int) -> list[str]:
    """Break words into at most `most` rows of `width` cells; the last one is left as long as it is."""
    rows: list[str] = []
    while len(rows) < most - 1 and width_of(text) > width > 0:
        stop = window(text, 0, width)[1]
        space = text.rfind(" ", 0, stop + 1)
        at = space if space > 0 else stop or 1
        rows.append(text[:at])
        text = text[at:].lstrip(" ")
    return [*rows, text]


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut or pad text to exactly `width` cells."""
    have = width_of(text)
    if have > width:
        if width <= width_of(ellipsis):
            return ellipsis[:width]
        _, stop, _ = window(text, 0, width - width_of(ellipsis))
        text = text[:stop] + ellipsis
        have = width_of(text)
    return text + " " * (width - have)
