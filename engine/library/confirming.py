"""From an event that a person has understood to an entry of their library."""

from __future__ import annotations

import re

from l4tui.engine.library.pattern import Pattern, PatternError, parse_pattern, zero_digits

LONGEST = 300  # characters of a line that a pattern is made of
KEY_LEAST = 4  # letters of a literal that is looked for before the pattern is tried
_VARIES = re.compile(r"<\*>|0x[0-9a-fA-F]+|\d+")
_WORD = re.compile(r"[a-z]{3,}")


def confirmed(
    template: str, text: str, *, cause: str, remedy: str = "", note: str = "", known: Pattern | None = None
) -> Pattern:
    """Make an entry that matches an event's lines and says what a person says of it.

    template: of the event; text: one of its lines, the entry's sample; known: the pattern that has matched it so far,
    whose regex, role and blame are kept. Raises PatternError for an unknown cause or a text without words.
    """
    entry: dict[str, object] = {"cause": cause, "severity": "error", "samples": [text[:LONGEST]]}
    if known is not None and known.search(text):
        entry |= {"id": known.id if known.user else f"own.{known.id}", "pattern": known.regex.pattern}
        entry |= {"role": str(known.role), "blames": str(known.blames), "stage": known.stage, "keys": known.keys}
        entry |= {"reference": known.reference, "meaning": known.meaning, "actions": list(known.actions)}
    else:
        regex = _regex(template)
        if not re.search(regex, text):
            regex = _regex(text[:LONGEST])
        literals = [zero_digits(part) for part in _VARIES.split(text[:LONGEST])]
        words = _WORD.findall(template.lower())
        if not words:
            raise PatternError("the line has no words to know it by")
        entry |= {"id": f"own.{'-'.join(words[:5])}", "pattern": regex, "meaning": template[:LONGEST]}
        entry |= {"role": "initiating", "blames": "writer"}
        key = max(literals, key=len).strip()
        entry["keys"] = [key] if len(key) >= KEY_LEAST and key in zero_digits(text) else []
    if remedy.strip():
        entry["actions"] = [part.strip() for part in remedy.split(";") if part.strip()]
    if note.strip():
        entry["meaning"] = note.strip()
    return parse_pattern(entry, user=True)


def _regex(template: str) -> str:
    """Write a template as a regex: what varies may be anything without blanks, blanks may be of any width."""
    parts = [re.sub(r"(?:\\ )+", r"\\s+", re.escape(part.strip("\0"))) for part in _VARIES.split(template)]
    return r"\S*?".join(parts)
