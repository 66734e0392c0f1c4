"""`l4tui report --reduction`: what of a log could go unsaid, as text or JSON."""

from __future__ import annotations

import json
from threading import Event
from typing import TYPE_CHECKING

from l4tui.engine.reduction import ADVICE, Reduction, reduction

if TYPE_CHECKING:
    from l4tui.engine.snapshot import Snapshot

SHOWN = 40  # events in the text
WIDEST = 100  # characters of a template in the text


def render_reduction(snap: Snapshot, form: str) -> str:
    """Find what could be saved and write it as `text` or `json`."""
    found = reduction(snap, Event())
    return as_json(found) if form == "json" else as_text(found)


def as_json(found: Reduction) -> str:
    """Write everything found."""
    table = found._asdict() | {
        "savings": [saving._asdict() | {"advice": ADVICE[saving.reason]} for saving in found.savings]
    }
    return json.dumps(table, ensure_ascii=False) + "\n"


def as_text(found: Reduction) -> str:
    """Write the largest savings as a table."""
    share = found.saved_bytes / found.bytes if found.bytes else 0.0
    lines = [
        f"{found.saved_lines:,} of {found.lines:,} lines and {_size(found.saved_bytes)} of {_size(found.bytes)}"
        f" ({share:.0%}) of what ranks wrote carry nothing new"
    ]
    for saving in found.savings[:SHOWN]:
        like = f" (as in: {saving.like[:WIDEST]})" if saving.like else ""
        lines += [
            "",
            f"{_size(saving.saved_bytes):>10}  {saving.saved_lines:,} of {saving.lines:,} lines:"
            f" {ADVICE[saving.reason]}{like}",
            f"{'':>10}  {saving.template[:WIDEST] or '(blank lines)'}",
        ]
    if len(found.savings) > SHOWN:
        lines += ["", f"and {len(found.savings) - SHOWN} events more (--format json has them all)"]
    return "\n".join("".join(c if c.isprintable() else "\ufffd" for c in line) for line in lines) + "\n"


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return ""
